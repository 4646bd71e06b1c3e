"""When the next attempt is due: pure instants from the failure-code table and the settings (dispatcher.md 12).

``settle`` asks at point E4 and after a launch failure. It keeps nothing: the due time becomes a row of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.failures import FailureCode, Ladder, row_of

STALL = "stall"
"""The interrupt cause that waits by the ladder; every other interrupt is due at once."""
GIVES_BACK = frozenset({"shutdown", "lease_lost", "board_removed", "external_move"})
"""Interrupt causes that give their attempt back."""

_LARGEST_EXPONENT = 10
_USAGE_AFTER_RESET = 60.0
_USAGE_UNKNOWN = 900.0


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """``retry`` of the configuration; seconds."""

    max_attempts: int = 10
    base: float = 10.0
    cap: float = 300.0
    sandbox: Sequence[float] = (60.0, 180.0, 300.0, 3600.0)


@dataclass(frozen=True, slots=True)
class Wait:
    """How long from now, in seconds, and by which ladder."""

    seconds: float
    ladder: Ladder


def wait_after(attempts: int, settings: RetrySettings) -> float:
    """Seconds after the ``attempts``-th counted attempt: base doubled each time, never above the cap."""
    doubled = settings.base * 2.0 ** min(max(attempts - 1, 0), _LARGEST_EXPONENT)
    return min(doubled, settings.cap)


def next_wait(code: str, attempts: int, cause: str, settings: RetrySettings) -> Wait:
    """The wait of a failed run: its code's ladder; an interrupt is due at once, except by a stall."""
    ladder = row_of(code).delay
    if ladder is Ladder.AT_ONCE and not (code == FailureCode.INTERRUPTED and cause == STALL):
        return Wait(0.0, ladder)
    if ladder is Ladder.SANDBOX:
        rungs = settings.sandbox
        return Wait(rungs[min(max(attempts, 1), len(rungs)) - 1], ladder)
    if ladder is Ladder.USAGE:
        return Wait(_USAGE_UNKNOWN, ladder)
    return Wait(wait_after(attempts, settings), Ladder.LADDER)


def due_at(now: datetime, wait: Wait, reset_at: datetime | None = None) -> datetime:
    """The instant of the next attempt; a known reset time wins when it is later."""
    due = now + timedelta(seconds=wait.seconds)
    if reset_at is None:
        return due
    if wait.ladder is Ladder.USAGE:
        return reset_at + timedelta(seconds=_USAGE_AFTER_RESET)
    return max(due, reset_at)


def counted(attempts: int, cause: str) -> int:
    """The attempts that stay counted after an interrupt by ``cause``: some give theirs back, none below zero."""
    return max(0, attempts - 1) if cause in GIVES_BACK else attempts
