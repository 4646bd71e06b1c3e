"""From a tick's report to the metrics of dispatcher.md 33. Counting never fails a tick and decides nothing."""

from __future__ import annotations

from dispatcher.metrics import Metrics
from dispatcher.policy import Action
from dispatcher.tick import TickReport

_RESULTS = {Action.FRESH: "fresh", Action.RESUME: "resume"}


def count(metrics: Metrics, report: TickReport, ended: float) -> None:
    """Take one tick over; ``ended`` is its end as Unix time."""
    result = "failed" if not report.complete else "degraded" if report.degraded else "ok"
    metrics.count("pointsman_ticks_total", result=result)
    metrics.observe("pointsman_tick_seconds", report.seconds)
    for phase, seconds in report.phases.items():
        metrics.observe("pointsman_tick_phase_seconds", seconds, phase=phase)
    if report.complete:
        metrics.set("pointsman_tick_last_complete_timestamp_seconds", ended)
    for each in report.decided:
        decision, board = each.decision, each.key[0]
        code = decision.reason.value if decision.reason else ""
        metrics.count("pointsman_decisions_total", board=board, action=decision.action.value, code=code)
        if decision.action in _RESULTS:
            metrics.count("pointsman_run_starts_total", board=board, kind=_RESULTS[decision.action])
    for name, values in report.gauges.items():
        metrics.replace(name, values)
