"""Recovery as a run shows it: spend of failed tries, tries after a refusal to compact, budgets that a person must raise
(engine.md 6.2, 6.3, 6.5, 10.4)."""

from __future__ import annotations

import pytest

from engine.dsl.graph import NodeKind
from engine.failures import FailureCode
from engine.outcome import Completed, Failed
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig, Script, scripted

ONE = """
compute first:
  expr:
    x: "1"
tool t:
  command: `true`
workflow w:
  entry: first
  first -> t
  t -> done
"""
COSTLY = Failed(FailureCode.NETWORK_TRANSIENT, "cut off", tokens=100, cost_usd=2.0)
OVER = Failed(FailureCode.BUDGET_EXCEEDED, "the next call would cost more than is left", cost_usd=4.6)
DONE = Completed({"result": ""}, cost_usd=0.5)


def rig_of(engine: Rig, *outcomes: Completed | Failed) -> tuple[Rig, Script]:
    script = Script(*outcomes)
    return engine.other(**scripted(script, NodeKind.TOOL)), script


def test_the_spend_of_a_failed_try_is_in_the_budget_and_in_the_days_ledger(engine: Rig, clock: FakeClock) -> None:
    """R116: it is no execution, and what follows is added to it."""
    rig, _ = rig_of(engine, COSTLY, DONE)
    assert rig.run(ONE).status == RunStatus.FINISHED
    spent = rig.head().spent
    assert (spent.iterations, spent.tokens, spent.cost_usd) == (2, 100, 2.5)
    assert rig.store.spend.on(clock.now().date()) == 2.5


def test_the_spend_of_a_failure_that_stops_the_run_is_booked_with_it(engine: Rig, clock: FakeClock) -> None:
    """R116: before the exit checkpoint."""
    rig, _ = rig_of(engine, Failed(FailureCode.MODEL_UNAVAILABLE, "gone", cost_usd=2.0))
    assert rig.run(ONE).failure_code == FailureCode.MODEL_UNAVAILABLE
    assert rig.head().spent.cost_usd == 2.0
    assert rig.store.spend.on(clock.now().date()) == 2.0


def test_a_backend_that_cannot_compact_is_tried_again_with_a_warning(
    engine: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """R102, R103: two tries after the first, a warning for each, then the code."""
    rig, script = rig_of(engine, Failed(FailureCode.CONTEXT_LENGTH_EXCEEDED, "too long"))
    record = rig.run(ONE)
    assert (record.status, record.failure_code) == (
        RunStatus.FAILED_RESUMABLE,
        FailureCode.CONTEXT_LENGTH_EXCEEDED,
    )
    assert script.calls == 3
    assert caplog.text.count("cannot compact") == 2


def test_a_budget_pause_that_raises_nothing_is_put_straight_back(engine: Rig) -> None:
    """R112: answered without a raise, the node does not start; the message names axis, consumption and cap."""
    rig, script = rig_of(engine, OVER, DONE)
    assert rig.run(ONE, ask={"max_cost_usd": 5.0}).status == RunStatus.PAUSED_WAITING_HUMAN
    started = rig.events("node_started")[-1].data
    assert (started["kind"], started["recovery_code"]) == ("recovery_pause", FailureCode.BUDGET_EXCEEDED)
    assert started["recovery_reason"]
    record = rig.resume(texts={"acknowledge_recovery": "go on"})
    assert (record.status, record.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.BUDGET_EXCEEDED)
    assert "cost_usd budget: 4.6 of 5 used" in record.error
    assert (script.calls, rig.head().node_id) == (1, "t")


def test_a_budget_pause_that_raises_enough_runs_the_node_again(engine: Rig) -> None:
    """R113: the raise comes with the answer."""
    rig, script = rig_of(engine, OVER, DONE)
    rig.run(ONE, ask={"max_cost_usd": 5.0})
    record = rig.resume(texts={"acknowledge_recovery": "go on"}, ask={"max_cost_usd": 50.0})
    assert (record.status, script.calls) == (RunStatus.FINISHED, 2)
    assert rig.outputs()["t"] == {"result": ""}
