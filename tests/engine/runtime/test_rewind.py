"""What a rewind drops, where it lands, what the checkpoint says: pure, and a law over every graph (engine.md 8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoint import HIDDEN, REWOUND, ArtifactVersion, Head, PendingQuestion, Spent, in_force
from engine.dsl.graph import Budget, ComputeNode, Edge, Graph, NodeKind
from engine.dsl.load import load
from engine.runtime.rewind import artifact_marks, dropped_set, promoted, released, rewound_head
from engine.runtime.rewind_auto import pivot_of

NAMES = tuple("abcdefg")


def graph_of(pairs: list[tuple[str, str]], entry: str = "a") -> Graph:
    """A graph with these edges; every node is a compute."""
    edges = [Edge(index, source, target) for index, (source, target) in enumerate(pairs)]
    names = sorted({name for pair in pairs for name in pair} | {entry})
    return Graph(
        workflow="w",
        entry=entry,
        nodes={name: ComputeNode(name=name, kind=NodeKind.COMPUTE) for name in names},
        edges={name: tuple(each for each in edges if each.source == name) for name in names},
        incoming={name: tuple(each for each in edges if each.target == name) for name in names},
        schemas={},
        vars={},
        presets={},
        loops={},
        budget=Budget(),
    )


def powers(pairs: list[tuple[str, str]], start: str) -> set[str]:
    """What ``start`` leads to, by repeated relaxation: an independent definition."""
    found: set[str] = set()
    for _ in NAMES:
        found |= {target for source, target in pairs if source == start or source in found}
    return found


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14), st.sampled_from(NAMES))
def test_a_rewind_drops_exactly_the_descendants_minus_the_ancestors(pairs: list[tuple[str, str]], pivot: str) -> None:
    below = powers(pairs, pivot)
    above = {name for name in NAMES if pivot in powers(pairs, name)}
    assert dropped_set(graph_of(pairs, pivot), pivot) == {pivot} | (below - above)


def test_what_leads_back_to_the_pivot_keeps_its_output() -> None:
    """R252: implement, verify, back to implement."""
    graph = graph_of([("a", "b"), ("b", "a"), ("b", "c")])
    assert dropped_set(graph, "a") == {"a", "c"}
    assert dropped_set(graph, "c") == {"c"}


NESTED = """tool one:
  command: `true`
  readonly: true

tool two:
  command: `true`
  readonly: true

tool deep:
  command: `true`
  readonly: true

tool last:
  command: `true`

router outer:
  mode: fan_out_all

router inner:
  mode: fan_out_all

compute meet:
  expr:
    n: "1"

compute join:
  expr:
    n: "1"

workflow w:
  entry: outer
  outer -> one
  outer -> inner
  inner -> two
  inner -> deep
  two -> meet
  deep -> meet
  meet -> join
  one -> join
  join -> last
  last -> done
"""


@pytest.mark.parametrize(
    ("node", "pivot"),
    [("one", "outer"), ("deep", "outer"), ("inner", "outer"), ("join", "join"), ("last", "last"), ("outer", "outer")],
)
def test_a_pivot_inside_branches_becomes_the_outermost_router(tmp_path: Path, node: str, pivot: str) -> None:
    """R260, R261: bodies of fan-outs are promoted, joins and what follows are not."""
    path = tmp_path / "main.bot"
    path.write_text(NESTED)
    graph = load(path).graph
    assert graph is not None
    assert promoted(graph, node) == pivot


def test_the_body_of_a_loop_is_not_promoted() -> None:
    """R262, R263."""
    assert promoted(graph_of([("a", "b"), ("b", "a")]), "b") == "b"


def test_the_checkpoint_keeps_what_was_paid_and_counted_and_forgets_the_question() -> None:
    """R254, R257: budget and counters stay; question, recovery, fan-out and taken edges of dropped nodes go."""
    head = Head(
        "c",
        completed=True,
        pending=PendingQuestion("i", "c", "human", {}),
        loop_counters={"fix": 3},
        loop_current_output={"fix": {"n": 1}},
        selected_incoming={"b": (1,), "a": (0,)},
        recovery_counts={"b": {"X": 2}, "a": {"X": 1}},
        recovery_pause=True,
        recovery_code="X",
        spent=Spent(9, 8, 7.0, 6),
        parallel={"router_node_id": "r"},
        extra={HIDDEN: ["b", "z"], "output_places": {"b": "p"}, "failed_branches": {"b": []}},
    )
    made = rewound_head(head, "b", frozenset({"b", "c"}))
    assert (made.node_id, made.completed, made.pending, made.parallel) == ("b", False, None, {})
    assert (made.recovery_pause, made.recovery_code, made.recovery_counts) == (False, "", {"a": {"X": 1}})
    assert (made.loop_counters, made.loop_current_output, made.spent) == ({"fix": 3}, {"fix": {"n": 1}}, head.spent)
    assert made.selected_incoming == {"a": (0,)}
    assert made.extra == {HIDDEN: ["z"]}


def test_an_artifact_is_taken_back_once_and_an_older_one_of_another_node_counts_again() -> None:
    older = ArtifactVersion("plan", "a", 0, {"n": 0})
    newer = ArtifactVersion("plan", "b", 1, {"n": 1})
    (mark,) = artifact_marks([older, newer], frozenset({"b"}))
    assert (mark.name, mark.node_id, mark.version, mark.labels) == ("plan", "b", 2, (REWOUND,))
    assert in_force([older, newer, mark]) == {"plan": older}
    assert artifact_marks([older, newer, mark], frozenset({"b"})) == ()
    again = ArtifactVersion("plan", "b", 3, {"n": 3})
    assert in_force([older, newer, mark, again]) == {"plan": again}


def test_pointers_of_dropped_subbots_are_released_on_every_branch_and_iteration() -> None:
    """R264: the others stay."""
    stay, gone = released({"sub@2#x/y": "r2", "sub": "r1", "subs": "r3"}, frozenset({"sub"}))
    assert (stay, gone) == ({"subs": "r3"}, ("r2", "r1"))


CHAIN = graph_of([("a", "b"), ("b", "c"), ("c", "d")])
LOOPED = graph_of([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
FORKED = graph_of([("a", "b"), ("a", "c")])


@pytest.mark.parametrize(
    ("graph", "affected", "executed", "pivot", "reason"),
    [
        (CHAIN, "cb", "abcd", "b", ""),
        (CHAIN, "d", "abcd", "d", ""),
        (CHAIN, "bd", "abd", "b", ""),
        (CHAIN, "", "abcd", "", "nothing that counts differs"),
        (CHAIN, "d", "abc", "", "only nodes that never ran"),
        (LOOPED, "cb", "abc", "b", ""),
        (LOOPED, "cd", "abcd", "c", ""),
        (FORKED, "bc", "abc", "", "independent branches differ (b, c)"),
        (FORKED, "abc", "abc", "a", ""),
    ],
)
def test_auto_lands_on_the_candidate_that_no_other_reaches(
    graph: Graph, affected: str, executed: str, pivot: str, reason: str
) -> None:
    """R242, R243, R244: a chain, a cycle as one, independent branches, nodes that never ran."""
    found, why = pivot_of(graph, dict.fromkeys(affected, "it differs"), executed)
    assert found == pivot
    assert why.startswith(reason)
