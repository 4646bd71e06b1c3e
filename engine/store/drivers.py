"""Which database an address means, and what each of them must be able to do: the seam between SQLite and PostgreSQL.

Called by ``database.py``, ``schema.py`` and ``health.py``. A driver holds no connection.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import Connection, Engine

from engine.errors import InvalidSetting, StoreError
from engine.store.cursors import Cursor
from engine.store.sqlite import SYNCHRONOUS, Sqlite

POSTGRES = "postgresql"


class Driver(Protocol):
    """One database, by its address. ``raw`` is the connection of the database's own library."""

    @property
    def name(self) -> str:
        """The address without its password."""
        ...

    @property
    def shared(self) -> bool:
        """Whether processes of other hosts may use the store, whose locks cannot be seen from here."""
        ...

    @property
    def clock(self) -> str:
        """The statement that asks for the store's own time: one row with one text, UTC without an offset."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the library raises."""
        ...

    def exists(self) -> bool:
        """Whether there is a database to look at."""
        ...

    def faults(self, connection: Connection, *, quick: bool) -> tuple[str, ...]:
        """What the database finds wrong with its own files, in its words."""
        ...

    def prepare(self) -> None:
        """Make what must be there before the first connection."""
        ...

    def writer_engine(self) -> Engine:
        """Over one long-lived connection; its transactions exclude each other over all processes."""
        ...

    def reader_engine(self) -> Engine:
        """Over pooled connections that cannot write; each transaction sees one moment."""
        ...

    def looking_engine(self) -> Engine:
        """Over connections that cannot write, to a store of any schema; makes nothing."""
        ...

    @property
    def writing(self) -> Callable[[Any], AbstractContextManager[Cursor]]:
        """A transaction on a raw connection: committed at the end of the block, left open when it raises."""
        ...

    def cursor(self, raw: Any) -> Cursor:
        """A cursor inside an open transaction."""
        ...

    def settle(self, raw: Any) -> None:
        """End a transaction that was left open."""
        ...

    def under_way(self, raw: Any) -> bool:
        """Whether a transaction is open: the database may have taken it back by itself."""
        ...

    def gone(self, raw: Any) -> bool:
        """Whether the connection was lost for good."""
        ...

    def ready(self, raw: Any) -> bool:
        """Whether ``make_ready`` has nothing to do."""
        ...

    def make_ready(self, raw: Any) -> None:
        """Set what is kept with the database itself."""
        ...

    def stored_revision(self, raw: Any) -> str:
        """The revision of the store, empty for one without tables. Raises StoreUnreachable for another's database."""
        ...

    @property
    def migrating(self) -> Callable[[], AbstractContextManager[None]]:
        """Keeps other processes from migrating. Raises StoreBusy."""
        ...

    def made_from(self, raw: Any, script: str) -> bool:
        """Whether the tables were made at once, from a script in SQLite's words."""
        ...

    def translated(self, error: Exception) -> StoreError | None:
        """Our exception for one of the database's, None for a programming error or a broken constraint."""
        ...


def driver_of(url: str, synchronous: str = "FULL", patience: float = 30.0) -> Driver:
    """The driver of an address; ``patience`` in seconds bounds each wait. Raises InvalidSetting."""
    if synchronous.upper() not in SYNCHRONOUS:
        known = ", ".join(SYNCHRONOUS)
        raise InvalidSetting(f"store.synchronous is {synchronous!r}", f"use one of {known}")
    if not url.startswith(POSTGRES):
        return Sqlite(url, synchronous.upper(), patience)
    try:
        from engine.store.postgres import Postgres
    except ModuleNotFoundError as error:
        message = "a PostgreSQL store needs the library psycopg, which is not installed"
        raise InvalidSetting(message, "install it: pip install 'pointsman[postgres]'") from error
    return Postgres(url, synchronous.upper(), patience)
