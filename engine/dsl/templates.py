"""Templates: text with ``{{references}}`` -> ``Template`` (language.md 9).

Parsed once by the compiler; ``rendering`` fills them in, one function per row of the table of 9.2. Replacement is one
pass: a template is a list of parts, so inserted text is never looked at again. ``params`` of a group are put in before
anything is parsed, with ``bind``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

NAMESPACES: Final = ("vars", "input", "outputs", "artifacts", "loop", "run", "each", "attachments", "secrets")
PARAMS: Final = "params"
OPEN, CLOSE = "{{", "}}"
_NAME = r"[^\W\d]\w*"
_REFERENCE = re.compile(rf"\s*(!?)\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*")
_INCLUDE = re.compile(r'\s*include\s+"([^"\n]*)"\s*')
_PARAM = re.compile(rf"\{{\{{\s*!?\s*params\s*\.\s*({_NAME})\s*\}}\}}")


class TemplateSyntaxError(ValueError):
    """The text is no template (C004). ``offset`` counts characters from 0; ``expected`` says what to write."""

    def __init__(self, message: str, offset: int, expected: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.expected = expected or f"write {{{{namespace.name}}}}; the namespaces are {', '.join(NAMESPACES)}"


@dataclass(frozen=True, slots=True)
class Reference:
    """One ``{{…}}``: ``text`` is how it stands in the source, ``offset`` where. ``raw`` is the leading ``!``."""

    namespace: str
    path: tuple[str, ...]
    raw: bool
    offset: int
    text: str

    @property
    def dotted(self) -> str:
        """The reference without braces, for messages."""
        return ".".join((self.namespace, *self.path))


@dataclass(frozen=True, slots=True)
class Include:
    """One ``{{include "path"}}`` of a prompt; the file's text replaces it before references are read."""

    path: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Template:
    """Literal texts and references in order. ``sole`` is the reference when the whole text is exactly one."""

    parts: tuple[str | Reference, ...]

    @property
    def sole(self) -> Reference | None:
        """The one reference that is the whole text, or None."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Reference) else None

    @property
    def references(self) -> tuple[Reference, ...]:
        """All references, in the order of the text."""
        return tuple(part for part in self.parts if isinstance(part, Reference))

    @property
    def source(self) -> str:
        """The text that was parsed."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


def parse(text: str) -> Template:
    """The template of ``text``. Raises ``TemplateSyntaxError``: unterminated, nested, unknown namespace, no dot."""
    parts: list[str | Reference] = []
    done = 0
    for start, end in _markers(text):
        if start > done:
            parts.append(text[done:start])
        parts.append(_reference(text[start:end], start))
        done = end
    if done < len(text):
        parts.append(text[done:])
    return Template(tuple(parts))


def includes(text: str) -> tuple[Include, ...]:
    """The include markers of a prompt text, in order; other markers are not judged."""
    found: list[Include] = []
    place = text.find(OPEN)
    while place >= 0:
        end = text.find(CLOSE, place)
        marker = _INCLUDE.fullmatch(text, place + len(OPEN), end) if end >= 0 else None
        if marker:
            found.append(Include(marker.group(1), place, text[place : end + len(CLOSE)]))
        place = text.find(OPEN, place + len(OPEN))
    return tuple(found)


def bind(text: str, params: Mapping[str, str]) -> str:
    """``text`` with every ``{{params.p}}`` of a group replaced by what ``use`` binds to ``p`` (language.md 11).

    An unknown parameter stays as it is, and is C004 when the text is parsed.
    """
    return _PARAM.sub(lambda found: params.get(found.group(1), found.group()), text) if PARAMS in text else text


def params(text: str) -> tuple[str, ...]:
    """The group parameters that ``text`` refers to, in order."""
    return tuple(found.group(1) for found in _PARAM.finditer(text)) if PARAMS in text else ()


def _markers(text: str) -> Iterator[tuple[int, int]]:
    start = text.find(OPEN)
    while start >= 0:
        end = text.find(CLOSE, start + len(OPEN))
        if end < 0:
            raise TemplateSyntaxError("`{{` is not closed", start, "close it with }}")
        if text.find(OPEN, start + len(OPEN), end) >= 0:
            raise TemplateSyntaxError("`{{` inside `{{`", start, "close the first reference before the next")
        yield start, end + len(CLOSE)
        start = text.find(OPEN, end + len(CLOSE))


def _reference(text: str, offset: int) -> Reference:
    body = text[len(OPEN) : -len(CLOSE)]
    found = _REFERENCE.fullmatch(body)
    if found is None:
        if _INCLUDE.fullmatch(body):
            raise TemplateSyntaxError("an include stands in prompt texts only", offset, "move the text into a prompt")
        raise TemplateSyntaxError(f"`{_short(text)}` is no reference", offset)
    namespace, *path = (name.strip() for name in found.group(2).split("."))
    if namespace == PARAMS:
        raise TemplateSyntaxError(f"`{_short(text)}`: parameters exist inside a group only", offset)
    if namespace not in NAMESPACES:
        raise TemplateSyntaxError(f"unknown namespace `{namespace}`", offset)
    if not path:
        expected = f"write {{{{{namespace}.NAME}}}}"
        raise TemplateSyntaxError(f"`{_short(text)}` names no value of `{namespace}`", offset, expected)
    return Reference(namespace, tuple(path), bool(found.group(1)), offset, text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "…"
