"""From a tick's report to the metrics of dispatcher.md 33. Counting never fails a tick and decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

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
    _gauges(metrics, report.state)


def _gauges(metrics: Metrics, state: Mapping[str, Any]) -> None:
    slots = state.get("slots", {})
    metrics.replace(
        "pointsman_slots", {(name,): float(slots[name]) for name in ("used", "max", "over") if name in slots}
    )
    held = Counter((str(each["board"]), str(each["code"])) for each in state.get("held", ()))
    metrics.replace("pointsman_cards_held", {labels: float(n) for labels, n in held.items()})
    parks = Counter((str(each["board"]), str(each["cause"])) for each in state.get("parked", ()))
    metrics.replace("pointsman_parks", {labels: float(n) for labels, n in parks.items()})
    retries = Counter((str(each["board"]),) for each in state.get("retries", ()))
    metrics.replace("pointsman_retries_waiting", {labels: float(n) for labels, n in retries.items()})
    pending = Counter((str(each["board"]),) for each in state.get("pending_moves", ()))
    metrics.replace("pointsman_pending_moves", {labels: float(n) for labels, n in pending.items()})
    cards: dict[tuple[str, ...], float] = {
        (str(board["name"]), column): float(n)
        for board in state.get("boards", ())
        for column, n in board.get("cards", {}).items()
    }
    metrics.replace("pointsman_cards", cards)
