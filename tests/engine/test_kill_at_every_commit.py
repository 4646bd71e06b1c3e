"""SIGKILL at every commit of a run, in a real process: it goes on under the same id and repeats nothing finished.

The decisive promise (decisions 7): a crash repeats only the node that was in flight, wherever it strikes.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.documents import run_document
from engine.ports import SystemClock
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.runs import ROOT, open_store

NODES = 10
CHAIN = (
    "\n".join(f"tool t{n}:\n  command: `echo t{n} >> trace; echo '{{\"n\": {n}}}'`" for n in range(1, NODES + 1))
    + "\nworkflow w:\n  entry: t1\n"
    + "\n".join(f"  t{n} -> t{n + 1}" for n in range(1, NODES))
    + f"\n  t{NODES} -> done\n"
)
LOOPS = """
compute n:
  expr:
    v: "loop.l.iteration * 10"
    p: "loop.l.previous_output.v"
router turn:
  mode: round_robin
tool a:
  command: `echo a{{outputs.n.v}} >> trace`
tool b:
  command: `echo b{{outputs.n.v}} >> trace`
workflow w:
  entry: n
  n -> turn as l(3)
  n -> done
  turn -> a
  turn -> b
  a -> n
  b -> n
"""
FAN = """
router split:
  mode: fan_out_all
tool a1:
  parallel_safe: true
  command: `echo a1 >> trace`
tool a2:
  parallel_safe: true
  command: `echo a2 >> trace`
tool b1:
  parallel_safe: true
  command: `echo b1 >> trace`
tool join:
  await: wait_all
  command: `echo join >> trace; echo '{"ok": true}'`
workflow w:
  budget:
    max_parallel_branches: 1
  entry: split
  split -> a1
  split -> b1
  a1 -> a2
  a2 -> join
  b1 -> join
  join -> done
"""
SIGNALS = """
router split:
  mode: fan_out_all
compute ball:
  expr:
    n: "loop.serve.iteration"
emit ping:
  event: "ping"
  with { n: "{{outputs.ball.n}}" }
wait pong:
  event: "pong"
  timeout: "60s"
compute score:
  expr:
    n: "outputs.pong.n"
wait got:
  event: "ping"
  timeout: "60s"
emit back:
  event: "pong"
  with { n: "{{outputs.got.n}}" }
tool note:
  parallel_safe: true
  command: `echo {{outputs.got.n}} >> trace`
compute join:
  await: wait_all
  expr:
    last: "outputs.score.n"
    heard: "outputs.note.result"
workflow w:
  budget:
    max_parallel_branches: 1
  entry: split
  split -> ball -> ping -> pong -> score
  score -> ball as serve(2)
  score -> join
  split -> got -> note -> back
  back -> got as answer(2)
  back -> join
  join -> done
"""
SIGNAL_POINTS = [("after", number) for number in range(2, 16)]
CHAIN_POINTS = [(when, number) for when in ("before", "after") for number in range(1, NODES + 2)]
LOOP_POINTS = [("after", number) for number in range(1, 11)]
FAN_POINTS = [(when, number) for when in ("before", "after") for number in range(2, 8)]


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every round, played by one process of its own that forks a process per attempt."""
    where = tmp_path_factory.mktemp("rounds")
    played = [("chain", CHAIN, *point) for point in CHAIN_POINTS] + [("loops", LOOPS, *point) for point in LOOP_POINTS]
    played += [("fan", FAN, *point) for point in FAN_POINTS]
    played += [("signals", SIGNALS, *point) for point in SIGNAL_POINTS]
    for name, text, when, number in [*played, ("loops", LOOPS, "never", 0)]:
        folder = where / f"{name}-{when}-{number}"
        (folder / "work").mkdir(parents=True)
        (folder / "main.bot").write_text(text)
    script = [sys.executable, "-m", "tests.engine.killed_at_commit", str(where)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(script, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    for name, (first, looked, second) in json.loads(done.stdout).items():
        assert first == (0 if "never" in name else -signal.SIGKILL), (name, done.stderr)
        assert (looked, second) == (0, 0), (name, done.stderr)
    return where


@contextmanager
def looked_at(folder: Path) -> Iterator[tuple[dict[str, Any], Rig]]:
    """The run as it is stored after all."""
    rig = Rig(open_store(folder, SystemClock()), SystemClock(), folder)
    try:
        yield run_document(rig.engine.inspect("r1")), rig
    finally:
        rig.store.database.close()


@pytest.mark.slow
@pytest.mark.parametrize(("when", "number"), CHAIN_POINTS)
def test_a_run_killed_at_any_commit_goes_on(rounds: Path, when: str, number: int) -> None:
    """R411, R412, R413, R414, R418, R178, R481: same id, no finished node repeated, same outputs."""
    folder = rounds / f"chain-{when}-{number}"
    seen = json.loads((folder / "seen.json").read_text())
    with looked_at(folder) as (document, rig):
        times = Counter(rig.trace())
        seqs = [event.seq for event in rig.events()]
    assert document["status"] == RunStatus.FINISHED
    assert document["outputs"] == {f"t{n}": {"n": n} for n in range(1, NODES + 1)}
    assert sum(times.values()) - NODES <= 1, "more than the node in flight ran twice"
    assert all(times[node] == 1 for node in seen["outputs"]), "a finished node ran again"
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.slow
@pytest.mark.parametrize(("when", "number"), LOOP_POINTS)
def test_passes_and_choices_are_as_undisturbed(rounds: Path, when: str, number: int) -> None:
    """R415, R163, R164, R165: loop counters move once, a router's choice is kept."""
    with looked_at(rounds / "loops-never-0") as (document, rig):
        outputs, trace = document["outputs"], rig.trace()
    with looked_at(rounds / f"loops-{when}-{number}") as (document, rig):
        assert (document["status"], document["outputs"]) == (RunStatus.FINISHED, outputs)
        assert list(dict.fromkeys(rig.trace())) == trace


@pytest.mark.slow
@pytest.mark.parametrize(("when", "number"), FAN_POINTS)
def test_a_fan_out_killed_at_any_commit_goes_on(rounds: Path, when: str, number: int) -> None:
    """R222, R416, R417: a finished node of a branch, and a finished branch, never run again."""
    folder = rounds / f"fan-{when}-{number}"
    with looked_at(folder) as (document, rig):
        times = Counter(rig.trace())
    assert document["status"] == RunStatus.FINISHED
    assert set(document["outputs"]) == {"split", "a1", "a2", "b1", "join"}
    assert set(times) == {"a1", "a2", "b1", "join"}
    assert sum(times.values()) <= 5, "more than the node in flight ran twice"


class CountingDatabase(Database):
    """Counts write transactions."""

    count = 0

    @contextmanager
    def write_raw(self) -> Iterator[sqlite3.Cursor]:
        """As the real one."""
        with super().write_raw() as cursor:
            yield cursor
        self.count += 1


def test_a_run_of_n_nodes_costs_n_plus_one_commits(tmp_path: Path, clock: FakeClock) -> None:
    """Performance, "commits per node exactly 1": the launch, then one per node; the last carries the end."""
    database = CountingDatabase.open(f"sqlite:///{tmp_path / 'p.db'}")
    assert isinstance(database, CountingDatabase)
    with database:
        rig = Rig(Store(database, clock, tmp_path), clock, tmp_path)
        rig.run(CHAIN)
        assert database.count == NODES + 1


@pytest.mark.slow
@pytest.mark.parametrize(("when", "number"), SIGNAL_POINTS)
def test_an_event_is_neither_lost_nor_heard_twice(rounds: Path, when: str, number: int) -> None:
    """language.md 5.8: two branches play to each other with one turn; each hears what the other emitted, in order."""
    with looked_at(rounds / f"signals-{when}-{number}") as (document, rig):
        assert document["status"] == RunStatus.FINISHED
        assert document["outputs"]["join"]["last"] == 2
        heard = rig.trace()
        assert list(dict.fromkeys(heard)) == ["0", "1", "2"]
        assert len(heard) <= 4, "more than the node in flight ran twice"
