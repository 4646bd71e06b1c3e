"""The door of the ledger: consistent looks at its rows, and write transactions. The rows decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any, Protocol

from sqlalchemy import Connection, select

from dispatcher.ledger import daemon_rows, needs
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
    Snapshot,
)
from dispatcher.ledger.rows import claim_of, settlement_of
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

_CHUNK = 400

Transaction = Connection
"""An open write, as the verbs of this folder take it; nobody else looks inside."""


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Monotonic seconds, and who is told how many a write transaction took, the wait for its turn included."""

    now: Callable[[], float]
    note: Callable[[float], None]


class LedgerDatabase(Protocol):
    """What the ledger needs of the store's database."""

    def read(self) -> AbstractContextManager[Connection]:
        """One moment, never waiting for a writer."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
        """BEGIN IMMEDIATE; committed at the end of the block."""
        ...

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the whole store."""
        ...


class Ledger:
    """The dispatcher's rows. Thread-safe as far as the database is; keeps nothing in memory."""

    def __init__(self, database: LedgerDatabase, stopwatch: Stopwatch | None = None) -> None:
        self.database = database
        self._stopwatch = stopwatch

    def measured(self, stopwatch: Stopwatch) -> Ledger:
        """The same ledger, whose writes are measured."""
        return Ledger(self.database, stopwatch)

    def write(self) -> AbstractContextManager[Connection]:
        """A write transaction for the verbs of this folder."""
        return self.database.write() if self._stopwatch is None else self._measured(self._stopwatch)

    @contextmanager
    def _measured(self, stopwatch: Stopwatch) -> Iterator[Connection]:
        since = stopwatch.now()
        try:
            with self.database.write() as connection:
                yield connection
        finally:
            stopwatch.note(stopwatch.now() - since)

    def snapshot(self) -> Snapshot:
        """Everything under way, and the links of those cards."""
        with self.database.read() as connection:
            claims = {claim.key: claim for claim in map(claim_of, _all(connection, ClaimRow))}
            open_ones = select(SettlementRow).where(SettlementRow.c.closed.is_(False))
            settlements = {s.key: s for s in map(settlement_of, connection.execute(open_ones).mappings())}
            parks = {park.key: park for park in _parks(connection)}
            pending = {_key(row): PendingMove(**row) for row in _all(connection, PendingMoveRow)}
            retries = {_key(row): Retry(**row) for row in _all(connection, RetryRow)}
            tripped = select(BreakerRow).where(BreakerRow.c.state != CLOSED)
            active = {*claims, *settlements, *parks, *pending, *retries}
            return Snapshot(
                links=_links(connection, active),
                claims=claims,
                intents={_key(row): Intent(**row) for row in _all(connection, IntentRow)},
                settlements=settlements,
                retries=retries,
                parks=parks,
                give_ups={_key(row): GiveUp(**row) for row in _all(connection, GiveUpRow)},
                pending=pending,
                breakers={(r["scope"], r["name"]): Breaker(**r) for r in connection.execute(tripped).mappings()},
                desired=daemon_rows.desired(connection),
            )

    def links(self, keys: Collection[Key]) -> dict[Key, Link]:
        """The links of those cards that have one."""
        with self.database.read() as connection:
            return _links(connection, keys)

    def links_of_runs(self, run_ids: Collection[str]) -> dict[str, Link]:
        """run -> the card that points at it."""
        table = CardLink
        with self.database.read() as connection:
            found = _chunked(connection, table, table.c.last_run, run_ids)
            return {row["last_run"]: Link(**row) for row in found}

    def closed_outcomes(self, run_ids: Collection[str]) -> frozenset[tuple[str, int]]:
        """(run, outcome) pairs of those runs that were carried onto their card."""
        table = SettlementRow
        with self.database.read() as connection:
            rows = _chunked(connection, table, table.c.run_id, run_ids)
            return frozenset((row["run_id"], row["outcome"]) for row in rows if row["closed"])

    def needed_runs(self) -> dict[str, str]:
        """run -> why the dispatcher still needs it; what is not named may be deleted."""
        with self.database.read() as connection:
            return needs.needed(connection)

    def idle_reasons(self) -> dict[Key, IdleReason]:
        """Every idle reason."""
        with self.database.read() as connection:
            return daemon_rows.idle_reasons(connection)

    def views(self, keys: Collection[Key]) -> Mapping[Key, CardView]:
        """What the documents of those cards show of the ledger; every key has an entry."""
        ids = [card_id for _, card_id in keys]
        with self.database.read() as connection:
            links = _links(connection, keys)
            claims = {c.key: c for c in map(claim_of, _by_card(connection, ClaimRow, ids))}
            idle = {_key(row): IdleReason(**row) for row in _by_card(connection, IdleReasonRow, ids)}
        return {key: _view(key, links.get(key), claims, idle) for key in keys}


def _view(key: Key, link: Link | None, claims: Mapping[Key, Any], idle: Mapping[Key, IdleReason]) -> CardView:
    pointer = link.last_run if link else ""
    return CardView(pointer, claims.get(key), idle.get(key), link.attempts if link else 0)


def _key(row: Mapping[str, Any]) -> Key:
    return row["board"], row["card_id"]


def _all(connection: Connection, model: Any) -> Iterator[Any]:
    return iter(connection.execute(select(model)).mappings())


def _parks(connection: Connection) -> Iterator[Park]:
    table = ParkRow
    names = [field.name for field in fields(Park)]
    statement = select(*(table.c[name] for name in names)).where(table.c.released == "")
    return (Park(**row) for row in connection.execute(statement).mappings())


def _links(connection: Connection, keys: Collection[Key]) -> dict[Key, Link]:
    rows = _by_card(connection, CardLink, [card_id for _, card_id in keys])
    wanted = keys if isinstance(keys, (set, frozenset, dict)) else set(keys)
    return {_key(row): Link(**row) for row in rows if _key(row) in wanted}


def _by_card(connection: Connection, model: Any, ids: Collection[str]) -> Iterator[Any]:
    table = model
    return _chunked(connection, table, table.c.card_id, ids)


def _chunked(connection: Connection, table: Any, column: Any, values: Collection[str]) -> Iterator[Any]:
    ordered = sorted(set(values))
    for at in range(0, len(ordered), _CHUNK):
        yield from connection.execute(select(table).where(column.in_(ordered[at : at + _CHUNK]))).mappings()
