"""``loop_budget_guard``: declines a pass that the budget would not bear, or leaves the budget to stop the run."""

from __future__ import annotations

import pytest

from engine.failures import FailureCode
from engine.states import RunStatus
from tests.kit.engine import Rig

LOOP = """
compute work:
  expr:
    n: "loop.again.iteration"
compute after:
  expr:
    n: "outputs.work.n"
workflow w:
  loop_budget_guard: {guard}
  budget:
    max_iterations: 10
  entry: work
  work -> work as again(50)
  work -> after
  after -> done
"""


@pytest.mark.parametrize(("guard", "status"), [("on", RunStatus.FINISHED), ("off", RunStatus.FAILED_RESUMABLE)])
def test_the_guard_can_be_switched_off(engine: Rig, guard: str, status: RunStatus) -> None:
    """language.md 6, 7.3: with the guard the run walks out in time, without it the cap refuses the next pass."""
    record = engine.run(LOOP.replace("{guard}", guard))
    assert record.status == status
    assert (record.failure_code == FailureCode.BUDGET_EXCEEDED) is (guard == "off")
    declined = [event for event in engine.events("budget_warning") if event.data.get("reason") == "loop_budget_guard"]
    assert bool(declined) is (guard == "on")
