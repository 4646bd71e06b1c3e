"""The ledger's rows as frozen values, as the rest of the dispatcher sees them (dispatcher.md 3).

Field names are those of ``tables``; instants are aware UTC. A record is a look at one moment: whoever wants to change
something calls a verb of ``cards``, ``outcomes`` or ``daemon_rows``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from engine.run import Owner

Key = tuple[str, str]
"""(board, card id): how a card is addressed over all boards."""


class ClaimState(StrEnum):
    """What a claim is for."""

    LIVE = "live"
    """A run executes, or a start is under way."""
    RETRYING = "retrying"
    """Kept between attempts; no slot."""
    PARKED = "parked"
    """Kept while a person is awaited; no owner process."""


class Follows(StrEnum):
    """What an outcome leads to, decided once at point E4."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRY = "retry"
    GAVE_UP = "gave_up"
    PARKED = "parked"
    NOTHING = "nothing"
    """Somebody else's run paused: the card is left as it is."""


FAILURES = frozenset({Follows.FAILED, Follows.GAVE_UP})
"""What counts for the board's breaker, and waits while it is open."""


@dataclass(frozen=True, slots=True)
class Link:
    """One card and the run it points at. ``attempts`` counts since the last reset, ``epoch`` outlives the claims."""

    board: str
    card_id: str
    number: int = 0
    last_run: str = ""
    previous_run: str = ""
    ours: bool = False
    attempts: int = 0
    epoch: int = 0
    expected_column: str = ""
    column_sequence: int = 0
    handled_sequence: int = 0
    workspace: str = ""
    bot: str = ""

    @property
    def key(self) -> Key:
        """The card's address."""
        return self.board, self.card_id


@dataclass(frozen=True, slots=True)
class Claim:
    """Who owns a card; ``run_id`` is empty until point S5."""

    board: str
    card_id: str
    state: ClaimState
    epoch: int
    run_id: str
    owner: Owner
    claimed_at: datetime

    @property
    def key(self) -> Key:
        """The card's address."""
        return self.board, self.card_id


RESUME = "resume"
"""The kind of a start that goes on with a run."""
OWED = "owed"
"""The point of a start that a person asked for by moving the card in, and that was broken off: it is made again."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A start under way; ``origin`` is the column that the card was picked from."""

    board: str
    card_id: str
    run_id: str
    kind: str
    instance: str
    point: str
    origin: str
    attended: bool
    opened_at: datetime

    @property
    def key(self) -> Key:
        """The card's address."""
        return self.board, self.card_id


@dataclass(frozen=True, slots=True)
class Settlement:
    """One outcome being carried onto its card."""

    board: str
    card_id: str
    run_id: str
    outcome: int
    follows: Follows
    status: str
    code: str
    to_column: str
    moved: bool
    commented: bool
    closed: bool
    opened_at: datetime

    @property
    def key(self) -> Key:
        """The card's address."""
        return self.board, self.card_id


@dataclass(frozen=True, slots=True)
class Retry:
    """The next attempt of a card."""

    board: str
    card_id: str
    run_id: str
    attempt: int
    code: str
    cause: str
    ladder: str
    scheduled_at: datetime
    not_before: datetime
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class Park:
    """A card that waits for a person. ``facts`` is the JSON text that fills the reason's template."""

    board: str
    card_id: str
    run_id: str
    reason: str
    column: str
    seen: bool
    outcome: int
    question: str
    facts: str
    since: datetime

    @property
    def key(self) -> Key:
        """The card's address."""
        return self.board, self.card_id


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The stamp of a ladder that is used up."""

    board: str
    card_id: str
    run_id: str
    attempts: int
    code: str
    error: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PendingMove:
    """A move of ours that no read has shown yet."""

    board: str
    card_id: str
    origin: str
    to: str
    why: str
    effect_id: str
    attempts: int
    since: datetime
    next_at: datetime


CLOSED = "closed"
"""The state of a breaker that only counts; a snapshot leaves it out."""
COUNTING = "counting"
"""The state of one that only counts and that every tick compares with what it read: a snapshot has it."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """A circuit breaker: ``closed`` or ``counting`` while it only counts, ``open`` until ``until``.

    ``about`` is the card whose start is the trial of a board, or a card's facts while wake-ups of it are counted.
    """

    scope: str
    name: str
    cause: str
    count: int
    state: str
    window_start: datetime
    until: datetime | None
    about: str = ""


@dataclass(frozen=True, slots=True)
class IdleReason:
    """Why a card does not run."""

    board: str
    card_id: str
    code: str
    text: str
    unblock: str
    facts: str
    since: datetime


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What people asked of the daemon."""

    state: str
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card document shows of the ledger: the pointer, the claim, the idle reason."""

    last_run: str = ""
    claim: Claim | None = None
    idle: IdleReason | None = None
    attempts: int = 0


T = TypeVar("T")


def _outside(rows: dict[Key, T], boards: frozenset[str]) -> dict[Key, T]:
    return {key: row for key, row in rows.items() if key[0] not in boards}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything under way, read in one transaction at one moment; idle cards cost nothing here."""

    links: dict[Key, Link] = field(default_factory=dict)
    claims: dict[Key, Claim] = field(default_factory=dict)
    intents: dict[Key, Intent] = field(default_factory=dict)
    settlements: dict[Key, Settlement] = field(default_factory=dict)
    retries: dict[Key, Retry] = field(default_factory=dict)
    parks: dict[Key, Park] = field(default_factory=dict)
    give_ups: dict[Key, GiveUp] = field(default_factory=dict)
    pending: dict[Key, PendingMove] = field(default_factory=dict)
    breakers: dict[tuple[str, str], Breaker] = field(default_factory=dict)
    desired: DesiredState | None = None
    damaged: dict[Key, str] = field(default_factory=dict)
    """Cards of which a row cannot be read, and why: none of their rows is here."""

    def copy(self) -> Snapshot:
        """The same look with mappings of its own."""
        return Snapshot(
            links=dict(self.links),
            claims=dict(self.claims),
            intents=dict(self.intents),
            settlements=dict(self.settlements),
            retries=dict(self.retries),
            parks=dict(self.parks),
            give_ups=dict(self.give_ups),
            pending=dict(self.pending),
            breakers=dict(self.breakers),
            desired=self.desired,
            damaged=dict(self.damaged),
        )

    def without(self, boards: frozenset[str]) -> Snapshot:
        """The same without the cards of these boards."""
        if not boards:
            return self
        return replace(
            self,
            links=_outside(self.links, boards),
            claims=_outside(self.claims, boards),
            intents=_outside(self.intents, boards),
            settlements=_outside(self.settlements, boards),
            retries=_outside(self.retries, boards),
            parks=_outside(self.parks, boards),
            give_ups=_outside(self.give_ups, boards),
            pending=_outside(self.pending, boards),
            damaged=_outside(self.damaged, boards),
        )

    def leave_out_damaged(self) -> None:
        """Of a card with a row that cannot be read nothing is believed."""
        for rows in (
            self.claims,
            self.intents,
            self.settlements,
            self.retries,
            self.parks,
            self.give_ups,
            self.pending,
        ):
            for key in self.damaged.keys() & rows.keys():
                del rows[key]

    def active(self) -> frozenset[Key]:
        """Cards with a claim, an open settlement, a park, a retry or a pending move."""
        return frozenset().union(self.claims, self.settlements, self.parks, self.retries, self.pending)
