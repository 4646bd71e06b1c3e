"""Everything that is particular to PostgreSQL, in one place: connecting, transaction starts, and its errors.

Called by ``drivers.py`` for addresses that begin with ``postgresql+psycopg://``. The counterpart of ``sqlite.py``; the
driver (extra ``postgres``) is loaded with this module. What a write reads it locks, row by row, and the cold path takes
turns over the whole store, as SQLite does by itself. A write goes out as a pipeline: one round trip for what moves the
counters of a run, one for its rows and the commit. Nothing here knows a table of a room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import psycopg
from psycopg.types.string import StrDumper
from sqlalchemy import BigInteger, Connection, Engine, Integer, Table, create_engine, event, make_url
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from engine.errors import InvalidSetting, StoreBusy, StoreError, StoreFull, StoreUnreachable
from engine.store.cursors import Cursor

DIALECT = PGDialect_psycopg(paramstyle="format")  # type: ignore[no-untyped-call]
"""For statements that go to the driver without SQLAlchemy."""
insert_into = insert
SCHEME = "postgresql+psycopg://"
_READERS = 8
_TURN = 7_042_001
"""Key of the advisory lock for the cold path's turn to write."""

_FULL_HINT = "free some space or restore write permission, then run the command again"
_BUSY_HINT = "others are writing; try again in a moment"
_GONE_HINT = "check that the database server runs, that the address is right and that this user may use the database"

_ERRORS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("40", StoreBusy, _BUSY_HINT),
    ("55P03", StoreBusy, _BUSY_HINT),
    ("57014", StoreBusy, _BUSY_HINT),
    ("53100", StoreFull, _FULL_HINT),
    ("53200", StoreFull, _FULL_HINT),
    ("53300", StoreUnreachable, "allow more connections, or close some"),
    ("25006", StoreFull, _FULL_HINT),
    ("54", StoreFull, "the value is too large for the database"),
    ("42501", StoreUnreachable, _GONE_HINT),
    ("08", StoreUnreachable, _GONE_HINT),
    ("28", StoreUnreachable, _GONE_HINT),
    ("3D", StoreUnreachable, _GONE_HINT),
    ("57P", StoreUnreachable, _GONE_HINT),
    ("58", StoreUnreachable, _GONE_HINT),
    ("XX", StoreUnreachable, _GONE_HINT),
)
"""SQLSTATE, or its beginning -> ours, and what to do. The first that fits counts."""


class _Whole(Integer):
    """A whole number of any width: the driver says how wide each value is."""

    render_bind_cast = False


def _widen(made: Table, connection: Connection, **_options: object) -> None:
    """Whole numbers are kept as wide as SQLite keeps them."""
    if connection.dialect.name == DIALECT.name:
        for column in made.columns:
            if type(column.type) is Integer:
                column.type = BigInteger()


event.listen(Table, "before_create", _widen)
DIALECT.colspecs = {**DIALECT.colspecs, Integer: _Whole}


class _TextDumper(StrDumper):
    """PostgreSQL has no NUL in texts; SQLite keeps one, and output of programs may hold any."""

    def dump(self, obj: str) -> Any:
        """The text with the sign for what cannot be shown in the place of each NUL."""
        return super().dump(obj.replace("\0", "\ufffd"))


class PostgresCursor:
    """One statement after the other on a connection, each with a cursor of its own: what a pipeline wants."""

    dialect = "postgresql"
    __slots__ = ("_last", "_pipeline", "_raw")

    def __init__(self, raw: psycopg.Connection[Any], pipeline: psycopg.Pipeline | None = None) -> None:
        self._raw = raw
        self._pipeline = pipeline
        self._last: psycopg.Cursor[Any] | None = None

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed; waits for it."""
        assert self._last is not None
        if self._pipeline is not None:
            self._pipeline.sync()
        return self._last.rowcount

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = (), /) -> Cursor:
        """Send one statement."""
        self._last = self._raw.execute(cast(Any, sql), parameters or None)
        return self

    def executemany(self, sql: str, parameters: Any, /) -> Cursor:
        """Send it once per row."""
        for each in parameters:
            self.execute(sql, each)
        return self

    def fetchone(self) -> Any:
        """The next row of the last statement."""
        assert self._last is not None
        return self._last.fetchone()


class Postgres:
    """One database of a server; see ``drivers.Driver`` for what each part promises."""

    errors: tuple[type[Exception], ...] = (psycopg.Error, DBAPIError)
    shared = True
    clock = """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')"""

    def __init__(self, url: str, synchronous: str, patience: float) -> None:
        try:
            made = make_url(url)
        except (ArgumentError, ValueError) as error:
            raise InvalidSetting("the store address cannot be read", f"use {SCHEME}user@host/database") from error
        self.name = made.difference_update_query(["password"]).set(password=None).render_as_string()
        self._address = made.set(drivername="postgresql").render_as_string(hide_password=False)
        self._commit = "off" if synchronous == "OFF" else "on"
        self._patience = patience

    def prepare(self) -> None:
        """Nothing: the database must be there."""

    def writer_engine(self) -> Engine:
        """Over one long-lived connection; the cold path's transactions take turns."""
        engine = _plain(create_engine(SCHEME, creator=self._connected, poolclass=StaticPool))
        event.listen(engine, "begin", _take_turn)
        return engine

    def reader_engine(self) -> Engine:
        """Over pooled connections that cannot write; each read sees one moment."""
        pool = {"poolclass": QueuePool, "pool_size": _READERS, "max_overflow": 4 * _READERS}
        return _plain(create_engine(SCHEME, creator=self._reading, **pool))

    def looking_engine(self) -> Engine:
        """Over connections that cannot write."""
        return _plain(create_engine(SCHEME, creator=self._reading, poolclass=NullPool))

    @contextmanager
    def writing(self, raw: Any) -> Iterator[Cursor]:
        """A transaction in pipeline mode."""
        with raw.pipeline() as pipeline:
            yield PostgresCursor(raw, pipeline)
            raw.commit()

    def cursor(self, raw: Any) -> Cursor:
        """A cursor inside an open transaction."""
        return PostgresCursor(raw)

    def settle(self, raw: Any) -> None:
        """Roll back what is still open."""
        if not raw.closed and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            raw.rollback()

    def under_way(self, raw: Any) -> bool:
        """False when the server hung up."""
        return not raw.closed and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def gone(self, raw: Any) -> bool:
        """Whether the server hung up."""
        return bool(raw.closed)

    def ready(self, _raw: Any) -> bool:
        """Always: there is no mode of a file to set."""
        return True

    def make_ready(self, _raw: Any) -> None:
        """Nothing to set."""

    def exists(self) -> bool:
        """Always worth a look; one that cannot be reached says so."""
        return True

    def faults(self, _connection: Connection, *, quick: bool) -> tuple[str, ...]:
        """None: the server watches over its own files, with checksums where they are switched on."""
        del quick
        return ()

    def stored_revision(self, raw: Any) -> str:
        """The revision of the store, empty for one without tables."""
        if raw.execute("SELECT to_regclass('alembic_version')").fetchone()[0] is None:
            return ""
        row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
        return str(row[0]) if row else ""

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Nothing to hold: the migration is one transaction of the cold path, which takes turns."""
        yield

    def made_from(self, _raw: Any, _script: str) -> bool:
        """Never: the script is SQLite's."""
        return False

    def translated(self, error: Exception) -> StoreError | None:
        """Our exception for one of the database's, None for a programming error or a broken constraint."""
        return translated(error)

    def _connected(self) -> psycopg.Connection[Any]:
        options = f"-c synchronous_commit={self._commit} -c lock_timeout={int(1000 * self._patience)}"
        raw = psycopg.connect(self._address, options=options, connect_timeout=10, application_name="pointsman")
        raw.adapters.register_dumper(str, _TextDumper)
        raw.prepare_threshold = 2
        return raw

    def _reading(self) -> psycopg.Connection[Any]:
        raw = self._connected()
        raw.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        raw.read_only = True
        return raw


def translated(error: Exception) -> StoreError | None:
    """As ``Postgres.translated``."""
    original = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(original, "sqlstate", None) or ""
    if not state and isinstance(original, psycopg.OperationalError):
        state = "08"
    for beginning, ours, hint in _ERRORS:
        if state.startswith(beginning):
            said = str(original).strip().splitlines() or [""]
            return ours(f"{(ours.__doc__ or '').rstrip('.')}: {said[0]}", hint)
    return None


def _plain(engine: Engine) -> Engine:
    """Without a width in the text of statements."""
    engine.dialect.colspecs = {**engine.dialect.colspecs, Integer: _Whole}
    return engine


def _take_turn(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_TURN})")
