"""What the native board needs of the store's database. The engine's ``Database`` satisfies it; wiring hands it over."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection


class Database(Protocol):
    """An open store: one writer at a time, any number of readers."""

    def write(self) -> AbstractContextManager[Connection]:
        """A write transaction; committed at the end of the block, rolled back when the block raises."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """A read transaction: all its statements see one moment."""
        ...

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the store's one counter (dispatcher.md 1)."""
        ...
