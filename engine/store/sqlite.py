"""Everything that is particular to SQLite, in one place: connecting, transaction starts, and its errors.

Called by ``database.py`` only. A second database means a second module with the same names. Nothing here knows a table.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, QueuePool, StaticPool

from engine.errors import InvalidSetting, StoreBusy, StoreError, StoreFull, StoreUnreachable

SCHEME = "sqlite:///"
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
    return Path(unquote(url.removeprefix(SCHEME).split("?", 1)[0])).absolute()


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
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        message = f"the store {path} cannot be opened: {error.strerror}"
        raise StoreUnreachable(message, _GONE_HINT) from error


def _connect(path: Path, synchronous: str, busy_timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(f"PRAGMA journal_size_limit={_JOURNAL_LIMIT}")
    return connection


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


def looking_engine(path: Path) -> Engine:
    """An engine whose connections cannot write and make no file."""
    address = f"{path.as_uri()}?mode=ro"
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True, timeout=5.0), poolclass=NullPool
    )


def copy_to(path: Path, target: Path) -> None:
    """A copy of the store as it is at one moment, while others go on writing: a whole file of its own, without WAL."""
    address = f"{path.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=30.0)) as source, closing(_plain(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def _plain(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def use_wal(connection: sqlite3.Connection) -> None:
    """Put the file into WAL mode, for good. Call it while nobody else opens the store."""
    connection.execute("PRAGMA journal_mode=WAL")


def uses_wal(connection: sqlite3.Connection) -> bool:
    """Whether the file is in WAL mode."""
    return bool(connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _read_only(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA query_only=ON")
