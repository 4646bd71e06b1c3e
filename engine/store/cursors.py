"""The driver's own cursor inside an open write, as the hot path sees it: the little that all databases have in common.

Handed out by ``Database.write_raw``. Texts of statements are the database's own, except in ``Prepared``, which has one
for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Cursor(Protocol):
    """Executes, and reads what came back."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""
        ...

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ..., /) -> Cursor:
        """Execute one statement."""
        ...

    def executemany(self, sql: str, parameters: Any, /) -> Cursor:
        """Execute it once per row."""
        ...

    def fetchone(self) -> Any:
        """The next row, None when there is none."""
        ...
