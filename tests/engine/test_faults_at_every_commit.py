"""A run is struck at each of its write transactions in turn, by a real fault, and brought to its end afterwards.

SIGKILL before and behind the commit; a disk that is full, and a database that somebody else has locked, for that one
transaction or from there on. The end equals that of an undisturbed run: status, code, outputs, artifacts, recorded
executions; the timeline keeps its order; no finished node ran again (decisions 6, 7; engine.md 2.3, 3.8).
"""

from __future__ import annotations

import pickle
import signal
from pathlib import Path

import pytest

from engine.states import RunStatus
from tests.engine.harness.driving import trace_of
from tests.engine.harness.faults import BUSY, FULL, KILL, ON, ONCE
from tests.engine.harness.graphs import CHAIN_LENGTH, GRAPHS
from tests.engine.harness.judging import broken, read, swept
from tests.engine.harness.sweeping import undisturbed

REFUSALS = [(FULL, name) for name in ("chain", "loop", "subbot", "human_in_branch", "failing_branch")]
REFUSALS += [(BUSY, name) for name in ("fan_out", "human", "failing")]
REFUSED = {FULL: "StoreFull: ", BUSY: "StoreBusy: "}


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_run_killed_at_any_commit_goes_on(tmp_path: Path, graph: str) -> None:
    """R411, R412, R413, R414, R415, R416, R417, R418, R163, R164, R165, R178, R222, R481."""
    ends = swept(KILL, graph, tmp_path)
    assert {codes[0] for codes in ends.values()} == {-signal.SIGKILL}
    assert broken(tmp_path, ends) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "graph"), REFUSALS)
def test_a_store_that_refuses_any_write_loses_nothing(tmp_path: Path, fault: str, graph: str) -> None:
    """R172, R476, 2.3: a clear error or none; everything stored stays, and what is not stored runs when it can."""
    ends = swept(fault, graph, tmp_path)
    assert {codes[0] for codes in ends.values()} == {0}
    assert broken(tmp_path, ends) == {}
    told = {name: (tmp_path / name / "refused").read_text() for name in ends if (tmp_path / name / "refused").exists()}
    assert {name for name in ends if f"-{ON}-" in name} <= set(told), "a store that goes on refusing is told of"
    assert all(text.startswith(REFUSED[fault]) and text.partition("; ")[2] for text in told.values()), told
    _, trace = read(tmp_path / "undisturbed")
    for name in (name for name in ends if f"-{ONCE}-" in name):
        seen, _ = pickle.loads((tmp_path / name / "left").read_bytes())
        assert seen is None or seen.status != RunStatus.RUNNING, f"{name}: one refusal stopped a run"
        assert sorted(trace_of(tmp_path / name)) == sorted(trace), f"{name}: something ran again after one refusal"


def test_a_run_of_n_nodes_costs_n_plus_one_commits(tmp_path: Path) -> None:
    """Performance, "commits per node exactly 1": the launch, then one per node; the last carries the end."""
    assert undisturbed(tmp_path / "undisturbed", GRAPHS["chain"]) == CHAIN_LENGTH + 1
