"""May the line go on to this node? Stops first, then the budget.

Called by ``step`` before a node runs and by ``loop`` after a router. Each gate returns the ending that it demands, or
None. Implements engine.md 1.7, 10.2, 10.3 and the precedence of stops.
"""

from __future__ import annotations

from engine.errors import EngineError
from engine.events import EventType
from engine.failures import FailureCode
from engine.runtime.attempt import Attempt, Line
from engine.runtime.budget import Grace, GracePolicy, Refused, after_router, before_node
from engine.runtime.ending import Ending, failed_resumable, over_budget, paused_operator, stopped
from engine.runtime.stop import heed

NO_GRACE = GracePolicy()


def check_stop(line: Line, node: str) -> Ending | None:
    """A stop or a pause that was asked for, or an attempt whose time is up: it ends before ``node`` runs.

    The run's row is asked here: what was asked for before the node before ended is honoured at this very boundary,
    however lately (engine.md 1.7). In a branch the watcher does it.
    """
    attempt = line.attempt
    if not line.branch:
        _look_at_row(attempt)
    cause = attempt.stop.cause
    if cause is not None:
        return stopped(node, cause)
    if attempt.stop.pause_requested and not line.branch:
        return paused_operator(node, {})
    if attempt.deadline is not None and attempt.clock.monotonic() >= attempt.deadline:
        return failed_resumable(node, FailureCode.TIMEOUT, f"--timeout passed before node {node}")
    return _check_daily_cap(line, node)


def _look_at_row(attempt: Attempt) -> None:
    try:
        heed(attempt.stop.root, attempt.store.runs.stop_request(attempt.run_id), attempt.epoch)
    except EngineError:
        return  # the boundary commit sees it too, and is what fails when the store cannot be read


def _check_daily_cap(line: Line, node: str) -> Ending | None:
    limit = line.attempt.settings.max_cost_per_day_usd
    if not limit:
        return None
    today = line.attempt.clock.now().date()
    spent = line.attempt.store.spend.on(today)
    if spent < limit:
        return None
    data = {"reason": "cost_cap_daily", "spent_usd": spent, "limit_usd": limit, "date": today.isoformat()}
    return paused_operator(node, data)


def check_budget(line: Line, node: str) -> Ending | None:
    """The budget before a node: refused from 90 percent, or let through under grace."""
    caps = line.attempt.caps
    if not caps.limited:
        return None
    return _answer(line, node, before_node(line.state.spent(), caps, grace_of(line)))


def check_overrun(line: Line, router: str) -> Ending | None:
    """The budget after a router: an overrun is acted on at once, anchored on the router whose choice is stored."""
    caps = line.attempt.caps
    if not caps.limited:
        return None
    return _answer(line, router, after_router(line.state.spent(), caps, grace_of(line)), completed=True)


def grace_of(line: Line) -> GracePolicy:
    """The grace that this line may use: none in a branch."""
    return NO_GRACE if line.branch else line.attempt.grace


def _answer(line: Line, node: str, verdict: Grace | Refused, *, completed: bool = False) -> Ending | None:
    if isinstance(verdict, Refused):
        pause = line.attempt.caps.pause_on_exceeded and not line.branch
        return over_budget(node, verdict, pause=pause, completed=completed)
    for reading in verdict.axes:
        key = (node, str(reading.axis))
        if key not in line.state.graced:
            line.state.graced.add(key)
            data = {"dimension": str(reading.axis), "used": reading.used, "limit": reading.limit}
            line.state.note(EventType.BUDGET_EXIT_GRACE, node, **data)
    return None
