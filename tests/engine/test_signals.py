"""``emit`` and ``wait``: events between the branches of one run (language.md 5.8, engine.md 9.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.failures import FailureCode
from engine.runtime.signals import Signals
from engine.runtime.turns import Turns
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.cli import pointsman
from tests.kit.engine import Rig, real_rig

PAIR = """
schema built:
  n: int
router split:
  mode: fan_out_all
tool make:
  parallel_safe: true
  command: `echo make >> trace; {make}`
emit ready:
  event: "built"
  with { n: "{{outputs.make.n}}", who: "maker" }
wait it:
  event: "built"
  timeout: "{timeout}"
  output: built
tool use_it:
  parallel_safe: true
  command: `echo used {{outputs.it.n}} >> trace`
compute join:
  await: wait_all
  expr:
    who: "outputs.ready.who"
workflow w:
  budget:
    max_parallel_branches: 1
  entry: split
  split -> it -> use_it -> join
  split -> make -> ready -> join
  join -> done
"""


def pair(make: str = "printf '{\"n\": 7}'", timeout: str = "30s") -> str:
    return PAIR.replace("{make}", make).replace("{timeout}", timeout)


@pytest.fixture
def rig(store: Store, tmp_path: Path) -> Rig:
    """Waiting takes real time, since real processes emit."""
    return real_rig(store, tmp_path)


def test_a_branch_hears_what_another_emits_though_only_one_may_work(rig: Rig) -> None:
    """9.3: the waiting branch gives its turn up, with max_parallel_branches 1 too."""
    assert rig.run(pair()).status == RunStatus.FINISHED
    assert rig.trace() == ["make", "used 7"]
    outputs = rig.outputs()
    assert outputs["it"] == outputs["ready"] == {"n": 7, "who": "maker"}
    assert outputs["join"] == {"who": "maker"}


def test_an_event_that_came_before_is_heard_and_each_only_once(engine: Rig) -> None:
    text = """
emit first:
  event: "go"
  with { n: "1" }
emit second:
  event: "go"
  with { n: "2" }
wait here:
  event: "go"
  timeout: "5s"
wait there:
  event: "go"
  timeout: "5s"
workflow w:
  entry: first
  first -> second -> here
  here -> here as again(1)
  here -> there
  there -> done
"""
    assert engine.run(text).status == RunStatus.FINISHED
    assert [event.data["output"] for event in engine.events("node_finished") if event.node_id == "here"] == [
        {"n": "1"},
        {"n": "2"},
    ]
    assert engine.outputs()["there"] == {"n": "1"}


def test_a_wait_in_vain_is_a_timeout_and_is_waited_for_again(engine: Rig) -> None:
    """A resume waits anew; the event of the first attempt's end would have been enough."""
    text = """
wait it:
  event: "go"
  timeout: "2s"
workflow w:
  entry: it
  it -> done
"""
    record = engine.run(text)
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.TIMEOUT)
    assert "the event go in vain: the node's timeout of 2 s" in record.error
    assert engine.resume().failure_code == FailureCode.TIMEOUT
    assert engine.kinds().count("node_started") == 2


def test_an_event_that_does_not_fit_fails_the_wait_and_is_heard_again(rig: Rig) -> None:
    """5.8: `output` is checked; the event is not used up by the failure."""
    record = rig.run(pair('printf \'{"n": "x"}\''))
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.SCHEMA_VALIDATION)
    assert rig.resume().failure_code == FailureCode.SCHEMA_VALIDATION
    assert rig.trace() == ["make"]


def test_a_question_of_one_branch_pauses_the_run_though_another_waits(rig: Rig) -> None:
    """9.3: the pause does not wait for the timeout; afterwards the branch waits again and hears."""
    text = """
schema answer:
  n: int
router split:
  mode: fan_out_all
human gate:
  output: answer
emit ready:
  event: "go"
  with { n: "{{outputs.gate.n}}" }
wait it:
  event: "go"
  timeout: "600s"
compute join:
  await: wait_all
  expr:
    n: "outputs.it.n"
workflow w:
  entry: split
  split -> it -> join
  split -> gate -> ready -> join
  join -> done
"""
    assert rig.run(text).status == RunStatus.PAUSED_WAITING_HUMAN
    assert rig.resume(texts={"n": "3"}).status == RunStatus.FINISHED
    assert rig.outputs()["join"] == {"n": 3}


def test_a_fan_out_whose_branches_all_wait_lets_its_siblings_work(rig: Rig) -> None:
    """9.3, nested: the turn of the branch around is given up too."""
    text = """
router outer:
  mode: fan_out_all
router inner:
  mode: fan_out_all
wait one:
  event: "go"
  timeout: "30s"
wait two:
  event: "go"
  timeout: "30s"
compute met:
  await: wait_all
  expr:
    n: "outputs.one.n + outputs.two.n"
tool make:
  command: `printf '{"n": 4}'`
emit go:
  event: "go"
  with { n: "{{outputs.make.n}}" }
compute join:
  await: wait_all
  expr:
    n: "outputs.met.n"
workflow w:
  budget:
    max_parallel_branches: 1
  entry: outer
  outer -> inner
  inner -> one -> met
  inner -> two -> met
  met -> join
  outer -> make -> go -> join
  join -> done
"""
    assert rig.run(text).status == RunStatus.FINISHED
    assert rig.outputs()["join"] == {"n": 8}


def test_a_cancel_ends_a_wait(rig: Rig) -> None:
    """1.7: noticed while the node waits."""

    def cancel(node: str, *_: Any) -> None:
        if node == "it":
            rig.engine.cancel("r1", "enough")

    text = """
compute first:
  expr:
    a: "1"
wait it:
  event: "go"
  timeout: "1h"
workflow w:
  entry: first
  first -> it
  it -> done
"""
    record = rig.run(text, progress=cancel)
    assert (record.status, rig.head().node_id) == (RunStatus.CANCELLED, "it")


def test_a_rewind_withdraws_what_the_dropped_nodes_emitted(engine: Rig) -> None:
    """8.4: the row of the emit is the event."""
    text = """
emit go:
  event: "go"
  with { n: "1" }
wait it:
  event: "go"
  timeout: "2s"
workflow w:
  entry: go
  go -> it
  it -> fail
"""
    from engine.api import RewindRequest

    assert engine.run(text).status == RunStatus.FAILED
    engine.engine.rewind(RewindRequest("r1", "it"))
    assert engine.resume().failure_code == FailureCode.FAIL_NODE
    engine.engine.rewind(RewindRequest("r1", "go"))
    assert engine.resume().failure_code == FailureCode.FAIL_NODE
    assert engine.outputs()["it"] == {"n": "1"}


def test_signals_are_heard_in_their_order() -> None:
    signals = Signals([("a", {"n": 1})])
    with signals.publishing([("a", {"n": 2}), ("b", {})]):
        assert signals.after("a", 1) is None
    assert [signals.after("a", heard) for heard in range(3)] == [{"n": 1}, {"n": 2}, None]
    assert signals.after("c", 0) is None


def test_an_idle_fan_out_gives_up_the_turn_around_it() -> None:
    outer = Turns(1)
    inner = Turns(2, outer)
    assert outer.take()
    assert inner.take()
    assert inner.take()
    assert not inner.take()
    inner.park()
    assert not outer.take()
    inner.give_back()
    assert outer.take(), "the turn that the inner one gave up"


def test_the_command_line_runs_emit_and_wait(tmp_path: Path) -> None:
    (tmp_path / "main.bot").write_text(pair())
    told = pointsman(tmp_path, "validate", "main.bot", "--json")
    assert "X001" not in told.out
    answer = pointsman(tmp_path, "run", "main.bot", "--json", environment={"PATH": "/usr/bin:/bin"})
    assert (answer.code, answer.document["outputs"]["it"]) == (0, {"n": 7, "who": "maker"})
