"""The records of the lexer: tokens, comments, logical lines (language.md 2).

Made by ``lexer`` and read by ``parser``. A *logical line* is what the parser works on: the tokens of one line of
source, where a raw string or an open brace may have pulled in further physical lines. It promises no meaning: words
such as ``agent`` are names here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is. ``QUOTED``, ``RAW`` and ``BLOCK`` are the three written forms of a string."""

    NAME = 1
    STRINGS = 2
    INT = 3
    FLOAT = 4
    QUOTED = 5
    ARROW = 6
    PUNCT = 7
    RAW = 8
    BLOCK = 9
    BAD = 10
    BODY = 11


class Token(NamedTuple):
    """One token: what it says after reading, and where.

    ``value`` is the decoded text of a string, the spelling of everything else. ``line`` and ``column`` are 1-based;
    for a block scalar and a prompt body they are the place of the first character of the text. ``end_line`` and
    ``end`` are the line of the last character and the column after it.
    """

    kind: Kind
    value: str
    line: int
    column: int
    end_line: int
    end: int


class Comment(NamedTuple):
    """A comment with its ``#``, as written, for a formatter."""

    text: str
    line: int
    column: int


class Body(NamedTuple):
    """The text of a prompt below its header; ``rows`` gives the source line of each line of the text."""

    text: str
    rows: tuple[int, ...]
    column: int


class Line(NamedTuple):
    """A logical line at a nesting depth (0 is the top level).

    ``comments`` stand on lines of their own before it, ``trailing`` inside it or at its end. ``apart`` tells that a
    blank line stands directly before it. ``body`` is set for a prompt header that has one.
    """

    depth: int
    tokens: list[Token]
    comments: tuple[Comment, ...]
    trailing: tuple[Comment, ...]
    apart: bool
    body: Body | None
