"""Everything that is particular to SQLite, in one place: connecting, transaction starts, and its errors.

Called by ``database.py`` and its neighbours; ``postgres.py`` is its counterpart. Nothing here knows a table of a room.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool, StaticPool

from engine.errors import InvalidSetting, StoreBusy, StoreError, StoreFull, StoreUnreachable
from engine.store.addresses import SCHEME, file_of
from engine.store.cursors import Cursor
from engine.store.locks import FileLock

SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
_JOURNAL_LIMIT = 64 * 1024 * 1024
_READERS = 8

_FULL_HINT = "free some space or restore write permission, then run the command again"
_BUSY_HINT = "another process is writing; try again in a moment"
_GONE_HINT = "check that the store's folder exists, is readable and holds a sound database"

_ERRORS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("SQLITE_BUSY", StoreBusy, _BUSY_HINT),
    ("SQLITE_LOCKED", StoreBusy, _BUSY_HINT),
    ("SQLITE_PROTOCOL", StoreBusy, _BUSY_HINT),
    ("SQLITE_FULL", StoreFull, _FULL_HINT),
    ("SQLITE_READONLY", StoreFull, _FULL_HINT),
    ("SQLITE_IOERR_READ", StoreUnreachable, _GONE_HINT),
    ("SQLITE_IOERR", StoreFull, _FULL_HINT),
    ("SQLITE_CANTOPEN", StoreUnreachable, _GONE_HINT),
    ("SQLITE_NOTADB", StoreUnreachable, _GONE_HINT),
    ("SQLITE_CORRUPT", StoreUnreachable, _GONE_HINT),
    ("SQLITE_PERM", StoreUnreachable, _GONE_HINT),
    ("SQLITE_AUTH", StoreUnreachable, _GONE_HINT),
)
"""Name of SQLite's error, or its beginning -> ours, and what to do. The first that fits counts."""


def path_of(url: str) -> Path:
    """The file that ``sqlite:///…`` names. Raises InvalidSetting for any other address."""
    if not url.startswith(SCHEME) or len(url) == len(SCHEME):
        message = f"the store address {url.rsplit('@', maxsplit=1)[-1]!r} is not one that this build can open"
        raise InvalidSetting(message, "use sqlite:///path/to/pointsman.db")
    return file_of(url).absolute()


def translated(error: Exception) -> StoreError | None:
    """Our exception for one of the database's, None when it is a programming error or a broken constraint."""
    original = error.orig if isinstance(error, DBAPIError) else error
    name = getattr(original, "sqlite_errorname", "")
    for beginning, ours, hint in _ERRORS:
        if name.startswith(beginning):
            return ours(f"{(ours.__doc__ or '').rstrip('.')}: {original}", hint)
    return None


def prepare_file(path: Path) -> None:
    """Make folder (0700) and file (0600) where they are missing; the folder's parent must exist."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700)
    except FileExistsError:
        pass  # another process made it just now
    except OSError as error:
        message = f"the store folder {path.parent} cannot be made: {error.strerror}"
        raise StoreUnreachable(message, "make its parent folder, or choose another with --store-dir") from error
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"the store {path} cannot be opened: {error.strerror}"
        raise StoreUnreachable(message, _GONE_HINT) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreUnreachable(f"the store {path} cannot be opened: it is no file", "name one with --store-url")
    finally:
        os.close(descriptor)


def _connect(path: Path, synchronous: str, busy_timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
    connection.create_function("folded", 1, _folded, deterministic=True)
    return connection


def _folded(text: str | bytes | int | float | None) -> str | bytes | int | float | None:
    """Text in the form in which words are looked for: SQLite's own ``lower`` knows the letters of ASCII only."""
    if not isinstance(text, str):
        return text
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def writer_engine(path: Path, synchronous: str, busy_timeout: float) -> Engine:
    """An engine over one long-lived connection whose transactions start with BEGIN IMMEDIATE."""
    engine = create_engine("sqlite://", creator=lambda: _connect(path, synchronous, busy_timeout), poolclass=StaticPool)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def reader_engine(path: Path, synchronous: str, busy_timeout: float) -> Engine:
    """An engine over pooled connections that cannot write; each read sees one moment."""
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(path, synchronous, busy_timeout),
        poolclass=QueuePool,
        pool_size=_READERS,
        max_overflow=4 * _READERS,
    )
    event.listen(engine, "connect", _read_only)
    event.listen(engine, "begin", _begin)
    return engine


def copy_to(path: Path, target: Path) -> None:
    """A copy of the store as it is at one moment, while others go on writing: a whole file of its own, without WAL."""
    address = f"{path.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=30.0)) as source, closing(_plain(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def settle(path: Path) -> None:
    """Bring everything that was written into the one file, so that it stands alone where nobody else has it open."""
    with closing(_plain(path)) as connection:
        connection.execute("PRAGMA busy_timeout=2000")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _plain(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


class Sqlite:
    """One database file; see ``drivers.Driver`` for what each part promises."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error, DBAPIError)
    shared = False
    clock = "SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')"

    def __init__(self, url: str, synchronous: str, patience: float) -> None:
        self.path = path_of(url)
        self.name = f"{SCHEME}{self.path}"
        self._synchronous = synchronous
        self._patience = patience

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def faults(self, connection: Connection, *, quick: bool) -> tuple[str, ...]:
        """What SQLite finds wrong with its own file, in its words; nothing when it is whole."""
        said = connection.exec_driver_sql("PRAGMA quick_check(1)" if quick else "PRAGMA integrity_check")
        found = [str(each) for each in said.scalars()]
        return () if found == ["ok"] else tuple(found)

    def prepare(self) -> None:
        """As ``prepare_file``."""
        prepare_file(self.path)

    def writer_engine(self) -> Engine:
        """As the function of that name."""
        return writer_engine(self.path, self._synchronous, self._patience)

    def reader_engine(self) -> Engine:
        """As the function of that name."""
        return reader_engine(self.path, self._synchronous, self._patience)

    def looking_engine(self) -> Engine:
        """Over connections that cannot write and make no file."""
        address = f"{self.path.as_uri()}?mode=ro"
        return create_engine(
            "sqlite://", creator=lambda: sqlite3.connect(address, uri=True, timeout=5.0), poolclass=NullPool
        )

    def writing(self, raw: Any) -> AbstractContextManager[Cursor]:
        """A transaction on the driver's cursor."""
        return _Writing(raw.cursor())

    def cursor(self, raw: Any) -> Cursor:
        """A cursor inside an open transaction."""
        found: sqlite3.Cursor = raw.cursor()
        return found

    def settle(self, raw: Any) -> None:
        """A refused commit leaves the driver's transaction open; end it, so that the next write can begin."""
        if raw.in_transaction:
            raw.rollback()

    def under_way(self, raw: Any) -> bool:
        """False after a fault that ended the transaction: a full disk, for one."""
        return bool(raw.in_transaction)

    def gone(self, _raw: Any) -> bool:
        """A file does not hang up."""
        return False

    def ready(self, raw: Any) -> bool:
        """Whether the file is in WAL mode."""
        return bool(raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal")

    def stored_revision(self, raw: Any) -> str:
        """The revision of the store, empty for one without tables. Raises StoreUnreachable for another's database."""
        known = raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
        row = raw.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
        other = None if known else raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchone()
        if other:
            message = f"{self.path} is the database of another program: it has a table {other[0]}"
            raise StoreUnreachable(message, "name another file with --store-url, or another folder with --store-dir")
        return str(row[0]) if row else ""

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """The lock beside the file."""
        lock = FileLock(self.path.with_name(self.path.name + ".migrate"), {"doing": "migrating the store"})
        if not lock.acquire(self._patience):
            raise StoreBusy(f"the store is being migrated by {lock.holder_text()}", "wait until it has ended")
        try:
            yield
        finally:
            lock.release()

    def make_ready(self, raw: Any) -> None:
        """Put the file into WAL mode, for good."""
        use_wal(raw)

    def made_from(self, raw: Any, script: str) -> bool:
        """Make the tables of an empty store from the script, all or none; False with tables there, or no script."""
        if not script or raw.execute("SELECT 1 FROM sqlite_master").fetchone():
            return False
        try:
            raw.executescript(script)
        finally:
            self.settle(raw)
        return True

    def translated(self, error: Exception) -> StoreError | None:
        """As the function of that name."""
        return translated(error)


class _Writing:
    """An open write: committed at the end of the block, left open when it raises."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def __enter__(self) -> Cursor:
        self._cursor.execute("BEGIN IMMEDIATE")
        return self._cursor

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._cursor.execute("COMMIT")


def use_wal(connection: sqlite3.Connection) -> None:
    """Put the file into WAL mode, for good. Call it while nobody else opens the store."""
    connection.execute("PRAGMA journal_mode=WAL")


def _begin_immediate(connection: Connection) -> None:
    connection.connection.execute("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.connection.execute("BEGIN")


def _read_only(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA query_only=ON")
