"""The choice of an edge as a table (language.md 7.3, engine.md 9.1)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.dsl.graph import Edge
from engine.failures import FailureCode
from engine.runtime.edges import choose
from engine.runtime.loops import SpentReason


def edge(index: int, target: str, *, when: str = "", loop: str = "", otherwise: bool = False) -> Edge:
    return Edge(index, "a", target, when_field=when, loop=loop, otherwise=otherwise)


PLAIN, OTHER = edge(0, "b"), edge(1, "c")
IF_X, IF_Y = edge(2, "x", when="x"), edge(3, "y", when="y")
ELSE = edge(4, "e", otherwise=True)
LOOP = edge(5, "a", loop="l")
LOOP_IF_X = edge(6, "a", when="x", loop="l")


@dataclass(frozen=True)
class Case:
    edges: tuple[Edge, ...]
    true: frozenset[str]
    spent: frozenset[str]
    taken: str
    code: str = ""


CASES = {
    "the only plain edge": Case((PLAIN,), frozenset(), frozenset(), "b"),
    "the first of two plain edges": Case((PLAIN, OTHER), frozenset(), frozenset(), "b"),
    "a condition that holds beats a plain edge before it": Case((PLAIN, IF_X), frozenset("x"), frozenset(), "x"),
    "the first of two conditions that hold": Case((IF_Y, IF_X), frozenset("xy"), frozenset(), "y"),
    "else when no condition holds": Case((IF_X, ELSE), frozenset(), frozenset(), "e"),
    "a loop edge before its exit": Case((LOOP, PLAIN), frozenset(), frozenset(), "a"),
    "the exit once the loop is spent": Case((LOOP, PLAIN), frozenset(), frozenset("l"), "b"),
    "a spent conditional loop falls through to else": Case((LOOP_IF_X, ELSE), frozenset("x"), frozenset("l"), "e"),
    "a false condition is not looked at for its loop": Case(
        (LOOP_IF_X,), frozenset(), frozenset("l"), "", FailureCode.NO_OUTGOING_EDGE
    ),
    "only a spent loop": Case((LOOP,), frozenset(), frozenset("l"), "", FailureCode.LOOP_EXHAUSTED),
    "a spent conditional loop and a false condition": Case(
        (LOOP_IF_X, IF_Y), frozenset("x"), frozenset("l"), "", FailureCode.LOOP_EXHAUSTED
    ),
    "conditions that do not hold": Case((IF_X, IF_Y), frozenset(), frozenset(), "", FailureCode.NO_OUTGOING_EDGE),
    "no edge at all": Case((), frozenset(), frozenset(), "", FailureCode.NO_OUTGOING_EDGE),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_edge_is_taken(case: Case) -> None:
    """R206, R207, R208: LOOP_EXHAUSTED only with a spent loop in the way."""
    choice = choose(
        "a",
        case.edges,
        lambda each: each.when_field in case.true,
        lambda each: SpentReason.CAP if each.loop in case.spent else SpentReason.NO,
    )
    assert (choice.edge.target if choice.edge else "") == case.taken
    assert (choice.code or "") == case.code
    assert choice.reason


def test_each_condition_is_asked_once_and_in_order() -> None:
    asked: list[str] = []

    def holds(each: Edge) -> bool:
        asked.append(each.when_field)
        return False

    choose("a", (IF_Y, PLAIN, IF_X), holds, lambda _: SpentReason.NO)
    assert asked == ["y", "x"]
