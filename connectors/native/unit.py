"""An open transaction of one board: a look, which reads at one moment, and a change, with its time and ids.

Made by ``board.py`` for each verb and handed to the modules that read and write. Every event that a change reports is
appended through it, in the transaction of that change, so ``seq`` has no gap and no event lacks its change
(dispatcher.md 29).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ClauseElement, Connection, bindparam, insert, select, update

from connectors.base import Clock, IdMaker
from connectors.card import BoardEventType, Mover
from connectors.native import schema
from connectors.native.database import Database, Rows
from connectors.native.defaults import DEFAULT_COLUMNS
from connectors.native.rows import encode
from connectors.native.stamp import to_text

_META = schema.META.c
_MINE = _META.board == bindparam("the_board")
_KNOWN = select(_META.board).where(_MINE)
_COUNTS = {
    name: update(schema.META).where(_MINE).values({name: _META[name] + 1}).returning(_META[name])
    for name in ("next_number", "event_seq")
}
_EVENT = insert(schema.EVENT)


@dataclass(frozen=True, slots=True)
class Host:
    """What a board works with: its name, the database, the clock, the id maker."""

    board: str
    database: Database
    clock: Clock
    ids: IdMaker


@dataclass(frozen=True, slots=True)
class Look:
    """An open transaction, as who reads in it sees it."""

    host: Host
    connection: Connection

    @property
    def board(self) -> str:
        """The name of the board."""
        return self.host.board

    def ask(self, statement: ClauseElement, **values: object) -> Rows:
        """Execute a statement that its module made once: what a tick and a move ask."""
        return self.host.database.run(self.connection, statement, values)


@dataclass(frozen=True, slots=True)
class Unit(Look):
    """The open transaction of a change. ``now`` is one instant for the whole of it."""

    now: datetime

    @property
    def stamp(self) -> str:
        """``now`` as the tables hold it."""
        return to_text(self.now)

    def sequence(self) -> int:
        """The next store sequence."""
        return self.host.database.next_sequence(self.connection)

    def next_number(self) -> int:
        """A card number that was never used on this board."""
        return self._count("next_number") - 1

    def event(self, kind: BoardEventType, card_id: str, mover: Mover, data: Mapping[str, object]) -> int:
        """Append one event; answers its ``seq``."""
        seq = self._count("event_seq")
        values = {
            "board": self.board,
            "seq": seq,
            "time": self.stamp,
            "type": kind.value,
            "card_id": card_id,
            "mover_kind": mover.kind.value,
            "mover_name": mover.name,
            "mover_run": mover.run_id,
            "data": encode(dict(data)),
        }
        self.ask(_EVENT, **values)
        return seq

    def _count(self, name: str) -> int:
        return int(self.ask(_COUNTS[name], the_board=self.board).fetchone()[0])


@contextmanager
def looking(host: Host) -> Iterator[Look]:
    """A read transaction on a board."""
    with host.database.read() as connection:
        yield Look(host, connection)


@contextmanager
def change(host: Host) -> Iterator[Unit]:
    """A write transaction on a board; the first one ever makes the board with its default columns."""
    with host.database.write() as connection:
        unit = Unit(host, connection, host.clock.now())
        _ensure(unit)
        yield unit


def _ensure(unit: Unit) -> None:
    if unit.ask(_KNOWN, the_board=unit.board).fetchone() is not None:
        return
    meta = {"board": unit.board, "next_number": 1, "event_seq": 0, "created_at": unit.stamp}
    unit.connection.execute(insert(schema.META).values(meta))
    for position, column in enumerate(DEFAULT_COLUMNS):
        values = {
            "board": unit.board,
            "id": column.id,
            "name": column.name,
            "title": column.title,
            "position": position,
            "eligible": column.eligible,
            "terminal": column.terminal,
            "aliases": "[]",
        }
        unit.connection.execute(insert(schema.COLUMN).values(values))
