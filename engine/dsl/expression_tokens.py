"""Cuts the text of an expression into tokens (language.md 8.1).

Called by ``expression_parser`` only. Names are ASCII here, unlike in the workflow text around them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from engine.dsl.expression_errors import ExpressionSyntaxError

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)
INT_DIGITS = len(str(INT_MAX))
TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    |(?P<float>[0-9]+\.[0-9]+)
    |(?P<int>[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<text>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<sign>\|\||&&|==|!=|<=|>=|=>|[-+*/%<>!()\[\].,])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t"}
LONE = {"&": "write && or `and`", "|": "write || or `or`", "=": "write == to compare"}


class TokenKind(StrEnum):
    """What a token is; a word operator is a name here."""

    FLOAT = "float"
    INT = "int"
    NAME = "name"
    TEXT = "text"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text as written, its value for a literal, and the character offset where it starts."""

    kind: TokenKind
    text: str
    value: int | float | str
    offset: int


def tokenize(text: str) -> list[Token]:
    """All tokens of ``text`` and an end token. Raises ``ExpressionSyntaxError``."""
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise _unexpected(text, place)
        if found.lastgroup != "blank":
            kind = TokenKind(str(found.lastgroup))
            tokens.append(Token(kind, found.group(), _value(kind, found.group(), place), place))
        place = found.end()
    tokens.append(Token(TokenKind.END, "", "", len(text)))
    return tokens


def _value(kind: TokenKind, text: str, offset: int) -> int | float | str:
    if kind is TokenKind.INT:
        digits = text.lstrip("0") or "0"
        if len(digits) > INT_DIGITS or int(digits) > INT_MAX:
            raise ExpressionSyntaxError("the integer does not fit in 64 bits", offset, "write a smaller number")
        return int(digits)
    if kind is TokenKind.FLOAT:
        number = float(text)
        if number == float("inf"):
            raise ExpressionSyntaxError("the number is too large", offset, "write a smaller number")
        return number
    if kind is TokenKind.TEXT:
        body = text[1:-1]
        return ESCAPE.sub(_unescape, body) if "\\" in body else body
    return text


def _unescape(found: re.Match[str]) -> str:
    return ESCAPED.get(found.group(1), found.group(1))


def _unexpected(text: str, place: int) -> ExpressionSyntaxError:
    letter = text[place]
    if letter in "'\"":
        return ExpressionSyntaxError("the string is not closed", place, f"close it with {letter}")
    if text.startswith("{{", place):
        problem = "an expression is no template"
        return ExpressionSyntaxError(problem, place, "write the reference without braces, such as vars.x")
    if letter in LONE:
        return ExpressionSyntaxError(f"a lone `{letter}`", place, LONE[letter])
    if letter.isalpha():
        return ExpressionSyntaxError(f"unexpected `{letter}`", place, "names are ASCII here; write input['…'] instead")
    return ExpressionSyntaxError(f"unexpected {letter!r}", place, "write an operator, a value or a path")
