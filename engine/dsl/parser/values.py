"""Values: literals, words, lists, maps, types (language.md 2.4, 2.5, 3)."""

from __future__ import annotations

from engine.dsl.ast import Constraint, Entry, ListValue, MapValue, Scalar, ScalarKind, Style, TypeValue, Value
from engine.dsl.graph import Span
from engine.dsl.parser.cursor import STRING_KINDS, Cursor, LineUnclear
from engine.dsl.tokens import Kind, Token

LARGEST_INT = 2**63 - 1
_STYLES = {Kind.QUOTED: Style.QUOTED, Kind.RAW: Style.RAW, Kind.BLOCK: Style.BLOCK}
_TRUTH = {"true": True, "false": False}


def scalar_of(token: Token, cursor: Cursor) -> Scalar | None:
    """The literal or bare word that a single token is, None when it is neither."""
    kind = token.kind
    span = Span(cursor.file, token.line, token.column)
    if kind in _STYLES:
        return Scalar(ScalarKind.TEXT, token.value, span, _STYLES[kind])
    if kind is Kind.NAME:
        if token.value in _TRUTH:
            return Scalar(ScalarKind.BOOL, _TRUTH[token.value], span, Style.BARE, token.value)
        return Scalar(ScalarKind.TEXT, token.value, span)
    if kind is Kind.INT:
        return _integer(token, span, cursor)
    if kind is Kind.FLOAT:
        return Scalar(ScalarKind.FLOAT, float(token.value), span, Style.BARE, token.value)
    return None


def _integer(token: Token, span: Span, cursor: Cursor) -> Scalar:
    digits = token.value.lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else LARGEST_INT + 1
    if value > LARGEST_INT:
        shown = token.value[:24] + ("…" if len(token.value) > 24 else "")
        cursor.found.add("E020", span, name=shown, found="an integer", expected="a number that fits in 64 bits")
        value = LARGEST_INT
    return Scalar(ScalarKind.INT, value, span, Style.BARE, token.value)


def literal(cursor: Cursor, what: str) -> Scalar:
    """A string, number, bool or bare word; leaves the line otherwise."""
    token = cursor.peek()
    if token is not None:
        if token.value == "-" and token.kind is Kind.PUNCT and cursor.peek(1) is not None:
            return _negative(cursor, what)
        value = scalar_of(token, cursor)
        if value is not None:
            cursor.at += 1
            return value
    raise cursor.missing(what, what)


def _negative(cursor: Cursor, what: str) -> Scalar:
    sign, digits = cursor.tokens[cursor.at], cursor.tokens[cursor.at + 1]
    number = scalar_of(digits, cursor) if digits.kind in (Kind.INT, Kind.FLOAT) else None
    if number is None or isinstance(number.value, str) or digits.column != sign.end:
        raise cursor.unexpected(what)
    cursor.at += 2
    return Scalar(number.kind, -number.value, cursor.span(sign), Style.BARE, "-" + number.spelling)


def value(cursor: Cursor) -> Value:
    """What may stand behind ``KEY:``. The caller checks that the line ends."""
    token = cursor.take()
    if token.kind is Kind.NAME:
        return _worded(token, cursor)
    if token.kind is Kind.STRINGS:
        return _typed(token, token.value, cursor)
    if token.value == "[" and token.kind is Kind.PUNCT:
        return _list(token, cursor)
    cursor.at -= 1
    if token.value == "{" and token.kind is Kind.PUNCT:
        return braces(cursor)
    return literal(cursor, "a value")


def _worded(token: Token, cursor: Cursor) -> Value:
    if cursor.ended:
        found = scalar_of(token, cursor)
        assert found is not None
        return found
    if cursor.sees("."):
        cursor.at -= 1
        return dotted(cursor)
    name = token.value
    if cursor.sees("[") and cursor.sees("]", 1):
        cursor.at += 2
        name += "[]"
    if name != token.value or cursor.sees("[") or cursor.sees("=") or cursor.sees("?"):
        return _typed(token, name, cursor)
    found = scalar_of(token, cursor)
    assert found is not None
    return found


def dotted(cursor: Cursor) -> Scalar:
    """``NAME{.NAME}`` with an optional ``.*`` at the end."""
    first = cursor.name("a name")
    parts = [first.value]
    while cursor.accept("."):
        if cursor.accept("*"):
            parts.append("*")
            break
        parts.append(cursor.name("a name after `.`").value)
    style = Style.DOTTED if len(parts) > 1 else Style.BARE
    return Scalar(ScalarKind.TEXT, ".".join(parts), cursor.span(first), style)


def _typed(token: Token, name: str, cursor: Cursor) -> TypeValue:
    constraints = []
    while cursor.sees("["):
        constraints.append(_constraint(cursor))
    optional = cursor.accept("?") is not None
    default: Scalar | ListValue | None = None
    if cursor.accept("="):
        opening = cursor.accept("[")
        default = _list(opening, cursor) if opening else literal(cursor, "a default value")
    return TypeValue(name, cursor.span(token), tuple(constraints), default, optional)


def _constraint(cursor: Cursor) -> Constraint:
    opening = cursor.take()
    name = cursor.name("`enum:` or `matching:`")
    cursor.expect(":")
    values = [cursor.string("a text").value]
    while cursor.accept(","):
        if cursor.sees("]"):
            break
        values.append(cursor.string("a text").value)
    cursor.expect("]")
    return Constraint(name.value, tuple(values), cursor.span(opening))


def _list(opening: Token, cursor: Cursor) -> ListValue:
    items = []
    while not cursor.accept("]"):
        items.append(item(cursor))
        if not cursor.accept(",") and not cursor.sees("]"):
            raise cursor.missing("`]`", "`,` or `]`")
    return ListValue(tuple(items), cursor.span(opening))


def item(cursor: Cursor) -> Scalar:
    """One element of a list: a literal or a dotted name."""
    token = cursor.peek()
    if token is not None and token.kind is Kind.NAME and cursor.sees(".", 1):
        return dotted(cursor)
    return literal(cursor, "an element of the list")


def braces(cursor: Cursor, keys_twice: str = "E010") -> MapValue:
    """``{ KEY: literal, … }``; commas are optional. A key twice is reported as ``keys_twice``."""
    opening = cursor.expect("{")
    entries: dict[str, Entry] = {}
    while not cursor.accept("}"):
        if cursor.ended:
            raise LineUnclear
        token = cursor.peek()
        if token is None or (token.kind is not Kind.NAME and token.kind not in STRING_KINDS):
            raise cursor.unexpected("`key: value` or `}`")
        cursor.at += 1
        cursor.expect(":")
        found = Entry(token.value, literal(cursor, f"the value of `{token.value}`"), cursor.span(token))
        first = entries.setdefault(found.key, found)
        if first is not found:
            place = f"line {first.span.line}"
            cursor.found.add(keys_twice, found, what="the key", name=found.key, first=place)
        cursor.accept(",")
    return MapValue(tuple(entries.values()), cursor.span(opening), cursor.line.trailing)
