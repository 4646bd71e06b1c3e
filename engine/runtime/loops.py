"""Named loops: what a crossing does, when a loop is spent, which loops a node and an edge touch.

Called by ``edges`` and ``loop``. Pure over frozen states; bounds that need an evaluation are handed in. Implements
language.md 7.4 and engine.md 9.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.checkpoint import Spent
from engine.dsl.graph import Graph, Loop, LoopKind

STANDSTILL_CROSSINGS = 3


class SpentReason(StrEnum):
    """Why a loop edge may not be taken; the empty value: it may."""

    NO = ""
    CAP = "cap"
    END = "end"
    STANDSTILL = "standstill"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class LoopState:
    """One loop since it was entered.

    ``previous`` and ``current`` are the source's outputs at the crossing before the last one and at the last one;
    ``still`` counts equal outputs in a row; ``entered`` and ``crossed`` are the consumption at entry and at the last
    crossing, which price a pass.
    """

    crossings: int = 0
    previous: object = None
    current: object = None
    still: int = 0
    entered: Spent = field(default_factory=Spent)
    crossed: Spent | None = None

    @property
    def mark(self) -> Spent:
        """Consumption when the present pass began."""
        return self.crossed or self.entered


FRESH = LoopState()


def cross(state: LoopState, output: object, spent: Spent) -> LoopState:
    """The state after one crossing: count, rotate the copies, note the price of the pass."""
    still = state.still + 1 if state.crossings and state.current == output else 1
    return LoopState(
        crossings=state.crossings + 1,
        previous=state.current,
        current=output,
        still=still,
        entered=state.entered,
        crossed=spent,
    )


def entered(spent: Spent) -> LoopState:
    """The state of a loop that is entered from outside."""
    return LoopState(entered=spent)


def spent_because(loop: Loop, state: LoopState, bound: int, output: object, *, affordable: bool) -> SpentReason:
    """Why the loop's edge is spent, if it is. ``bound`` is the cap in force, of a foreach the number of elements."""
    if loop.kind is LoopKind.FOREACH:
        if state.crossings + 1 >= bound:
            return SpentReason.END
    elif state.crossings >= bound:
        return SpentReason.CAP
    if loop.kind is LoopKind.UNBOUNDED and state.still >= STANDSTILL_CROSSINGS and state.current == output:
        return SpentReason.STANDSTILL
    return SpentReason.NO if affordable else SpentReason.BUDGET


@dataclass(frozen=True, slots=True)
class LoopMap:
    """Which loops contain a node, outermost first, and which an edge resets; built once per attempt."""

    containing: Mapping[str, tuple[str, ...]]
    resets: Mapping[int, tuple[str, ...]]

    def loops_of(self, node: str) -> tuple[str, ...]:
        """Names of the loops whose body holds the node."""
        return self.containing.get(node, ())

    def reset_by(self, edge: int) -> tuple[str, ...]:
        """Names of the loops that taking the edge enters from outside."""
        return self.resets.get(edge, ())


def loop_map(graph: Graph) -> LoopMap:
    """The map of a graph, in one pass over its loops."""
    containing: dict[str, tuple[str, ...]] = {}
    resets: dict[int, tuple[str, ...]] = {}
    for loop in sorted(graph.loops.values(), key=lambda each: (-len(each.body), each.name)):
        for node in loop.body:
            containing[node] = (*containing.get(node, ()), loop.name)
        for entry in loop.entries:
            for edge in graph.incoming.get(entry, ()):
                if not edge.loop and edge.source not in loop.body:
                    resets[edge.index] = (*resets.get(edge.index, ()), loop.name)
    return LoopMap(containing, resets)


def iteration_path(names: tuple[str, ...], states: Mapping[str, LoopState]) -> str:
    """The iteration of a node as text: empty outside loops, ``2`` in one loop, ``outer.1-inner.2`` in several."""
    if not names:
        return ""
    if len(names) == 1:
        return str(states.get(names[0], FRESH).crossings)
    return "-".join(f"{name}.{states.get(name, FRESH).crossings}" for name in names)


def iteration_of(names: tuple[str, ...], states: Mapping[str, LoopState]) -> int:
    """Crossings of the innermost loop around a node, 0 outside loops."""
    return states.get(names[-1], FRESH).crossings if names else 0


def iterations(names: tuple[str, ...], states: Mapping[str, LoopState]) -> tuple[tuple[str, int], ...]:
    """The loops around a node with their crossings, outermost first."""
    return tuple((name, states.get(name, FRESH).crossings) for name in names)
