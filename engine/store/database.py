"""The one database of all rooms: opened once per process, migrated, with one writer and many readers.

Called by ``store.py``, the dispatcher's ledger and the native board, each through a small protocol of its own. Every
write transaction starts with BEGIN IMMEDIATE and none stays open while anything waits (engine.md 2.2). It knows no
table but its own counter. It does not promise to survive a fork: a child process opens its own.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from engine.errors import InvalidSetting, StoreBusy
from engine.store import schema, sqlite

_NEXT_SEQUENCE = "UPDATE store_counter SET value = value + 1 WHERE name = 'sequence' RETURNING value"


class Database:
    """A store that is open. Thread-safe; ``close`` it once, or use it as a context manager."""

    def __init__(self, path: Path, synchronous: str, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._turn = threading.RLock()
        self._in_write = False
        self._write_engine = sqlite.writer_engine(path, synchronous, busy_timeout)
        self._read_engine = sqlite.reader_engine(path, synchronous, busy_timeout)
        with _translating():
            self._writer = self._write_engine.connect()
        self._raw = cast(sqlite3.Connection, self._writer.connection.dbapi_connection)

    @classmethod
    def open(cls, url: str, *, synchronous: str = "FULL", busy_timeout: float = 30.0) -> Database:
        """Open ``url``, make it when it is missing, and bring its schema to this build's.

        ``busy_timeout`` in seconds bounds every wait for another writer. Raises InvalidSetting, StoreUnreachable,
        StoreBusy, StoreFull and SchemaNewer (engine.md 2.3).
        """
        if synchronous.upper() not in sqlite.SYNCHRONOUS:
            known = ", ".join(sqlite.SYNCHRONOUS)
            raise InvalidSetting(f"store.synchronous is {synchronous!r}", f"use one of {known}")
        path = sqlite.path_of(url)
        sqlite.prepare_file(path)
        database = cls(path, synchronous.upper(), busy_timeout)
        try:
            with _translating():
                ready = sqlite.uses_wal(database._raw) and schema.is_current(database._raw)
            if not ready:
                schema.bring_up(database, path, busy_timeout)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed at the end of the block, rolled back when the block raises.

        A broken constraint stays SQLAlchemy's IntegrityError; every other fault is a StoreError.
        """
        with self._turn_to_write(), _translating():
            try:
                with self._writer.begin():
                    yield self._writer
            finally:
                self._settle()

    @contextmanager
    def write_raw(self) -> Iterator[sqlite3.Cursor]:
        """As ``write``, on the driver's own cursor: the hot path of a node boundary. Same promises."""
        with self._turn_to_write(), _translating():
            try:
                cursor = self._raw.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                cursor.execute("COMMIT")
            finally:
                self._settle()

    @contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """The driver's connection, alone and outside a transaction: for pragmas."""
        with self._turn_to_write(), _translating():
            yield self._raw

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all its statements see one moment; never waits for a writer."""
        with _translating(), self._read_engine.connect() as connection:
            yield connection

    def cursor_of(self, connection: Connection) -> sqlite3.Cursor:
        """The driver's cursor inside the transaction of ``write``."""
        return cast(sqlite3.Cursor, connection.connection.cursor())

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the counter of the whole store, inside an open write (dispatcher.md 1)."""
        return take_sequence(self.cursor_of(connection))

    def close(self) -> None:
        """Give up all connections."""
        with self._turn:
            self._writer.close()
            self._write_engine.dispose()
            self._read_engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=self._busy_timeout):
            raise StoreBusy("the store is busy: another thread writes", "try again in a moment")
        try:
            if self._in_write:
                raise RuntimeError("a write transaction inside a write transaction")
            self._in_write = True
            try:
                yield
            finally:
                self._in_write = False
        finally:
            self._turn.release()

    def _settle(self) -> None:
        """A refused commit leaves the driver's transaction open; end it, so that the next write can begin."""
        if self._raw.in_transaction:
            self._raw.rollback()


def take_sequence(cursor: sqlite3.Cursor) -> int:
    """As ``Database.next_sequence``, on the driver's cursor."""
    return int(cursor.execute(_NEXT_SEQUENCE).fetchone()[0])


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        ours = sqlite.translated(error)
        if ours is None:
            raise
        raise ours from error
    except PoolTimeout as error:
        raise StoreBusy("the store is busy: too many readers at once", "try again in a moment") from error
