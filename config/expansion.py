"""``$NAME``, ``${NAME}`` and ``${NAME:-default}`` in the strings of a configuration (interface.md 7, language.md 2.6).

Pure: the caller gives a lookup. The default applies when the name is unset or empty and may nest; unset without a
default is the empty text; any other ``$`` stays as it is. What was looked up is reported, so that secrets can be kept
from tools and a missing one can be named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Lookup = Callable[[str], str | None]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(slots=True)
class Expansion:
    """The text after expansion, the names it asked for, and those that gave nothing and had no default."""

    text: str = ""
    names: list[str] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)


def expand(text: str, lookup: Lookup) -> Expansion:
    """Replace every reference in ``text``; inserted values are not read again."""
    found = Expansion()
    found.text = _expand(text, lookup, found)
    return found


def has_reference(text: str) -> bool:
    """Whether ``text`` refers to anything at all."""
    return bool(expand(text, lambda _name: None).names)


def _expand(text: str, lookup: Lookup, found: Expansion) -> str:
    out: list[str] = []
    position = 0
    while position < len(text):
        dollar = text.find("$", position)
        if dollar < 0:
            break
        out.append(text[position:dollar])
        piece, position = _reference(text, dollar, lookup, found)
        out.append(piece)
    return "".join(out) + text[position:]


def _reference(text: str, dollar: int, lookup: Lookup, found: Expansion) -> tuple[str, int]:
    """The replacement of the reference at ``dollar`` and where reading goes on."""
    bare = _NAME.match(text, dollar + 1)
    if bare:
        return _value(bare.group(), None, lookup, found), bare.end()
    braced = _NAME.match(text, dollar + 2) if text.startswith("{", dollar + 1) else None
    end = _closing(text, dollar + 1) if braced else -1
    if braced is None or end < 0:
        return "$", dollar + 1
    rest = text[braced.end() : end]
    if rest and not rest.startswith(":-"):
        return "$", dollar + 1
    return _value(braced.group(), rest[2:] if rest else None, lookup, found), end + 1


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return -1


def _value(name: str, default: str | None, lookup: Lookup, found: Expansion) -> str:
    found.names.append(name)
    value = lookup(name)
    if value:
        return value
    if default is not None:
        return _expand(default, lookup, found)
    if value is None:
        found.unset.append(name)
    return ""
