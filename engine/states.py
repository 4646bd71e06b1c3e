"""The statuses of a run, what may follow what, and the questions that callers ask about a status.

A leaf: it imports nothing of ours but ``errors``. ``store/runs.py`` is the only writer of statuses and checks every
write against ``TRANSITIONS``; everybody else asks a predicate and never spells a set of statuses. Every predicate is
total and answers False for a value that it does not know (engine.md 1.1 to 1.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class RunStatus(StrEnum):
    """The eight values that writers write; readers must survive any other text."""

    QUEUED = "queued"
    """Stored and waiting for whoever delivers it; no process works on it, no lock is held."""
    RUNNING = "running"
    """Claimed: a process owns it, or its owner died and nobody has promoted it yet."""
    PAUSED_WAITING_HUMAN = "paused_waiting_human"
    """A question waits; only answers continue it."""
    PAUSED_OPERATOR = "paused_operator"
    """Somebody, or a cap with that policy, paused it; an explicit resume continues it."""
    FINISHED = "finished"
    """Reached ``done``. Final."""
    FAILED = "failed"
    """Ended for good by the graph, by a start that could not happen, or without a checkpoint. Final."""
    FAILED_RESUMABLE = "failed_resumable"
    """Stopped with its checkpoint; the failure code says who may resume it."""
    CANCELLED = "cancelled"
    """A person stopped it; a person may resume it from its checkpoint."""


_S = RunStatus

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = MappingProxyType(
    {
        _S.QUEUED: frozenset(
            {_S.QUEUED, _S.RUNNING, _S.CANCELLED, _S.FAILED, _S.FAILED_RESUMABLE, _S.PAUSED_OPERATOR}
            | {_S.PAUSED_WAITING_HUMAN}
        ),
        _S.RUNNING: frozenset(
            {_S.PAUSED_WAITING_HUMAN, _S.PAUSED_OPERATOR, _S.FINISHED, _S.FAILED, _S.FAILED_RESUMABLE, _S.CANCELLED}
        ),
        _S.PAUSED_WAITING_HUMAN: frozenset({_S.RUNNING, _S.QUEUED, _S.CANCELLED, _S.PAUSED_OPERATOR}),
        _S.PAUSED_OPERATOR: frozenset({_S.RUNNING, _S.QUEUED, _S.CANCELLED, _S.PAUSED_OPERATOR}),
        _S.FINISHED: frozenset(),
        _S.FAILED: frozenset({_S.PAUSED_OPERATOR}),
        _S.FAILED_RESUMABLE: frozenset({_S.RUNNING, _S.QUEUED, _S.CANCELLED, _S.FAILED_RESUMABLE, _S.PAUSED_OPERATOR}),
        _S.CANCELLED: frozenset({_S.RUNNING, _S.QUEUED, _S.PAUSED_OPERATOR, _S.CANCELLED}),
    }
)
"""status -> statuses that may follow (engine.md 1.3). A rewrite of the same status is listed where it is allowed."""

RESUMABLE_WITHOUT_ANSWERS = frozenset({_S.FAILED_RESUMABLE, _S.CANCELLED, _S.PAUSED_OPERATOR, _S.QUEUED})
"""What a claim without answers may start from."""
RESUMABLE_WITH_ANSWERS = frozenset({_S.PAUSED_WAITING_HUMAN, _S.QUEUED})
"""What a claim with answers may start from."""

_KNOWN = frozenset(_S)
_ENDED = frozenset({_S.FINISHED, _S.FAILED, _S.FAILED_RESUMABLE, _S.CANCELLED})
_FINAL = frozenset({_S.FINISHED, _S.FAILED})
_PAUSED = frozenset({_S.PAUSED_WAITING_HUMAN, _S.PAUSED_OPERATOR})
_PERSON_RESUMES = frozenset({_S.PAUSED_WAITING_HUMAN, _S.PAUSED_OPERATOR, _S.FAILED_RESUMABLE, _S.CANCELLED})
_TAKES_SLOT = frozenset({_S.QUEUED, _S.RUNNING})
_CARRIES_CODE = frozenset({_S.FAILED, _S.FAILED_RESUMABLE, _S.CANCELLED})
_CARRIES_QUESTION = frozenset({_S.QUEUED, _S.PAUSED_WAITING_HUMAN})
_CANCELLABLE = frozenset(set(_S) - {_S.FINISHED, _S.FAILED, _S.CANCELLED})
_REWINDABLE = frozenset(set(_S) - {_S.RUNNING, _S.FINISHED})


def known(status: str) -> bool:
    """Whether this build knows the status; an unknown one is shown and acted on by nobody."""
    return status in _KNOWN


def is_ended(status: str) -> bool:
    """What a poller waits for."""
    return status in _ENDED


def is_final(status: str) -> bool:
    """No resume can continue the run."""
    return status in _FINAL


def is_paused(status: str) -> bool:
    """Waits for a person."""
    return status in _PAUSED


def is_running(status: str) -> bool:
    """Claimed by an owner, alive or dead."""
    return status == _S.RUNNING


def can_person_resume(status: str) -> bool:
    """``resume`` accepts it (answers may be needed; ``running`` needs ``--force-stale`` and is not meant here)."""
    return status in _PERSON_RESUMES


def requires_answers(status: str) -> bool:
    """Only answers continue it."""
    return status == _S.PAUSED_WAITING_HUMAN


def can_machine_resume(status: str) -> bool:
    """A machine may resume it if the failure code's row allows."""
    return status == _S.FAILED_RESUMABLE


def can_be_cancelled(status: str) -> bool:
    """``cancel`` accepts it."""
    return status in _CANCELLABLE


def can_be_rewound(status: str) -> bool:
    """``rewind`` accepts it (engine.md 8.1)."""
    return status in _REWINDABLE


def can_be_deleted(status: str) -> bool:
    """``delete`` accepts it when the lock is free."""
    return status in _ENDED


def takes_slot(status: str) -> bool:
    """Counts against a cap of executing runs."""
    return status in _TAKES_SLOT


def carries_failure_code(status: str) -> bool:
    """May have a ``failure_code``; every other status hides one."""
    return status in _CARRIES_CODE


def carries_pending_question(status: str) -> bool:
    """May keep a pending question."""
    return status in _CARRIES_QUESTION


def counts_as_outcome(status: str) -> bool:
    """Entering it for real grows ``outcome_seq`` (engine.md 1.4)."""
    return status in _ENDED


def holds_credential(status: str) -> bool:
    """An attempt under way may hold a model credential."""
    return status == _S.RUNNING
