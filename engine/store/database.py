"""The one database of all rooms: opened once per process, migrated, with one writer and many readers.

Called by ``store.py``, the dispatcher's ledger and the native board, each through a small protocol of its own. Every
write transaction starts with BEGIN IMMEDIATE and none stays open while anything waits (engine.md 2.2). It knows no
table but its own counter. It does not promise to survive a fork: a child process opens its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sqlalchemy import ClauseElement, Connection, PoolProxiedConnection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from engine.errors import StoreBusy, StoreError
from engine.store import schema
from engine.store.cursors import Cursor
from engine.store.drivers import Driver, driver_of
from engine.store.prepared import prepared

_SEQUENCE = "SELECT value FROM store_counter WHERE name = 'sequence'"
_NEXT_SEQUENCE = "UPDATE store_counter SET value = value + 1 WHERE name = 'sequence' RETURNING value"


@dataclass(slots=True)
class _Joined:
    """An open commit that its thread's writes join. ``lost`` once the database took the whole of it back by itself."""

    connection: Connection
    thread: int
    lost: StoreError | None = None


class Database:
    """A store that is open. Thread-safe; ``close`` it once, or use it as a context manager."""

    def __init__(self, driver: Driver, busy_timeout: float) -> None:
        self.driver = driver
        self._busy_timeout = busy_timeout
        self._turn = threading.RLock()
        self._in_write = False
        self._joined: _Joined | None = None
        self._looking = threading.Lock()
        self._observer: PoolProxiedConnection | None = None
        self._fence = threading.local()
        self._translating = _Translating(driver)
        self._turn_to_write = _TurnToWrite(self)
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
        if joined := self._mine():
            with self._inside(joined) as connection:
                yield connection
            return
        with self._translating, self._turn_to_write:
            try:
                with self._writer.begin():
                    self._check_fence(self.cursor_of(self._writer))
                    yield self._writer
            finally:
                self.driver.settle(self._raw)

    @contextmanager
    def write_raw(self) -> Iterator[Cursor]:
        """As ``write``, on the driver's own cursor: the hot path of a node boundary. Same promises."""
        if joined := self._mine():
            with self._inside(joined) as connection:
                yield self.cursor_of(connection)
            return
        with self._translating, self._turn_to_write:
            try:
                with self.driver.writing(self._raw) as cursor:
                    self._check_fence(cursor)
                    yield cursor
            finally:
                self.driver.settle(self._raw)

    def write_alone(self) -> AbstractContextManager[Cursor]:
        """As ``write``, on the driver's own cursor: for what reads before it writes. Same promises."""
        return self._write_in_turn() if self.driver.shared else self.write_raw()

    @contextmanager
    def _write_in_turn(self) -> Iterator[Cursor]:
        with self.write() as connection:
            yield self.cursor_of(connection)

    @contextmanager
    def together(self) -> Iterator[None]:
        """One commit for all that this thread writes inside the block; its reads see it already.

        A write inside that raises leaves nothing behind; raising out of the block leaves nothing of the whole.
        """
        if joined := self._mine():
            with self._inside(joined):
                yield
            return
        with self.write() as connection:
            self._joined = joined = _Joined(connection, threading.get_ident())
            try:
                yield
            finally:
                self._joined = None
            if joined.lost is not None:
                raise joined.lost

    @contextmanager
    def _inside(self, joined: _Joined) -> Iterator[Connection]:
        """A write within ``together``: undone by itself when it raises.

        A full disk makes SQLite take back the whole transaction; then nothing more is written in it.
        """
        if joined.lost is not None:
            raise joined.lost
        cursor = self.cursor_of(joined.connection)
        with self._translating:
            cursor.execute("SAVEPOINT inside")
            try:
                yield joined.connection
            except BaseException as error:
                if not self.driver.under_way(self._raw):
                    joined.lost = self._lost(error)
                    raise
                cursor.execute("ROLLBACK TO inside")
                cursor.execute("RELEASE inside")
                raise
            cursor.execute("RELEASE inside")

    def _lost(self, error: BaseException) -> StoreError:
        ours = self.driver.translated(error) if isinstance(error, self.driver.errors) else error
        if isinstance(ours, StoreError):
            return ours
        return StoreBusy("the store took a write back", "it is tried again")

    def _mine(self) -> _Joined | None:
        joined = self._joined
        return joined if joined is not None and joined.thread == threading.get_ident() else None

    @contextmanager
    def fenced(self, check: Callable[[Cursor], None]) -> Iterator[None]:
        """Every write of this thread inside the block begins with ``check``, which refuses it by raising."""
        self._fence.check = check
        try:
            yield
        finally:
            self._fence.check = None

    def _check_fence(self, cursor: Cursor) -> None:
        check = getattr(self._fence, "check", None)
        if check is not None:
            check(cursor)

    @contextmanager
    def exclusive(self) -> Iterator[Any]:
        """The driver's connection, alone and outside a transaction: for pragmas."""
        with self._translating, self._turn_to_write:
            try:
                yield self._raw
            finally:
                self.driver.settle(self._raw)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: all its statements see one moment; never waits for a writer."""
        if joined := self._mine():
            yield joined.connection
            return
        with self._translating, self._read_engine.connect() as connection:
            yield connection

    @contextmanager
    def read_raw(self) -> Iterator[Cursor]:
        """As ``read``, on the driver's own cursor. Same promises."""
        if joined := self._mine():
            yield self.cursor_of(joined.connection)
            return
        with self._translating:
            lent = self._read_engine.raw_connection()
            try:
                cursor = self.driver.cursor(lent.dbapi_connection)
                if not self.driver.shared:
                    cursor.execute("BEGIN")
                yield cursor
            finally:
                lent.close()

    def version(self) -> int | None:
        """A number that is another one after every commit of anybody; None where that cannot be told cheaply."""
        if self.driver.shared or self._mine():
            return None
        with self._translating, self._looking:
            if self._observer is None:
                self._observer = self._read_engine.raw_connection()
            cursor = self.driver.cursor(self._observer.dbapi_connection)
            return int(cursor.execute("PRAGMA data_version").fetchone()[0])

    def sequence(self) -> int:
        """The newest number of the counter of the whole store: another one after an outcome, a pause, a moved card."""
        with self.read_raw() as cursor:
            return int(cursor.execute(_SEQUENCE).fetchone()[0])

    def cursor_of(self, connection: Connection) -> Cursor:
        """The driver's cursor inside the transaction of ``write``."""
        return self.driver.cursor(connection.connection.dbapi_connection)

    def run(self, connection: Connection, statement: ClauseElement, values: Mapping[str, Any]) -> Cursor:
        """Execute a constant statement inside an open transaction, without what SQLAlchemy costs; rows are tuples."""
        return prepared(statement).run(self.cursor_of(connection), values)

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the counter of the whole store, inside an open write (dispatcher.md 1)."""
        return take_sequence(self.cursor_of(connection))

    def close(self) -> None:
        """Give up all connections."""
        with self._turn:
            if self.driver.gone(self._raw):
                self._writer.invalidate()
            self._writer.close()
            if self._observer is not None:
                self._observer.close()
            self._write_engine.dispose()
            self._read_engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def begin_turn(self) -> None:
        """This thread writes; nobody else does until ``end_turn``. Raises StoreBusy."""
        if not self._turn.acquire(timeout=self._busy_timeout):
            raise StoreBusy("the store is busy: another thread writes", "try again in a moment")
        try:
            if self._in_write:
                raise RuntimeError("a write transaction inside a write transaction")
            if self.driver.gone(self._raw):
                self._connect_again()
            self._in_write = True
        except BaseException:
            self._turn.release()
            raise

    def end_turn(self) -> None:
        """The next thread may write."""
        self._in_write = False
        self._turn.release()

    def _connect(self) -> None:
        with self._translating:
            self._writer = self._write_engine.connect()
            self._raw: Any = self._writer.connection.dbapi_connection

    def _connect_again(self) -> None:
        """A server may hang up; the write that was under way failed, the next one has a connection of its own."""
        self._writer.invalidate()
        self._writer.close()
        self._write_engine.dispose()
        self._connect()


class _Translating:
    """Turns the driver's errors into ours; stateless, so that one serves every block of every thread."""

    __slots__ = ("_driver",)

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, PoolTimeout):
            raise StoreBusy("the store is busy: too many readers at once", "try again in a moment") from error
        if isinstance(error, self._driver.errors) and (ours := self._driver.translated(error)) is not None:
            raise ours from error


class _TurnToWrite:
    """The writer's turn; the state is the database's."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.begin_turn()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._database.end_turn()


def take_sequence(cursor: Cursor) -> int:
    """As ``Database.next_sequence``, on the driver's cursor."""
    return int(cursor.execute(_NEXT_SEQUENCE).fetchone()[0])
