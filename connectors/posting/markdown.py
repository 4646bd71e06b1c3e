"""Lines and code of a Markdown text, as far as a forge that looks for commands sees them. Pure.

Deliberately narrow: only what every forge takes for code counts as code, since text that is taken for code by mistake
would be left alone, and code that is taken for text only gets a character that nobody minds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_ENDS = re.compile(r"(\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_TICKS = re.compile(r"`+")
_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end, the end, and whether it lies in a block of backticks (its fences included)."""

    text: str
    end: str
    in_code: bool


def lines(text: str) -> Iterator[Line]:
    """Every line; CR, CRLF, U+0085, U+2028 and their like end one as well as LF does."""
    fence = ""
    parts = _ENDS.split(text)
    for index in range(0, len(parts), 2):
        line, end = parts[index], parts[index + 1] if index + 1 < len(parts) else ""
        after = _fence_after(line, fence)
        yield Line(line, end, in_code=(fence or after).startswith("`"))
        fence = after


def open_fence(text: str) -> str:
    """The fence that is still open at the end of a text, empty for none; a block of tildes counts too."""
    fence = ""
    for line in _ENDS.split(text)[::2]:
        fence = _fence_after(line, fence)
    return fence


def _fence_after(line: str, fence: str) -> str:
    """Which fence is open behind a line, when ``fence`` was before it."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    marks, rest = found.group(1), found.group(2)
    if not fence:
        return "" if marks[0] == "`" and "`" in rest else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip()
    return "" if closes else fence


def outside_code(line: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a line and whether each is plain text; a span of backticks that ends on its line is not."""
    position = 0
    while (opening := _TICKS.search(line, position)) is not None:
        closing = _same_ticks(line, opening)
        if closing is None:
            yield line[position : opening.end()], True
            position = opening.end()
            continue
        yield line[position : opening.start()], True
        yield line[opening.start() : closing.end()], False
        position = closing.end()
    yield line[position:], True


def _same_ticks(line: str, opening: re.Match[str]) -> re.Match[str] | None:
    found = _TICKS.finditer(line, opening.end())
    return next((ticks for ticks in found if len(ticks.group()) == len(opening.group())), None)


def first_visible(line: str) -> int:
    """Where the first character that can be seen stands, -1 for none."""
    for index, character in enumerate(line):
        if unicodedata.category(character) not in _INVISIBLE and character not in _BLANK_LETTERS:
            return index
    return -1
