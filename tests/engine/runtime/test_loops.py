"""Loops: crossings, copies, standstill, the price of a pass (language.md 7.4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoint import Spent
from engine.dsl.graph import Loop, LoopKind
from engine.dsl.load import load_text
from engine.runtime.loops import FRESH, LoopState, SpentReason, cross, entered, loop_map, spent_because

NOTHING = Spent()
BOUNDED = Loop("l", LoopKind.BOUNDED, cap=3)
UNBOUNDED = Loop("l", LoopKind.UNBOUNDED, cap=200)
FOREACH = Loop("l", LoopKind.FOREACH)


def crossed(*outputs: object) -> LoopState:
    state = FRESH
    for output in outputs:
        state = cross(state, output, NOTHING)
    return state


def test_previous_output_is_the_crossing_before_the_last_one() -> None:
    """R487: empty after the first crossing, the first one's output after the second."""
    assert [crossed(*range(n)).previous for n in (1, 2, 3)] == [None, 0, 1]


@given(st.lists(st.integers(), min_size=1, max_size=20))
def test_the_copies_are_always_the_last_two_crossings(outputs: list[int]) -> None:
    state = crossed(*outputs)
    assert state.crossings == len(outputs)
    assert state.current == outputs[-1]
    assert state.previous == (outputs[-2] if len(outputs) > 1 else None)


@pytest.mark.parametrize(
    ("loop", "state", "bound", "output", "wanted"),
    [
        (BOUNDED, crossed(1, 2), 3, 9, SpentReason.NO),
        (BOUNDED, crossed(1, 2, 3), 3, 9, SpentReason.CAP),
        (BOUNDED, FRESH, 0, 9, SpentReason.CAP),
        (UNBOUNDED, crossed(7, 7), 200, 7, SpentReason.NO),
        (UNBOUNDED, crossed(7, 7, 7), 200, 7, SpentReason.STANDSTILL),
        (UNBOUNDED, crossed(7, 7, 7), 200, 8, SpentReason.NO),
        (UNBOUNDED, crossed(7, 7, 8, 7), 200, 7, SpentReason.NO),
        (BOUNDED, crossed(7, 7, 7), 9, 7, SpentReason.NO),
        (FOREACH, FRESH, 3, None, SpentReason.NO),
        (FOREACH, crossed(1, 1), 3, None, SpentReason.END),
        (FOREACH, FRESH, 0, None, SpentReason.END),
    ],
)
def test_when_a_loop_is_spent(loop: Loop, state: LoopState, bound: int, output: object, wanted: SpentReason) -> None:
    assert spent_because(loop, state, bound, output, affordable=True) is wanted


def test_a_pass_that_is_not_affordable_is_declined_last() -> None:
    assert spent_because(BOUNDED, FRESH, 3, None, affordable=False) is SpentReason.BUDGET
    assert spent_because(BOUNDED, crossed(1, 2, 3), 3, None, affordable=False) is SpentReason.CAP


def test_a_pass_is_priced_from_entry_and_then_from_the_last_crossing() -> None:
    state = entered(Spent(5))
    assert state.mark == Spent(5)
    assert cross(state, None, Spent(8)).mark == Spent(8)


def test_only_an_edge_from_outside_the_body_resets_a_loop() -> None:
    """Language 7.4: crossing an edge of another loop resets nothing."""
    text = """
compute a:
  expr:
    x: "1"
compute b:
  expr:
    x: "1"
compute c:
  expr:
    x: "1"
workflow w:
  entry: a
  a -> b
  b -> b as inner(2)
  b -> c
  c -> a as outer(1)
  c -> done
"""
    graph = load_text(text).graph
    assert graph is not None
    found = loop_map(graph)
    by_pair = {(edge.source, edge.target): found.reset_by(edge.index) for each in graph.edges.values() for edge in each}
    assert by_pair[("a", "b")] == ("inner",)
    assert by_pair[("c", "a")] == ()
    assert found.loops_of("b") == ("outer", "inner")
    assert found.loops_of("a") == ("outer",)
