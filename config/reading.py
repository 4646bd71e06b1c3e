"""A YAML file as plain data, with the line of every key (YAML 1.2: ``on``, ``NO`` and ``12:30`` stay text).

Called by ``load``. Duplicate keys, several documents, tags and anything that is not a mapping are refused. It promises
nothing about the meaning of what it read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from config.problems import ConfigError, Problem

Key = tuple[str | int, ...]
LARGEST = 1 << 20
_TWICE = re.compile(r'found duplicate key "(.{1,80}?)"')
MOST_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data and, per path of keys, the line (from 1) on which that key or element stands."""

    data: dict[str, Any]
    lines: Mapping[Key, int] = field(default_factory=dict)

    def line_of(self, path: Key) -> int:
        """The line of ``path`` or of its nearest parent that has one; 0 when none has."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line:
                return line
        return 0


def read_document(path: Path, shown: str) -> Document:
    """Read ``path``; raises ``ConfigError`` (``config_missing``, ``config_invalid``) that calls it ``shown``."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        problem = Problem(f"{shown} cannot be read ({error.strerror})", hint="Give the path of a configuration file.")
        raise ConfigError("config_missing", [problem]) from error
    if len(raw) > LARGEST:
        raise _invalid(f"is larger than {LARGEST >> 20} MiB", shown)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid("is not UTF-8 text", shown) from error
    return parse_document(text, shown)


def parse_document(text: str, shown: str) -> Document:
    """Parse ``text``; an empty document is an empty mapping."""
    yaml = YAML(typ="rt")
    yaml.allow_duplicate_keys = False
    try:
        loaded = yaml.load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise _invalid(_yaml_text(error), shown, line) from error
    except ValueError as error:  # without its text: that may show the value
        raise _invalid("has a date or a number that is none, like 2026-02-30", shown) from error
    except (YAMLError, RecursionError) as error:
        raise _invalid("is not YAML", shown) from error
    if loaded is None:
        return Document({})
    if not isinstance(loaded, CommentedMap):
        raise _invalid("is not a mapping of keys to values", shown, 1)
    return _Walk(shown).document(loaded)


def _yaml_text(error: MarkedYAMLError) -> str:
    """What the parser found, without values: they may be secrets, and this text reaches logs and the state."""
    first = (error.problem or "it cannot be read").splitlines()[0].strip()
    if twice := _TWICE.match(first):
        return f'holds the key "{twice.group(1)}" twice'
    if "alias" in first:
        return "uses an alias that is not defined; a text that begins with * is quoted"
    return f"is not YAML: {first}"


def _invalid(text: str, shown: str, line: int = 0) -> ConfigError:
    hint = "pointsman.example.yaml shows every key; `pointsman config check` tells when it is right."
    return ConfigError("config_invalid", [Problem(text, file=shown, line=line, hint=hint)])


class _Walk:
    """Turns the parser's objects into plain ones and notes the lines."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.lines: dict[Key, int] = {}
        self.seen = 0

    def document(self, loaded: CommentedMap) -> Document:
        data = self.plain(loaded, ())
        assert isinstance(data, dict)
        return Document(data, MappingProxyType(self.lines))

    def plain(self, value: object, path: Key) -> Any:
        self.seen += 1
        if self.seen > MOST_VALUES or len(path) > 50:
            raise _invalid("holds too many values", self.shown)
        if isinstance(value, CommentedMap):
            return {self.key(value, key, path): self.plain(value[key], (*path, str(key))) for key in value}
        if isinstance(value, CommentedSeq):
            for index in range(len(value)):
                self.lines[*path, index] = int(value.lc.item(index)[0]) + 1
            return [self.plain(item, (*path, index)) for index, item in enumerate(value)]
        return self.scalar(value, path)

    def key(self, mapping: CommentedMap, key: object, path: Key) -> str:
        mark = mapping.lc.data.get(key) if mapping.lc.data else None
        line = int(mark[0]) + 1 if mark else 0
        if not isinstance(key, str | int | float):
            raise _invalid("has a key that is no text", self.shown, line)
        if line:
            self.lines[*path, str(key)] = line
        return str(key)

    def scalar(self, value: object, path: Key) -> str | int | float | bool | None:
        if value is None or type(value) is bool:
            return value
        if isinstance(value, bool) or type(value).__name__ == "ScalarBoolean":
            return bool(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, date):
            return value.isoformat()
        raise _invalid("has a tag, and tags are not used here", self.shown, Document({}, self.lines).line_of(path))
