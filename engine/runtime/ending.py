"""How an attempt may end: frozen descriptions of the last commit, and the one function that makes it.

Made by ``step`` and ``loop``, written by ``conclude``. What the anchor means in each case is engine.md 3.4; the
texts, events and codes are engine.md 1.3, 1.7, 4.4 and 10.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.checkpoint import Interaction, PendingQuestion
from engine.events import EventType, NewEvent
from engine.failures import FailureCode
from engine.runtime.budget import Refused
from engine.runtime.stop import StopCause, StopKind
from engine.states import RunStatus

BY_PERSON = "person"
"""The ``end_reason`` of a run that somebody stopped (engine.md 1.4)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Where the run stops: the anchor, the status and what the timeline says.

    ``status`` None means that the store has the status already (a cancel from elsewhere) and only the head is saved.
    ``question`` is the interaction to store, ``retry_after`` seconds that a remote asked for, ``head`` further fields
    of the head.
    """

    anchor: str
    status: RunStatus | None
    completed: bool = False
    code: str = ""
    error: str = ""
    reason: str = ""
    events: tuple[NewEvent, ...] = ()
    pending: PendingQuestion | None = None
    question: Interaction | None = None
    retry_after: float = 0.0
    head: Mapping[str, object] = field(default_factory=dict)


def finished(anchor: str) -> Ending:
    """The edge of ``anchor`` led to done."""
    return Ending(anchor, RunStatus.FINISHED, completed=True, events=(NewEvent(EventType.RUN_FINISHED),))


def failed_resumable(anchor: str, code: str, error: str, *, completed: bool = False) -> Ending:
    """The run stopped at ``anchor`` and can be resumed there."""
    data = {"error": error, "code": str(code), "resumable": True}
    event = NewEvent(EventType.RUN_FAILED, anchor, data=data)
    return Ending(anchor, RunStatus.FAILED_RESUMABLE, completed, str(code), error, events=(event,))


def failed(anchor: str, code: str, error: str) -> Ending:
    """The graph ended the run for good at a fail node (engine.md 4.4)."""
    event = NewEvent(EventType.RUN_FAILED, anchor, data={"error": error, "code": str(code), "rewindable": True})
    return Ending(anchor, RunStatus.FAILED, code=str(code), error=error, events=(event,))


def paused_operator(anchor: str, data: Mapping[str, object], *, completed: bool = False) -> Ending:
    """Somebody, or a cap with that policy, pauses the run; ``data`` goes into ``run_paused``."""
    event = NewEvent(EventType.RUN_PAUSED, anchor, data=data)
    return Ending(anchor, RunStatus.PAUSED_OPERATOR, completed, events=(event,))


def over_budget(anchor: str, refused: Refused, *, pause: bool, completed: bool = False) -> Ending:
    """A budget axis refused or overran; ``pause`` is the policy ``on_exceeded: pause``."""
    reading = refused.reading
    data = {"dimension": str(reading.axis), "used": reading.used, "limit": reading.limit}
    exceeded = NewEvent(EventType.BUDGET_EXCEEDED, anchor, data={**data, "hard_limit": refused.hard_limit})
    if pause:
        ending = paused_operator(anchor, {"reason": "budget_cap_run", **exceeded.data}, completed=completed)
    else:
        ending = failed_resumable(anchor, FailureCode.BUDGET_EXCEEDED, refused.message, completed=completed)
    return Ending(
        anchor, ending.status, completed, ending.code, ending.error, ending.reason, (exceeded, *ending.events)
    )


def asked(anchor: str, pending: PendingQuestion, events: tuple[NewEvent, ...], **head: object) -> Ending:
    """A question waits for a person; ``head`` holds further fields of the head."""
    paused = NewEvent(EventType.RUN_PAUSED, anchor)
    return Ending(anchor, RunStatus.PAUSED_WAITING_HUMAN, events=(*events, paused), pending=pending, head=dict(head))


def stopped(anchor: str, cause: StopCause) -> Ending:
    """The stop of engine.md 1.7: a person's cancel, or a machine's interruption."""
    if cause.kind is StopKind.INTERRUPT:
        text = f"interrupted: {cause.reason}"
        data = {"error": text, "code": str(FailureCode.INTERRUPTED), "resumable": True, "interrupted": True}
        events = (
            NewEvent(EventType.RUN_INTERRUPTED, anchor, data={"reason": cause.reason}),
            NewEvent(EventType.RUN_FAILED, anchor, data=data),
        )
        return Ending(anchor, RunStatus.FAILED_RESUMABLE, code=str(FailureCode.INTERRUPTED), error=text, events=events)
    if cause.recorded or cause.kind in (StopKind.LOST, StopKind.SIBLING):
        return Ending(anchor, None)
    event = NewEvent(EventType.RUN_CANCELLED, anchor, data={"reason": cause.reason})
    return Ending(
        anchor,
        RunStatus.CANCELLED,
        code=str(FailureCode.CANCELLED),
        error=f"cancelled: {cause.reason}",
        reason=BY_PERSON,
        events=(event,),
    )
