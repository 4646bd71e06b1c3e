"""What a change of status does to the other columns of a run: engine.md 1.4 as a pure function.

Called by ``runs.py`` inside the one setter. It takes values and returns values; it reads no clock and no store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from engine.events import EventType, NewEvent
from engine.failures import FailureCode
from engine.states import (
    TRANSITIONS,
    RunStatus,
    carries_failure_code,
    carries_pending_question,
    counts_as_outcome,
    is_ended,
    is_paused,
)
from engine.store.changes import Transition


@dataclass(frozen=True, slots=True)
class StatusColumns:
    """The columns that only the one setter writes."""

    status: str
    failure_code: str
    error: str
    end_reason: str
    continuation: str
    outcome_seq: int
    finished_at: datetime | None
    queued_at: datetime | None
    retry_after_at: datetime | None
    explicit_resume_required: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns afterwards; ``numbered``: it takes a store sequence; ``drops_question``: none can be carried."""

    columns: StatusColumns
    numbered: bool
    drops_question: bool


MATCHING_EVENT = MappingProxyType(
    {
        RunStatus.RUNNING: EventType.RUN_RESUMED,
        RunStatus.PAUSED_WAITING_HUMAN: EventType.RUN_PAUSED,
        RunStatus.PAUSED_OPERATOR: EventType.RUN_PAUSED,
        RunStatus.FINISHED: EventType.RUN_FINISHED,
        RunStatus.FAILED: EventType.RUN_FAILED,
        RunStatus.FAILED_RESUMABLE: EventType.RUN_FAILED,
        RunStatus.CANCELLED: EventType.RUN_CANCELLED,
    }
)
"""status -> the event that reports it; being queued is reported by the event that caused it."""


def check_allowed(to: RunStatus, from_statuses: Iterable[RunStatus]) -> None:
    """Raise ValueError, a programming error, for an empty set or a step that ``TRANSITIONS`` does not know."""
    expected = tuple(from_statuses)
    wrong = [status for status in expected if to not in TRANSITIONS[status]]
    if wrong or not expected:
        raise ValueError(f"no change from {', '.join(wrong) or 'nothing'} to {to}")


def plan_change(now: StatusColumns, change: Transition, at: datetime) -> Plan:
    """Every side effect of section 1.4 for a change that was found allowed."""
    to = change.to
    real = now.status != to
    outcome = real and counts_as_outcome(to)
    columns = StatusColumns(
        status=to,
        failure_code=_code(now, change, real),
        error=_error(now, change, real),
        end_reason=_reason(now, change, real),
        continuation=change.continuation or ("" if real else now.continuation),
        outcome_seq=now.outcome_seq + outcome,
        finished_at=(at if real else now.finished_at or at) if is_ended(to) else None,
        queued_at=at if to == RunStatus.QUEUED else now.queued_at,
        retry_after_at=_retry_after(now, change, real, at),
        explicit_resume_required=_explicit(now, change),
    )
    return Plan(columns, outcome or (real and is_paused(to)), not carries_pending_question(to))


def reported(change: Transition, came_from: str) -> tuple[NewEvent, ...]:
    """The events of the change, with the one that reports the status added when the caller gave none."""
    events = change.written.events
    wanted = MATCHING_EVENT.get(change.to)
    if wanted is None or came_from == change.to or any(event.type == wanted for event in events):
        return events
    return (*events, NewEvent(wanted, data=_event_data(change)))


def _event_data(change: Transition) -> dict[str, object]:
    if change.to == RunStatus.CANCELLED:
        return {"reason": change.error or change.end_reason}
    if not carries_failure_code(change.to):
        return {}
    follows = "resumable" if change.to == RunStatus.FAILED_RESUMABLE else "rewindable"
    return {"error": change.error, "code": change.failure_code, follows: True}


def _code(now: StatusColumns, change: Transition, real: bool) -> str:
    if not carries_failure_code(change.to):
        return ""
    default = FailureCode.CANCELLED if change.to == RunStatus.CANCELLED else ""
    return change.failure_code or ("" if real else now.failure_code) or default


def _error(now: StatusColumns, change: Transition, real: bool) -> str:
    if change.to == RunStatus.RUNNING:
        return ""
    return change.error if real else change.error or now.error


def _reason(now: StatusColumns, change: Transition, real: bool) -> str:
    if not carries_failure_code(change.to):
        return ""
    return change.end_reason if real else now.end_reason or change.end_reason


def _retry_after(now: StatusColumns, change: Transition, real: bool, at: datetime) -> datetime | None:
    if change.retry_after > 0:
        return at + timedelta(seconds=change.retry_after)
    return None if real else now.retry_after_at


def _explicit(now: StatusColumns, change: Transition) -> bool:
    if change.to == RunStatus.RUNNING:
        return False
    return change.explicit_resume or now.explicit_resume_required
