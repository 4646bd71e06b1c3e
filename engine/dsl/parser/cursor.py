"""A cursor over the tokens of one logical line, with the errors that any line can have (E001, E002).

Used by the other files of ``parser``. ``LineUnclear`` is the parser's own way to leave a line that is already
reported; it never leaves the parser.
"""

from __future__ import annotations

from engine.dsl.diagnostics import Diagnostics
from engine.dsl.graph import Span
from engine.dsl.lexer import describe
from engine.dsl.tokens import Kind, Line, Token

LINE_END = "the end of the line"
STRING_KINDS = frozenset({Kind.QUOTED, Kind.RAW, Kind.BLOCK})


class LineUnclear(Exception):
    """The rest of a line makes no sense; what is wrong is reported already."""


class Cursor:
    """Position in a line. ``file`` and ``found`` are those of the parser."""

    __slots__ = ("at", "file", "found", "line", "tokens")

    def __init__(self, line: Line, file: str, found: Diagnostics, at: int = 0) -> None:
        self.line = line
        self.tokens = line.tokens
        self.file = file
        self.found = found
        self.at = at

    @property
    def ended(self) -> bool:
        """Whether no token is left."""
        return self.at >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """The token ``ahead`` places on, None behind the end."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def sees(self, value: str, ahead: int = 0) -> bool:
        """Whether that token is the word or mark ``value`` (never a string of that text)."""
        token = self.peek(ahead)
        return token is not None and token.value == value and token.kind not in STRING_KINDS

    def take(self) -> Token:
        """The next token, which must be there."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, value: str) -> Token | None:
        """Take the next token when it is ``value``."""
        return self.take() if self.sees(value) else None

    def expect(self, value: str, hint: str = "") -> Token:
        """Take ``value`` or leave the line."""
        if self.sees(value):
            return self.take()
        raise self.missing(f"`{value}`", hint or f"`{value}`")

    def name(self, what: str) -> Token:
        """Take a name or leave the line; ``what`` says whose name it is."""
        token = self.peek()
        if token is not None and token.kind is Kind.NAME:
            return self.take()
        raise self.missing(what, what)

    def string(self, what: str) -> Token:
        """Take a string in quotes or leave the line."""
        token = self.peek()
        if token is not None and token.kind in STRING_KINDS:
            return self.take()
        raise self.missing(what, f"{what} in quotes")

    def end(self, expected: str) -> None:
        """Leave the line unless it ends here."""
        if self.at < len(self.tokens):
            raise self.unexpected(expected)

    def span(self, token: Token | None = None) -> Span:
        """The place of ``token``, of the next token, or just behind the last one."""
        token = token or self.peek()
        if token is not None:
            return Span(self.file, token.line, token.column)
        last = self.tokens[-1]
        return Span(self.file, last.end_line, last.end)

    def missing(self, what: str, expected: str) -> LineUnclear:
        """Report what should stand here: E002 at the end of the line, E001 where something else stands."""
        if self.ended:
            self.found.add("E002", self.span(), what=what, expected=expected)
            return LineUnclear()
        return self.unexpected(expected)

    def unexpected(self, expected: str, hint: str = "") -> LineUnclear:
        """Report the next token (E001)."""
        token = self.tokens[self.at]
        hint = hint or self._word_needs_quotes(token, expected) or f"expected here: {expected}"
        self.found.add("E001", self.span(token), found=spelled(token), expected=expected, hint=hint)
        return LineUnclear()

    def _word_needs_quotes(self, token: Token, expected: str) -> str:
        before = self.tokens[self.at - 1] if self.at else None
        if token.kind is Kind.BAD and token.value in "“”‘’":
            return 'use straight quotes: "…"'
        if token.value == "=" and self.sees(">", 1):
            return "write the arrow as `->`"
        if before is None:
            return ""
        if before.end != token.column:
            several = expected == LINE_END and before.kind is Kind.NAME and self.at > 2
            return "a text of several words needs quotes or backticks" if several else ""
        if before.kind not in (Kind.NAME, Kind.INT, Kind.FLOAT) and before.value not in ("-", ".", "/"):
            return ""
        if token.value in ("-", ".", "/") or token.kind in (Kind.NAME, Kind.INT, Kind.FLOAT):
            return "a value with `-`, `.`, `/` or a digit in front needs quotes"
        return ""


def spelled(token: Token) -> str:
    """A token in words, for a message."""
    if token.kind in STRING_KINDS:
        return "string"
    if token.kind is Kind.BAD:
        return describe(token.value)
    return f"`{token.value}`"
