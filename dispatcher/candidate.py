"""Everything that decides about one card, as plain frozen facts (dispatcher.md 5, 6).

Built by ``view.py`` from what the tick read, judged by ``gates``. A leaf above ``policy``: no conditions, no reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from connectors.card import Card
from dispatcher.policy import RunFacts
from dispatcher.reasons import Facts, Reason


class Desired(StrEnum):
    """What people asked of the daemon; stored, and in force after a new start (dispatcher.md 24)."""

    RUNNING = "running"
    PAUSED = "paused"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True)
class DaemonFacts:
    """What holds every card: stop, desired state, store, money, slots. Money in USD."""

    desired: Desired = Desired.RUNNING
    desired_by: str = ""
    desired_since: str = ""
    stopping_since: str = ""
    store_error: str = ""
    spent: float = 0.0
    spend_limit: float = 0.0
    day: str = ""
    executing: int = 0
    slots: int = 4


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """What holds every card of one board. A mapping that is not None holds, and fills its reason's text."""

    name: str = ""
    eligible: frozenset[str] = frozenset()
    standby: Facts | None = None
    unreadable: Facts | None = None
    partial: Facts | None = None
    degraded: Facts | None = None
    breaker: Facts | None = None
    throttled: Facts | None = None
    refused: Facts | None = None
    outside_hours: Facts | None = None
    wip_full: Facts | None = None


@dataclass(frozen=True, slots=True)
class Blocker:
    """One card that this one waits for: how it is called, and where it is (empty = satisfied), or how it was lost."""

    label: str
    column: str = ""
    error: str = ""
    lost: str = ""

    def told(self) -> str:
        """As the reason says it."""
        return f"{self.label} ({self.lost})" if self.lost else f"{self.label} in {self.column}"


@dataclass(frozen=True, slots=True)
class Pending:
    """A move of ours that no read has shown yet."""

    origin: str
    to: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class RetryWait:
    """The durable retry row of the card, as far as the gate looks at it."""

    number: int
    maximum: int
    code: str
    due: datetime
    is_due: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """A resolver's refusal: which reason, and its facts."""

    reason: Reason
    facts: Facts


@dataclass(frozen=True, slots=True)
class Full:
    """A cap that is used up: which one, whose, how much of what."""

    reason: Reason
    name: str
    n: int
    limit: int


class Candidate(NamedTuple):
    """Everything that decides about one card, read before anything is written. Each tick makes one of every card."""

    card: Card
    daemon: DaemonFacts
    board: BoardFacts
    run: RunFacts
    gone: Facts | None = None
    moved_away: Facts | None = None
    parked: bool = False
    released: bool = False
    pending: Pending | None = None
    breaker: Facts | None = None
    claim_uncertain: Facts | None = None
    claimed_elsewhere: Facts | None = None
    run_stopping: Facts | None = None
    gave_up: Facts | None = None
    consumed: bool = False
    """Whether the gesture has had its start, which failed: it resets no count and shortens no wait."""
    retry: RetryWait | None = None
    blockers: tuple[Blocker, ...] = ()
    cycle: str = ""
    untrusted: Facts | None = None
    body_changed: Facts | None = None
    routing: Problem | None = None
    bot: Problem | None = None
    caps: tuple[Full, ...] = ()
