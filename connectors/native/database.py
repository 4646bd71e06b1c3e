"""What the native board needs of the store's database. The engine's ``Database`` satisfies it; wiring hands it over."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sqlalchemy import ClauseElement, Connection


class Rows(Protocol):
    """What a statement gave, as plain tuples."""

    def fetchone(self) -> Any:
        """The next row, None when there is none."""
        ...


class Database(Protocol):
    """An open store: one writer at a time, any number of readers."""

    def write(self) -> AbstractContextManager[Connection]:
        """A write transaction; committed at the end of the block, rolled back when the block raises."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """A read transaction: all its statements see one moment."""
        ...

    def run(self, connection: Connection, statement: ClauseElement, values: Mapping[str, Any]) -> Rows:
        """Execute a statement inside an open transaction; one that is a constant, since it is compiled once."""
        ...

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the store's one counter (dispatcher.md 1)."""
        ...
