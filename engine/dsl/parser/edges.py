"""Edges and their clauses (language.md 3, 7.1)."""

from __future__ import annotations

from typing import Any

from engine.dsl.ast import EdgeLine, ForeachClause, LoopClause, NodeRef, Scalar, Trivia, When
from engine.dsl.diagnostics import nearest
from engine.dsl.graph import Span
from engine.dsl.parser.cursor import STRING_KINDS, Cursor
from engine.dsl.parser.values import braces, scalar_of
from engine.dsl.tokens import Kind

_CLAUSES = ("when", "else", "with", "as")


def edge(cursor: Cursor, trivia: Trivia | None) -> EdgeLine:
    """A whole edge line; leaves the line on the first thing that makes no sense."""
    nodes = [_node(cursor)]
    cursor.expect("->")
    nodes.append(_node(cursor))
    while cursor.accept("->"):
        nodes.append(_node(cursor))
    if cursor.ended:
        return EdgeLine(tuple(nodes), nodes[0].span, trivia=trivia)
    return EdgeLine(tuple(nodes), nodes[0].span, trivia=trivia, **_clauses(cursor))


def _node(cursor: Cursor) -> NodeRef:
    first = cursor.name("the name of a node")
    name = first.value
    while cursor.accept("."):
        name += "." + cursor.name("a name after `.`").value
    return NodeRef(name, Span(cursor.file, first.line, first.column))


def _clauses(cursor: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {"clause_span": cursor.span()}
    while not cursor.ended:
        token = cursor.tokens[cursor.at]
        if token.kind is Kind.ARROW:
            cursor.found.add("E032", cursor.span(token))
            cursor.at = len(cursor.tokens)
            break
        if token.kind is not Kind.NAME or token.value not in _CLAUSES:
            close = nearest(token.value, _CLAUSES) if token.kind is Kind.NAME else ""
            hint = f"did you mean `{close}`?" if close else ""
            raise cursor.unexpected("`->`, `when`, `else`, `as`, `with` or the end of the line", hint)
        cursor.at += 1
        key, value = _clause(token.value, cursor, cursor.span(token))
        if key in found:
            cursor.found.add("E030", cursor.span(token), clause=token.value)
        else:
            found[key] = value
    if "when" in found and found.pop("otherwise", False):
        cursor.found.add("E031", found["clause_span"])
    if "loop" in found and "foreach" in found:
        cursor.found.add("C118", found["clause_span"])
        del found["foreach"]
    return found


def _clause(word: str, cursor: Cursor, span: Span) -> tuple[str, object]:
    if word == "when":
        return "when", _when(cursor, span)
    if word == "else":
        return "otherwise", True
    if word == "with":
        return "mapping", braces(cursor)
    if cursor.sees("foreach") and not cursor.sees("(", 1):
        return "foreach", _foreach(cursor, span)
    return "loop", _loop(cursor, span)


def _when(cursor: Cursor, span: Span) -> When:
    token = cursor.peek()
    if token is not None and token.kind in STRING_KINDS:
        return When(span, expression=scalar_of(cursor.take(), cursor))
    first = cursor.name("a field or an expression in quotes")
    if first.value != "not":
        return When(span, first.value)
    after = cursor.peek()
    if after is None or after.kind is Kind.ARROW or (after.kind is Kind.NAME and after.value in _CLAUSES):
        return When(span, first.value)
    return When(span, cursor.name("a field after `not`").value, negated=True)


def _loop(cursor: Cursor, span: Span) -> LoopClause:
    name = cursor.name("the name of the loop").value
    cursor.expect("(", f"`as {name}(3)`")
    unbounded = cursor.accept("unbounded") is not None
    cap: Scalar | None = None
    token = cursor.peek()
    if token is not None and (token.kind is Kind.INT or (not unbounded and token.kind in STRING_KINDS)):
        cap = scalar_of(cursor.take(), cursor)
    elif not unbounded:
        raise cursor.missing("the cap of the loop", "a number, an expression in quotes, or `unbounded`")
    cursor.expect(")")
    return LoopClause(name, span, cap, unbounded)


def _foreach(cursor: Cursor, span: Span) -> ForeachClause:
    cursor.at += 1
    name = cursor.name("the name of the loop").value
    cursor.expect("(", f'`as foreach {name}(x in "{{{{outputs.n.items}}}}")`')
    element = cursor.name("the name of the element").value
    cursor.expect("in")
    items = scalar_of(cursor.string("the list"), cursor)
    assert items is not None
    cursor.expect(")")
    return ForeachClause(name, element, items, span)
