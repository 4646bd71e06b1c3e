"""``--auto-resume``: the gate over every code, the waits, the loop (engine.md 7.9)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.api import AutoResume
from engine.errors import WrongStatus
from engine.failures import FAILURES, Allowance, FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Failed
from engine.runtime.auto_resume import delay_before, judge, wait_before
from engine.states import RunStatus
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, scripted
from tests.kit.ids import CountingIds
from tests.kit.runs import launched

ONE = """
compute t:
  expr:
    x: "1"
workflow w:
  entry: t
  t -> done
"""


@pytest.mark.parametrize("code", sorted(FAILURES))
def test_the_gate_reads_the_one_table(store: Store, code: str) -> None:
    """R058 to R062, R068, R069, R072, R073, R077, R079: the column decides, with its one conditional cell."""
    record = replace(store.runs.get(launched(store)), status=RunStatus.FAILED_RESUMABLE, failure_code=code)
    cell = FAILURES[FailureCode(code)].cli_auto_resume
    assert judge(record, raised=False, budget_resumed=False).resumes is (cell is Allowance.YES)
    allowed = cell in (Allowance.YES, Allowance.IF_RAISED)
    assert judge(record, raised=True, budget_resumed=False).resumes is allowed


def test_codes_of_a_graph_and_unknown_ones_are_left_alone(store: Store) -> None:
    """R047, R080."""
    record = replace(store.runs.get(launched(store)), failure_code="PLAN_EXHAUSTED")
    verdict = judge(record, raised=True, budget_resumed=False)
    assert (verdict.resumes, verdict.reason) == (False, "deliberate")
    assert "not auto-recoverable (code PLAN_EXHAUSTED)" in verdict.text


def test_a_budget_is_resumed_once_and_only_when_raised(store: Store) -> None:
    """R066, R067."""
    record = replace(store.runs.get(launched(store)), failure_code=str(FailureCode.BUDGET_EXCEEDED))
    assert "--max-" in judge(record, raised=False, budget_resumed=False).text
    assert judge(record, raised=True, budget_resumed=False).resumes
    assert not judge(record, raised=True, budget_resumed=True).resumes


def test_a_policy_that_says_off_declines_a_usage_window(store: Store) -> None:
    """R065."""
    record = replace(store.runs.get(launched(store)), failure_code=str(FailureCode.USAGE_LIMIT_BLOCKED))
    assert judge(record, raised=False, budget_resumed=False).resumes
    assert not judge(record, raised=False, budget_resumed=False, usage_window=False).resumes


def test_the_waits_double_up_to_five_minutes() -> None:
    """R095."""
    assert [delay_before(n, 0.5) for n in range(1, 7)] == [30, 60, 120, 240, 300, 300]
    assert (delay_before(1, 0.0), delay_before(1, 1.0)) == (15, 45)


def test_a_usage_window_waits_for_its_reset(store: Store, clock: FakeClock) -> None:
    """R063, R064: reset plus one minute; 15 minutes when nobody knows."""
    record = replace(store.runs.get(launched(store)), failure_code=str(FailureCode.USAGE_LIMIT_BLOCKED))
    assert wait_before(record, 1, clock, CountingIds()) == 900
    known = replace(record, retry_after_at=clock.now() + timedelta(hours=2))
    assert wait_before(known, 1, clock, CountingIds()) == 7260


def test_the_loop_resumes_until_it_works(store: Store, clock: FakeClock, engine: Rig) -> None:
    """R058: waits, notes each attempt, and stops when the run has finished."""
    failing = Failed(FailureCode.TIMEOUT, "too slow")
    rig = engine.other(**scripted(Script(failing, failing, Completed({"x": 1}))))
    began = clock.monotonic()
    said: list[str] = []
    record = rig.engine.auto_resume(rig.run(ONE), AutoResume(5, say=said.append))
    assert record.status == RunStatus.FINISHED
    assert clock.monotonic() - began >= 15 + 30
    assert [event.data["attempt"] for event in rig.events("run_auto_resumed")] == [1, 2]
    assert len(said) == 2


@pytest.mark.parametrize(
    ("code", "tries"),
    [
        pytest.param(FailureCode.TIMEOUT, 1, id="R059 and R367: no raised cap is wanted"),
        pytest.param(FailureCode.RATE_LIMITED, 4, id="R060"),
        pytest.param(FailureCode.NETWORK_TRANSIENT, 7, id="R061"),
        pytest.param(FailureCode.TOOL_FAILED_TRANSIENT, 3, id="R062"),
    ],
)
def test_weather_is_waited_for(engine: Rig, code: FailureCode, tries: int) -> None:
    """The recipe in the node comes first; once it is used up the loop resumes."""
    script = Script(*[Failed(code, "not now")] * tries, Completed({"x": 1}))
    rig = engine.other(**scripted(script))
    stopped = rig.run(ONE)
    assert (stopped.status, stopped.failure_code, script.calls) == (RunStatus.FAILED_RESUMABLE, code, tries)
    record = rig.engine.auto_resume(stopped, AutoResume(1, say=lambda _: None))
    assert (record.status, script.calls) == (RunStatus.FINISHED, tries + 1)
    assert [event.data["code"] for event in rig.events("run_auto_resumed")] == [code]


@pytest.mark.parametrize("stop", ["cancel", "pause"])
def test_a_run_that_a_person_stopped_is_not_resumed(engine: Rig, stop: str) -> None:
    """R099: no attempt, and nothing is declined either."""
    rigs: list[Rig] = []

    def stopping(_: NodeContext) -> None:
        if stop == "pause":
            rigs[0].engine.pause("r1")
        else:
            rigs[0].engine.cancel("r1", "enough")

    script = Script(Completed({"x": 1}), then=stopping)
    rigs.append(engine.other(**scripted(script)))
    text = ONE.replace("  t -> done", "  t -> u\n  u -> done") + 'compute u:\n  expr:\n    x: "1"\n'
    stopped = rigs[0].run(text)
    assert stopped.status in (RunStatus.CANCELLED, RunStatus.PAUSED_OPERATOR)
    assert rigs[0].engine.auto_resume(stopped, AutoResume(5, say=lambda _: None)) == stopped
    assert not {"run_auto_resumed", "run_retry_skipped", "run_resumed"} & set(rigs[0].kinds())


class Waiting(FakeClock):
    """A clock during whose waits something happens."""

    then: Callable[[], object] | None = None
    waits = 0

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let it happen, then let the time pass."""
        self.waits += 1
        if self.then is not None:
            self.then()
        return super().wait(event, seconds)


def test_a_cancel_during_the_wait_stands(store: Store, tmp_path: Path) -> None:
    """R099, ground rule 6: no machine undoes a person, whenever the person came."""
    clock = Waiting()
    rig = Rig(store, clock, tmp_path, **scripted(Script(Failed(FailureCode.TIMEOUT, "slow"), Completed({"x": 1}))))
    stopped = rig.run(ONE)
    clock.then = lambda: rig.engine.cancel("r1", "enough")
    record = rig.engine.auto_resume(stopped, AutoResume(3, say=lambda _: None))
    assert (record.status, record.error) == (RunStatus.CANCELLED, "enough")
    assert not {"run_auto_resumed", "run_resumed"} & set(rig.kinds())
    assert clock.waits == 1
    with pytest.raises(WrongStatus, match="no machine"):
        rig.resume(attended=False)
    assert rig.resume().status == RunStatus.FINISHED


def test_a_resume_by_somebody_else_during_the_wait_ends_the_loop(store: Store, tmp_path: Path) -> None:
    clock = Waiting()
    rig = Rig(store, clock, tmp_path, **scripted(Script(Failed(FailureCode.TIMEOUT, "slow"), Completed({"x": 1}))))
    stopped = rig.run(ONE)

    def by_hand() -> None:
        clock.then = None
        rig.resume()

    clock.then = by_hand
    record = rig.engine.auto_resume(stopped, AutoResume(3, say=lambda _: None))
    assert record.status == RunStatus.FINISHED
    assert rig.kinds().count("run_resumed") == 1


def test_a_skip_is_written_once_per_stop(engine: Rig) -> None:
    """R068, R083, R360: however often the run is looked at."""
    rig = engine.other(**scripted(Script(Failed(FailureCode.EXPRESSION_FAILED, "no"))))
    record = rig.run(ONE)
    for _ in range(3):
        rig.engine.auto_resume(record, AutoResume(3, say=lambda _: None))
    skips = rig.events("run_retry_skipped")
    assert [(event.data["reason"], event.data["code"]) for event in skips] == [("deterministic", "EXPRESSION_FAILED")]
    assert not rig.events("run_resumed")


def test_a_wait_ends_when_the_person_wants_it_to(engine: Rig) -> None:
    rig = engine.other(**scripted(Script(Failed(FailureCode.TIMEOUT, "too slow"))))
    stop = threading.Event()
    stop.set()
    record = rig.engine.auto_resume(rig.run(ONE), AutoResume(3, stop=stop, say=lambda _: None))
    assert record.status == RunStatus.FAILED_RESUMABLE
    assert not rig.events("run_auto_resumed")
