"""How long a text may be at each forge, and where it is cut when it is longer (connectors.md 18). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import regex

from connectors.posting.markdown import open_fence

TITLE_CHARACTERS = 255
NEAR_LINE_END = 200
"""Characters that are given up so that a cut falls on the end of a line."""
_GRAPHEME = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Limit:
    """The longest text of one forge; None where it does not count so."""

    characters: int | None = None
    utf16: int | None = None
    octets: int | None = None

    def size_over(self, text: str) -> int:
        """By how many of its units a text is too long, at most 0 for one that fits."""
        over = []
        if self.characters is not None:
            over.append(len(text) - self.characters)
        if self.utf16 is not None:
            over.append(len(text.encode("utf-16-le", "surrogatepass")) // 2 - self.utf16)
        if self.octets is not None:
            over.append(len(text.encode("utf-8", "surrogatepass")) - self.octets)
        return max(over, default=0)


LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "github": Limit(utf16=65_536, octets=262_144),
        "gitlab": Limit(characters=1_000_000),
        "forgejo": Limit(characters=65_536),
    }
)
"""Forge kind -> the limit of a comment or body."""


def fitting_prefix(text: str, limit: Limit, reserve: str) -> str:
    """The longest beginning that fits beside ``reserve``, cut between two graphemes, at a line end when one is near.

    What a reader sees as one character is kept whole or left out.
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if limit.size_over(text[:middle] + reserve) <= 0:
            low = middle
        else:
            high = middle - 1
    if low == len(text):
        return text
    cut = _grapheme_boundary(text, low)
    line_end = text.rfind("\n", max(0, cut - NEAR_LINE_END), cut)
    return text[: line_end if line_end > 0 else cut]


def _grapheme_boundary(text: str, at: int) -> int:
    """The last boundary between two graphemes at or before ``at``."""
    begin = text.rfind("\n", 0, at) + 1
    boundary = begin
    for found in _GRAPHEME.finditer(text, begin):
        if found.end() > at:
            return boundary
        boundary = found.end()
    return boundary


def closing(text: str) -> str:
    """What closes a block of code that a cut left open."""
    fence = open_fence(text)
    return f"\n{fence}" if fence else ""
