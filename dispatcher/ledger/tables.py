"""The dispatcher's own tables: what links cards to runs and what it must not forget (dispatcher.md 3).

SQLModel classes on a MetaData of their own; statements use the same tables through ``schema``. The store gets them from
``engine/store/migrations/versions/0003_ledger.py``; a test proves all three equal.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from dispatcher.ledger.instants import Instant


class LedgerTable(SQLModel, registry=registry()):
    """What all tables of this room share: their MetaData."""


def _instant(nullable: bool = False) -> datetime:
    made: datetime = Field(sa_type=Instant, nullable=nullable)
    return made


class CardLink(LedgerTable, table=True):
    """One card that was ever claimed or pointed at a run; ``epoch`` outlives the claims."""

    __tablename__ = "card_link"
    __table_args__ = (Index("card_link_last_run", "last_run"),)
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    number: int
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


class ClaimRow(LedgerTable, table=True):
    """Who owns a card; no row = unclaimed. ``run_id`` is stamped at point S5."""

    __tablename__ = "claim"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    state: str
    epoch: int
    run_id: str = ""
    instance: str = ""
    host: str = ""
    boot: str = ""
    pid: int = 0
    start_ticks: int = 0
    claimed_at: datetime = _instant()


class IntentRow(LedgerTable, table=True):
    """A start under way: planned run, kind, the point reached (dispatcher.md 7)."""

    __tablename__ = "intent"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    run_id: str
    kind: str
    instance: str
    point: str
    origin: str = ""
    attended: bool = False
    opened_at: datetime = _instant()


class SettlementRow(LedgerTable, table=True):
    """One outcome carried onto its card; kept for ever (dispatcher.md 8)."""

    __tablename__ = "settlement"
    __table_args__ = (
        Index("settlement_open", "closed", sqlite_where=text("closed = 0"), postgresql_where=text("closed = false")),
    )
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    outcome: int = Field(primary_key=True)
    follows: str
    status: str
    code: str = ""
    to_column: str = ""
    moved: bool = False
    commented: bool = False
    closed: bool = False
    opened_at: datetime = _instant()


class RetryRow(LedgerTable, table=True):
    """The next attempt of a card; ``run_id`` is empty for a launch that never reached a record."""

    __tablename__ = "retry"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    run_id: str = ""
    attempt: int
    code: str
    cause: str = ""
    ladder: str
    scheduled_at: datetime = _instant()
    not_before: datetime = _instant()
    sequence: int = 0


class ParkRow(LedgerTable, table=True):
    """A card that waits for a person; released ones stay as history."""

    __tablename__ = "park"
    __table_args__ = (
        Index(
            "park_open",
            "board",
            "card_id",
            unique=True,
            sqlite_where=text("released = ''"),
            postgresql_where=text("released = ''"),
        ),
    )
    id: int | None = Field(default=None, primary_key=True)
    board: str
    card_id: str
    run_id: str
    reason: str
    column: str = ""
    seen: bool = False
    outcome: int = 0
    question: str = ""
    facts: str = "{}"
    since: datetime = _instant()
    released: str = ""
    released_at: datetime | None = _instant(nullable=True)


class GiveUpRow(LedgerTable, table=True):
    """The stamp of a ladder that is used up."""

    __tablename__ = "give_up"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    run_id: str = ""
    attempts: int
    code: str
    error: str
    at: datetime = _instant()


class PendingMoveRow(LedgerTable, table=True):
    """A move of ours that no read has shown yet."""

    __tablename__ = "pending_move"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    origin: str
    to: str
    why: str
    effect_id: str = ""
    attempts: int = 0
    since: datetime = _instant()
    next_at: datetime = _instant()


class BreakerRow(LedgerTable, table=True):
    """A circuit breaker that is counting or open."""

    __tablename__ = "breaker"
    scope: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    cause: str = ""
    count: int = 0
    state: str = "closed"
    window_start: datetime = _instant()
    until: datetime | None = _instant(nullable=True)
    about: str = ""


class IdleReasonRow(LedgerTable, table=True):
    """Why an eligible card does not run, rewritten only when the code or its facts change."""

    __tablename__ = "idle_reason"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    code: str
    text: str
    unblock: str
    facts: str = ""
    since: datetime = _instant()


class DesiredRow(LedgerTable, table=True):
    """What people asked of the daemon; one row."""

    __tablename__ = "desired_state"
    id: int = Field(default=1, primary_key=True)
    state: str
    by: str
    since: datetime = _instant()


class HookMark(LedgerTable, table=True):
    """A hook that completed for one attempt: run once, also over a crash."""

    __tablename__ = "hook_mark"
    run_id: str = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    hook: str = Field(primary_key=True)
    result: str
    at: datetime = _instant()


class Sighting(LedgerTable, table=True):
    """When a run's dead owner was first noticed while its children still held the lock (dispatcher.md 10)."""

    __tablename__ = "orphan_sighting"
    run_id: str = Field(primary_key=True)
    seen_at: datetime = _instant()
    stopped: bool = False


class ForgeLimitRow(LedgerTable, table=True):
    """What a forge allows one credential, as text (connectors.md 13)."""

    __tablename__ = "forge_limit"
    credential: str = Field(primary_key=True)
    state: str


class ForgeColumnRow(LedgerTable, table=True):
    """The forge's own id of a column's label, and under which configured name it was found (connectors.md 4)."""

    __tablename__ = "forge_column"
    board: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    configured: str
    label_id: str
    label_name: str


class ForgeCardRow(LedgerTable, table=True):
    """Where a card of a forge was seen last and who put it there; a move of ours under way; our status comment."""

    __tablename__ = "forge_card"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    column: str = ""
    by: str = ""
    mover: str = ""
    run_id: str = ""
    sequence: int = 0
    since: datetime = _instant()
    origin: str = ""
    target: str = ""
    note: str = ""
    entrant: str = ""
    pinned: str = ""


class ForgeClaimRow(LedgerTable, table=True):
    """What shows a claim of ours on a forge: its comment, or its label; the intent first (connectors.md 19)."""

    __tablename__ = "forge_claim"
    board: str = Field(primary_key=True)
    card_id: str = Field(primary_key=True)
    what: str = Field(primary_key=True)
    comment_id: str = ""
    instance: str = ""
    epoch: int = 0
    state: str = ""
    until: datetime = _instant()


class ForgeStoreRow(LedgerTable, table=True):
    """As whom this store claims cards: a random id, made once (connectors.md 19)."""

    __tablename__ = "forge_store"
    name: str = Field(primary_key=True)
    identity: str = ""


class ForgeMirrorRow(LedgerTable, table=True):
    """A card that was copied from a forge: its copy, the column that both agreed on last, what was copied."""

    __tablename__ = "forge_mirror"
    board: str = Field(primary_key=True)
    source_id: str = Field(primary_key=True)
    card_id: str = ""
    column: str = ""
    version: str = ""


class ForgeDeliveryRow(LedgerTable, table=True):
    """A webhook delivery that came in; its id is kept for a week (connectors.md 15)."""

    __tablename__ = "forge_delivery"
    forge: str = Field(primary_key=True)
    delivery_id: str = Field(primary_key=True)
    board: str = ""
    event: str = ""
    received_at: datetime = _instant()


METADATA = LedgerTable.metadata
"""The tables of this room, for the migration's test."""
