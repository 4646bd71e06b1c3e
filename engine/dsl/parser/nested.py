"""Lists and maps inside one another, which only the lines of a contract may hold (language.md 4.6).

Nothing reads such a value, so it is kept as its text in one fixed layout: two values that say the same are equal.
"""

from __future__ import annotations

from engine.dsl.ast import Scalar, ScalarKind, Style
from engine.dsl.parser.cursor import STRING_KINDS, Cursor
from engine.dsl.parser.values import literal
from engine.dsl.tokens import Kind

MOST_LEVELS = 100
_CLOSING = {"[": "]", "{": "}"}


def is_nested(cursor: Cursor) -> bool:
    """Whether a list or map begins here and another one inside it."""
    opened = [token for token in cursor.tokens[cursor.at :] if token.kind is Kind.PUNCT and token.value in _CLOSING]
    return len(opened) > 1 and opened[0] is cursor.peek()


def nested(cursor: Cursor) -> Scalar:
    """``[…]`` or ``{…}`` of any depth as its text."""
    span = cursor.span()
    return Scalar(ScalarKind.TEXT, _value(cursor, 0), span, Style.NESTED)


def _value(cursor: Cursor, depth: int) -> str:
    token = cursor.peek()
    if token is None or token.kind is not Kind.PUNCT or token.value not in _CLOSING:
        found = literal(cursor, "a value")
        return found.text if found.style is Style.BARE else _quoted(found.text)
    if depth == MOST_LEVELS:
        raise cursor.unexpected(f"at most {MOST_LEVELS} levels")
    closing, parts = _CLOSING[cursor.take().value], []
    while not cursor.accept(closing):
        key = f"{_key(cursor)}: " if closing == "}" else ""
        parts.append(key + _value(cursor, depth + 1))
        if not cursor.accept(",") and not cursor.sees(closing):
            raise cursor.missing(f"`{closing}`", f"`,` or `{closing}`")
    return f"[{', '.join(parts)}]" if closing == "]" else f"{{{', '.join(parts)}}}"


def _key(cursor: Cursor) -> str:
    token = cursor.peek()
    if token is not None and token.kind in STRING_KINDS:
        key = _quoted(cursor.take().value)
    else:
        key = cursor.name("`key: value` or `}`").value
    cursor.expect(":")
    return key


def _quoted(text: str) -> str:
    """A string that reads back as ``text``, in every profile where a form exists that does."""
    if not set(text) & set('"\\\n\t\r\0'):
        return f'"{text}"'
    if "`" not in text and "\0" not in text and "\r" not in text:
        return f"`{text}`"
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
    return f'"{"".join(escapes.get(letter, letter) for letter in text)}"'
