"""The door of the ledger: consistent looks at its rows, and write transactions. The rows decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from dispatcher.ledger import daemon_rows, needs, outcomes
from dispatcher.ledger.looking import Look, park_of
from dispatcher.ledger.records import (
    CLOSED,
    Breaker,
    CardView,
    GiveUp,
    IdleReason,
    Intent,
    Key,
    Link,
    Park,
    PendingMove,
    Retry,
    Settlement,
    Snapshot,
)
from dispatcher.ledger.rows import Row, claim_of, settlement_of
from dispatcher.ledger.schema import (
    BreakerRow,
    CardLink,
    ClaimRow,
    GiveUpRow,
    IdleReasonRow,
    IntentRow,
    ParkRow,
    PendingMoveRow,
    RetryRow,
    SettlementRow,
)
from engine.store.cursors import Cursor
from engine.store.database import take_sequence
from engine.store.prepared import Among, PreparedRead

T = TypeVar("T")
Transaction = Cursor
"""An open write, as the verbs of this folder take it; nobody else looks inside."""

_CLAIMED, _PENDING, _RETRIES, _INTENTS, _GIVE_UPS = (
    PreparedRead(rows.columns, locking=False) for rows in (ClaimRow, PendingMoveRow, RetryRow, IntentRow, GiveUpRow)
)
_OPEN = PreparedRead(SettlementRow.columns, SettlementRow.c.closed.is_(False), locking=False)
_PARKED = PreparedRead([ParkRow.c[field.name] for field in fields(Park)], ParkRow.c.released == "", locking=False)
_TRIPPED = PreparedRead(BreakerRow.columns, BreakerRow.c.state != CLOSED, locking=False)
_LINKS = Among(CardLink.columns, CardLink.c.card_id)
_WITH_WORKSPACE = PreparedRead(CardLink.columns, CardLink.c.workspace != "", locking=False)
_LINKS_OF_RUNS = Among(CardLink.columns, CardLink.c.last_run)
_CARRIED = Among(
    [SettlementRow.c.run_id, SettlementRow.c.outcome], SettlementRow.c.run_id, SettlementRow.c.closed.is_(True)
)
_CLAIMS = Among(ClaimRow.columns, ClaimRow.c.card_id)
_REASONS = Among(IdleReasonRow.columns, IdleReasonRow.c.card_id)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Monotonic seconds, and who is told how many a write transaction took, the wait for its turn included."""

    now: Callable[[], float]
    note: Callable[[float], None]


@contextmanager
def _measured(stopwatch: Stopwatch, opened: AbstractContextManager[T]) -> Iterator[T]:
    since = stopwatch.now()
    try:
        with opened as inside:
            yield inside
    finally:
        stopwatch.note(stopwatch.now() - since)


class LedgerDatabase(Protocol):
    """What the ledger needs of the store's database."""

    def read(self) -> AbstractContextManager[Connection]:
        """One moment, never waiting for a writer."""
        ...

    def read_raw(self) -> AbstractContextManager[Cursor]:
        """As ``read``, on the driver's cursor."""
        ...

    def write_alone(self) -> AbstractContextManager[Cursor]:
        """Excludes every other writer; committed at the end of the block."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """One commit for all that this thread writes inside."""
        ...

    def version(self) -> int | None:
        """Another number after every commit of anybody; None where that is not known."""
        ...


class Ledger:
    """The dispatcher's rows. Thread-safe as far as the database is; keeps nothing in memory but its last look."""

    def __init__(self, database: LedgerDatabase, stopwatch: Stopwatch | None = None) -> None:
        self.database = database
        self._stopwatch = stopwatch
        self._last: tuple[int, Snapshot] | None = None

    def measured(self, stopwatch: Stopwatch) -> Ledger:
        """The same ledger, whose writes are measured."""
        return Ledger(self.database, stopwatch)

    def write(self) -> AbstractContextManager[Transaction]:
        """A write transaction for the verbs of this folder."""
        return self._timed(self.database.write_alone())

    def together(self) -> AbstractContextManager[None]:
        """One commit for several writes of this thread, also those of a board that lies in this store."""
        return self._timed(self.database.together())

    def _timed(self, opened: AbstractContextManager[T]) -> AbstractContextManager[T]:
        return opened if self._stopwatch is None else _measured(self._stopwatch, opened)

    def next_sequence(self, cursor: Transaction) -> int:
        """The next number of the counter of the whole store, inside an open write."""
        return take_sequence(cursor)

    def snapshot(self) -> Snapshot:
        """Everything under way, and the links of those cards; the caller's own to change."""
        version = self.database.version()
        last = self._last
        if last is None or version is None or last[0] != version:
            last = (version or 0, self._read())
            self._last = None if version is None else last
        return last[1].copy()

    def _read(self) -> Snapshot:
        with self.database.read_raw() as cursor:
            look = Look(cursor)
            found = Snapshot(
                claims=look.cards(_CLAIMED, claim_of),
                intents=look.cards(_INTENTS, lambda row: Intent(**row)),
                settlements=look.cards(_OPEN, settlement_of),
                retries=look.cards(_RETRIES, lambda row: Retry(**row)),
                parks=look.cards(_PARKED, park_of),
                give_ups=look.cards(_GIVE_UPS, lambda row: GiveUp(**row)),
                pending=look.cards(_PENDING, lambda row: PendingMove(**row)),
                breakers={(r["scope"], r["name"]): Breaker(**r) for r in _TRIPPED.sound(cursor, {})[0]},
                desired=daemon_rows.desired(cursor),
                damaged=look.damaged,
            )
            found.leave_out_damaged()
            found.links.update(_links(cursor, found.active()))
            return found

    def links(self, keys: Collection[Key]) -> dict[Key, Link]:
        """The links of those cards that have one."""
        with self.database.read_raw() as cursor:
            return _links(cursor, keys)

    def links_of_runs(self, run_ids: Collection[str]) -> dict[str, Link]:
        """run -> the card that points at it."""
        with self.database.read_raw() as cursor:
            return {row["last_run"]: Link(**row) for row in _LINKS_OF_RUNS.many(cursor, run_ids)}

    def links_with_workspace(self) -> tuple[Link, ...]:
        """The links of every card for which a workspace was made."""
        with self.database.read_raw() as cursor:
            return tuple(Link(**row) for row in _WITH_WORKSPACE.many(cursor, {}))

    def closed_outcomes(self, run_ids: Collection[str]) -> frozenset[tuple[str, int]]:
        """(run, outcome) pairs of those runs that were carried onto their card."""
        with self.database.read_raw() as cursor:
            return frozenset((row["run_id"], row["outcome"]) for row in _CARRIED.many(cursor, run_ids))

    def settlement(self, key: Key, run_id: str, outcome: int) -> Settlement | None:
        """The settlement of that outcome, open or closed."""
        with self.database.read_raw() as cursor:
            return outcomes.settlement(cursor, key, run_id, outcome)

    def needed_runs(self) -> dict[str, str]:
        """run -> why the dispatcher still needs it; what is not named may be deleted."""
        with self.database.read() as connection:
            return needs.needed(connection)

    def idle_reasons(self) -> dict[Key, IdleReason]:
        """Every idle reason."""
        with self.database.read_raw() as cursor:
            return daemon_rows.idle_reasons(cursor)

    def views(self, keys: Collection[Key]) -> Mapping[Key, CardView]:
        """What the documents of those cards show of the ledger; every key has an entry."""
        ids = [card_id for _, card_id in keys]
        with self.database.read_raw() as cursor:
            links = _links(cursor, keys)
            claims = Look(cursor).among(_CLAIMS, ids, claim_of)
            idle = Look(cursor).among(_REASONS, ids, lambda row: IdleReason(**row))
        return {key: _view(key, links.get(key), claims, idle) for key in keys}


def _view(key: Key, link: Link | None, claims: Mapping[Key, Any], idle: Mapping[Key, IdleReason]) -> CardView:
    pointer = link.last_run if link else ""
    return CardView(pointer, claims.get(key), idle.get(key), link.attempts if link else 0)


def _key(row: Row) -> Key:
    return row["board"], row["card_id"]


def _links(cursor: Cursor, keys: Collection[Key]) -> dict[Key, Link]:
    wanted = keys if isinstance(keys, (set, frozenset, dict)) else set(keys)
    rows = _LINKS.many(cursor, [card_id for _, card_id in keys])
    return {_key(row): Link(**row) for row in rows if _key(row) in wanted}
