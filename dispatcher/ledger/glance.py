"""What the documents of cards show of the ledger and of their runs, read without any table class.

For the verbs that list and show cards, which people wait for: loading the table classes takes longer than the reading.
The same answers as ``Ledger.views`` and ``Runs.status_of``; a test proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, TableClause, column, select, table

from dispatcher.ledger.records import CardView, Claim, ClaimState, IdleReason, Key
from engine.run import Owner

T = TypeVar("T")
_CHUNK = 400
_LINK = table("card_link", *map(column, ("board", "card_id", "last_run", "attempts")))
_CLAIM = table(
    "claim",
    *map(column, ("board", "card_id", "state", "epoch", "run_id", "claimed_at")),
    *map(column, ("instance", "host", "boot", "pid", "start_ticks")),
)
_IDLE = table("idle_reason", *map(column, ("board", "card_id", "code", "text", "unblock", "facts", "since")))
_RUN = table("run", column("id"), column("status"))


class Readable(Protocol):
    """An open store, to be read."""

    def read(self) -> AbstractContextManager[Connection]:
        """One moment, never waiting for a writer."""
        ...


class Glance:
    """A look at the rows of some cards. Keeps nothing."""

    def __init__(self, database: Readable) -> None:
        self._database = database

    def views(self, keys: Collection[Key]) -> Mapping[Key, CardView]:
        """What the documents of those cards show of the ledger; every key has an entry."""
        with self._database.read() as connection:
            links = {_key(row): row for row in _about(connection, _LINK, keys)}
            claims = _readable(_about(connection, _CLAIM, keys), _claim)
            idle = _readable(_about(connection, _IDLE, keys), _reason)
        return {key: _view(links.get(key), claims.get(key), idle.get(key)) for key in keys}

    def claimed(self, board: str) -> frozenset[str]:
        """The ids of the board's cards that somebody works on, or keeps between attempts."""
        with self._database.read() as connection:
            rows = connection.execute(select(_CLAIM.c.card_id).where(_CLAIM.c.board == board))
            return frozenset(rows.scalars())

    def status_of(self, run_ids: Iterable[str]) -> dict[str, str]:
        """The statuses of those runs that exist."""
        with self._database.read() as connection:
            return {row["id"]: row["status"] for row in _of(connection, _RUN, "id", list(run_ids))}


def _about(connection: Connection, rows: TableClause, keys: Collection[Key]) -> Iterator[Any]:
    """The rows of those cards; for many cards all rows of their boards, which is one statement."""
    if len(keys) <= _CHUNK:
        return _of(connection, rows, "card_id", [card_id for _, card_id in keys])
    return _of(connection, rows, "board", [board for board, _ in keys])


def _of(connection: Connection, rows: TableClause, name: str, values: Collection[str]) -> Iterator[Any]:
    ordered = sorted(set(values))
    for at in range(0, len(ordered), _CHUNK):
        some = ordered[at : at + _CHUNK]
        yield from connection.execute(select(rows).where(rows.c[name].in_(some))).mappings()


def _key(row: Mapping[str, Any]) -> Key:
    return row["board"], row["card_id"]


def _readable(rows: Iterable[Mapping[str, Any]], make: Callable[[Mapping[str, Any]], T]) -> dict[Key, T]:
    """The records by card, without those that cannot be read: the daemon holds their cards and says why."""
    found = {}
    for row in rows:
        with suppress(ValueError, TypeError):
            found[_key(row)] = make(row)
    return found


def _view(link: Mapping[str, Any] | None, claim: Claim | None, idle: IdleReason | None) -> CardView:
    if link is None:
        return CardView("", claim, idle)
    return CardView(link["last_run"], claim, idle, link["attempts"])


def _claim(row: Mapping[str, Any]) -> Claim:
    owner = Owner(row["instance"], row["host"], row["boot"], row["pid"], row["start_ticks"])
    claimed_at = datetime.fromisoformat(row["claimed_at"])
    return Claim(row["board"], row["card_id"], ClaimState(row["state"]), row["epoch"], row["run_id"], owner, claimed_at)


def _reason(row: Mapping[str, Any]) -> IdleReason:
    return IdleReason(**{**row, "since": datetime.fromisoformat(row["since"])})
