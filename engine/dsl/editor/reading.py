"""References and edges around a cursor, taken from the text: who reads there, and what is being written.

Used by ``completion`` and ``targets``. Nothing is reported and nothing needs to be complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.dsl.ast import Declaration
from engine.dsl.draft import Draft
from engine.dsl.editor.members import Reader, named, users
from engine.dsl.editor.spot import STRINGS, Spot
from engine.dsl.templates import CLOSE, OPEN
from engine.dsl.tokens import Kind

CLAUSES = ("when", "else", "as", "with")
_INCLUDE = re.compile(r'\s*include\s+"[^"\n]*\Z')
_NAME_START = re.compile(r"\w*")


@dataclass(frozen=True, slots=True)
class Writing:
    """A reference at the cursor: its dotted parts, the last of them unfinished unless ``whole`` was asked for.

    ``expression`` tells whether it stands in an expression, where functions and bare fields are at hand too.
    """

    path: tuple[str, ...]
    expression: bool


def edge_chain(spot: Spot) -> tuple[str, ...]:
    """The nodes of the edge that the line is, in order; empty when it is none."""
    tokens = spot.line.tokens if spot.line else []
    if not any(token.kind is Kind.ARROW for token in tokens) or (len(tokens) > 1 and tokens[1].value == ":"):
        return ()
    names = [""]
    for token in tokens:
        if token.kind is Kind.ARROW:
            names.append("")
        elif token.kind is Kind.NAME and (not names[-1] or names[-1].endswith(".")):
            names[-1] += token.value
        elif token.value == "." and names[-1]:
            names[-1] += "."
        else:
            break
    return tuple(names)


def reader_at(draft: Draft, spot: Spot) -> Reader:
    """Who reads what is written at the cursor."""
    parameters = _parameters(draft, spot)
    chain = edge_chain(spot)
    if len(chain) > 1:
        return Reader(sources=tuple(named(draft, chain[-2])), parameters=parameters)
    if spot.prompt:
        return Reader(tuple(users(draft, spot.prompt)), parameters=parameters)
    return Reader(tuple(named(draft, spot.node)) if spot.node else (), parameters=parameters)


def _parameters(draft: Draft, spot: Spot) -> tuple[str, ...]:
    top = spot.above[0] if spot.above else None
    group: Declaration | None = draft.groups.get(top.name) if top and top.key == "group" else None
    return group.parameters if group else ()


def include_at(spot: Spot) -> bool:
    """Whether the cursor is in the path of an include."""
    inner = _inner(spot)
    return inner is not None and _INCLUDE.match(inner) is not None


def writing_at(spot: Spot, *, whole: bool = False) -> Writing | None:
    """The reference at the cursor, None where none may stand. With ``whole`` the word is taken to its end."""
    inner = _inner(spot)
    expression = inner is None and in_expression(spot)
    if inner is None and not expression:
        return None
    dotted = spot.dotted
    if whole:
        found = _NAME_START.match(spot.rest)
        dotted += found[0] if found else ""
    return Writing(tuple(dotted.split(".")), expression)


def _inner(spot: Spot) -> str | None:
    """What stands between the ``{{`` before the cursor and the cursor, None when none is open."""
    if spot.text is None:
        return None
    start = spot.text.rfind(OPEN)
    return spot.text[start + len(OPEN) :] if start > spot.text.rfind(CLOSE) else None


def in_expression(spot: Spot) -> bool:
    """Whether the cursor is in a string that is an expression."""
    if spot.text is None or spot.line is None or spot.line.body is not None:
        return False
    if spot.shape_name in ("expr", "route"):
        return spot.shape_name == "expr" or spot.key == "when"
    before = None
    for token in spot.line.tokens:
        if token.kind in STRINGS and (token.end_line, token.end) > (spot.row, spot.column):
            break
        before = token
    return before is not None and before.value in ("when", "(") and len(edge_chain(spot)) > 1
