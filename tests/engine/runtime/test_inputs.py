"""Which edges feed a node, and in which order (language.md 7.8)."""

from __future__ import annotations

import pytest

from engine.dsl.graph import Edge, Mapped
from engine.dsl.templates import parse
from engine.runtime.inputs import build_input, participating

SEED = Edge(0, "seed", "n")
EXTRA = Edge(1, "extra", "n")
BACK = Edge(2, "n", "n", loop="l")
INCOMING = (SEED, EXTRA, BACK)


@pytest.mark.parametrize(
    ("taken", "with_output", "wanted"),
    [
        ((0,), "seed extra", (0,)),
        ((2,), "seed n", (0, 2)),
        ((2,), "seed extra n", (0, 1, 2)),
        ((2,), "n", (2,)),
        ((0, 1), "seed extra", (0, 1)),
        ((0, 2), "seed extra n", (0, 2)),
        ((), "seed n", (0, 2)),
        ((), "", ()),
    ],
)
def test_which_edges_take_part(taken: tuple[int, ...], with_output: str, wanted: tuple[int, ...]) -> None:
    """R177: a back edge is an overlay; an edge that was not taken never takes part."""
    found = participating(INCOMING, taken, with_output.split().__contains__)
    assert tuple(edge.index for edge in found) == wanted


def test_loop_edges_are_applied_last_even_when_they_are_declared_first() -> None:
    back = Edge(0, "n", "n", loop="l", mappings=(Mapped("k", parse("again")),))
    seed = Edge(1, "seed", "n", mappings=(Mapped("k", parse("seed")), Mapped("only", parse("only"))))
    edges = participating((back, seed), (0,), ["seed", "n"].__contains__)
    made = build_input({"v": 1}, edges, lambda mapped, _: mapped.value.source)
    assert made == {"v": 1, "k": "again", "only": "only"}
