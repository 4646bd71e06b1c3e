"""From the bytes of a source file to its text, and the head of the file that decides how strings are read.

Called by ``unit`` before the lexer. The digest is taken from the bytes, never from what comes out here. Implements
language.md 2.1.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.dsl.diagnostics import Diagnostics
from engine.dsl.graph import Span

MOST_BYTES = 10 * 1024 * 1024
DIRECTIVE_LINES = 32
DIRECTIVES = frozenset({"strict-escape: on", "strict-escape:on", "strict-escape = on"})


class Head(NamedTuple):
    """What the head of a file says: its profile, and the row (0-based) of the ``dsl:`` line, -1 without one."""

    profile: int
    decodes: bool
    row: int


def decode(data: bytes, file: str, found: Diagnostics) -> str:
    """The normalised text of ``data``; bad bytes are reported (E006) and replaced, a NUL is E001."""
    if len(data) > MOST_BYTES:
        found.add("E006", Span(file, 1, 1), detail="it is larger than 10 MiB", hint="split it into fragments")
        return ""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        found.add("E006", Span(file, line, column), detail=f"byte 0x{data[problem.start]:02x} is not UTF-8")
        text = data.decode("utf-8", "replace")
    text = text.replace("\r\n", "\n")
    zero = text.find("\0")
    if zero >= 0:
        column = zero - (text.rfind("\n", 0, zero) + 1) + 1
        place = Span(file, text.count("\n", 0, zero) + 1, column)
        found.add("E001", place, found="NUL character", expected="remove it")
        text = text.replace("\0", " ")
    return text


def scan_head(rows: list[str], file: str, found: Diagnostics) -> Head:
    """Read the comments and the ``dsl:`` line above everything else (E040, E042)."""
    directive = -1
    for row, text in enumerate(rows):
        bare = text.strip(" \t")
        if not bare:
            continue
        if bare.startswith("#"):
            if directive < 0 and row < DIRECTIVE_LINES and bare.lstrip("#").strip() in DIRECTIVES:
                directive = row
            continue
        profile = _profile(text, row, file, found)
        if profile == 2 and directive >= 0:
            found.add("E042", Span(file, directive + 1, rows[directive].index("#") + 1))
        return Head(profile or 1, profile == 2 or directive >= 0, row if profile else -1)
    return Head(1, directive >= 0, -1)


def _profile(text: str, row: int, file: str, found: Diagnostics) -> int:
    """The profile that a ``dsl:`` line in column 1 names, 0 when the line is another one."""
    if not text.startswith("dsl"):
        return 0
    rest = text[3:].lstrip(" \t")
    if not rest.startswith(":"):
        return 0
    value = rest[1:].split("#", 1)[0].strip()
    if value.lstrip("0") in ("1", "2"):
        return int(value)
    found.add("E040", Span(file, row + 1, text.index(":") + 2), found=value or "nothing")
    return 1
