"""The one database of all rooms: opened once per process, migrated, with one writer and many readers.

Called by ``store.py``, the dispatcher's ledger and the native board, each through a small protocol of its own. Every
write transaction starts with BEGIN IMMEDIATE and none stays open while anything waits (engine.md 2.2). It knows no
table but its own counter. It does not promise to survive a fork: a child process opens its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from engine.errors import StoreBusy
from engine.store import schema
from engine.store.cursors import Cursor
from engine.store.drivers import Driver, driver_of

_NEXT_SEQUENCE = "UPDATE store_counter SET value = value + 1 WHERE name = 'sequence' RETURNING value"


class Database:
    """A store that is open. Thread-safe; ``close`` it once, or use it as a context manager."""

    def __init__(self, driver: Driver, busy_timeout: float) -> None:
        self.driver = driver
        self._busy_timeout = busy_timeout
        self._turn = threading.RLock()
        self._in_write = False
        self._write_engine = driver.writer_engine()
        self._read_engine = driver.reader_engine()
        self._connect()

    @classmethod
    def open(cls, url: str, *, synchronous: str = "FULL", busy_timeout: float = 30.0) -> Database:
        """Open ``url``, make it when it is missing, and bring its schema to this build's.

        ``busy_timeout`` in seconds bounds every wait for another writer. Raises InvalidSetting, StoreUnreachable,
        StoreBusy, StoreFull and SchemaNewer (engine.md 2.3).
        """
        driver = driver_of(url, synchronous, busy_timeout)
        driver.prepare()
        database = cls(driver, busy_timeout)
        try:
            with database.exclusive() as raw:
                ready = driver.ready(raw) and schema.is_current(driver.stored_revision(raw))
            if not ready:
                schema.bring_up(database)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed at the end of the block, rolled back when the block raises.

        A broken constraint stays SQLAlchemy's IntegrityError; every other fault is a StoreError.
        """
        with self._translating(), self._turn_to_write():
            try:
                with self._writer.begin():
                    yield self._writer
            finally:
                self.driver.settle(self._raw)

    @contextmanager
    def write_raw(self) -> Iterator[Cursor]:
        """As ``write``, on the driver's own cursor: the hot path of a node boundary. Same promises."""
        with self._translating(), self._turn_to_write():
            try:
                with self.driver.writing(self._raw) as cursor:
                    yield cursor
            finally:
                self.driver.settle(self._raw)

    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        """The driver's connection, alone and outside a transaction: for pragmas."""
        with self._translating(), self._turn_to_write():
            try:
                yield self._raw
            finally:
                self.driver.settle(self._raw)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all its statements see one moment; never waits for a writer."""
        with self._translating(), self._read_engine.connect() as connection:
            yield connection

    def cursor_of(self, connection: Connection) -> Cursor:
        """The driver's cursor inside the transaction of ``write``."""
        return self.driver.cursor(connection.connection.dbapi_connection)

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the counter of the whole store, inside an open write (dispatcher.md 1)."""
        return take_sequence(self.cursor_of(connection))

    def close(self) -> None:
        """Give up all connections."""
        with self._turn:
            if self.driver.gone(self._raw):
                self._writer.invalidate()
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
                if self.driver.gone(self._raw):
                    self._connect_again()
                yield
            finally:
                self._in_write = False
        finally:
            self._turn.release()

    def _connect(self) -> None:
        with self._translating():
            self._writer = self._write_engine.connect()
            self._raw: Any = self._writer.connection.dbapi_connection

    def _connect_again(self) -> None:
        """A server may hang up; the write that was under way failed, the next one has a connection of its own."""
        self._writer.invalidate()
        self._writer.close()
        self._write_engine.dispose()
        self._connect()

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except self.driver.errors as error:
            ours = self.driver.translated(error)
            if ours is None:
                raise
            raise ours from error
        except PoolTimeout as error:
            raise StoreBusy("the store is busy: too many readers at once", "try again in a moment") from error


def take_sequence(cursor: Cursor) -> int:
    """As ``Database.next_sequence``, on the driver's cursor."""
    return int(cursor.execute(_NEXT_SEQUENCE).fetchone()[0])
