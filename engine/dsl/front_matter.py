"""YAML of bundles: the front matter of Markdown files, and whole files (language.md 13).

Called by ``bundle`` and ``manifest``. The YAML library is loaded on first use only; anchors and tags make nothing but
plain values here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FENCE = "---"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands between the fences, the text after them, and what was wrong with it."""

    values: Mapping[str, object]
    body: str
    problem: str = ""


class NotYaml(ValueError):
    """The text is no YAML map; ``line`` is 1-based."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def split(text: str) -> FrontMatter:
    """The front matter of a Markdown text; a text without fences is all body."""
    rows = text.split("\n")
    if rows[0].strip() != FENCE:
        return FrontMatter({}, text)
    for number, row in enumerate(rows[1:], 1):
        if row.strip() == FENCE:
            body = "\n".join(rows[number + 1 :])
            try:
                return FrontMatter(read_map("\n".join(rows[1:number])), body)
            except NotYaml as problem:
                return FrontMatter({}, body, str(problem))
    return FrontMatter({}, text, "the front matter is not closed with `---`")


def read_map(text: str) -> dict[str, Any]:
    """The YAML map of ``text``, an empty one for an empty text. Raises ``NotYaml``."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        value = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or "it is no YAML"
        raise NotYaml(str(reason), mark.line + 1 if mark else 1) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotYaml("it is no YAML map", 1)
    return {str(key): part for key, part in value.items()}
