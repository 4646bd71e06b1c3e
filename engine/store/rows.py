"""Reading one stored row with care: what cannot be decoded is refused with table, id and column (engine.md 2.3).

Called by the modules of this folder that read.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from engine.errors import RecordUnreadable
from engine.store.columns import Undecodable

_HINT = "the other records are not affected; restore this row from a backup, or delete the run"


class Row:
    """A row of ``table`` under ``key``; each reader returns a value of its type or raises RecordUnreadable."""

    __slots__ = ("_key", "_table", "_values")

    def __init__(self, table: str, key: str, values: Mapping[Any, Any]) -> None:
        self._table, self._key, self._values = table, key, values

    def text(self, column: str) -> str:
        """Text."""
        value = self._values[column]
        return value if isinstance(value, str) else self.refuse(column, "text")

    def integer(self, column: str) -> int:
        """A whole number; an older writer's ``2.0`` is 2."""
        value = self._values[column]
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return int(value) if isinstance(value, int) else self.refuse(column, "a whole number")

    def number(self, column: str) -> float:
        """A number."""
        value = self._values[column]
        return float(value) if isinstance(value, int | float) else self.refuse(column, "a number")

    def truth(self, column: str) -> bool:
        """A truth value."""
        return bool(self.integer(column))

    def instant(self, column: str) -> datetime:
        """An instant."""
        value = self._values[column]
        return value if isinstance(value, datetime) else self.refuse(column, "an instant")

    def maybe_instant(self, column: str) -> datetime | None:
        """An instant or nothing."""
        return None if self._values[column] is None else self.instant(column)

    def mapping(self, column: str) -> dict[str, Any]:
        """A JSON object; nothing counts as an empty one."""
        value = self._values[column]
        if value is None:
            return {}
        return value if isinstance(value, dict) else self.refuse(column, "a JSON object")

    def maybe_mapping(self, column: str) -> dict[str, Any] | None:
        """A JSON object or nothing."""
        return None if self._values[column] is None else self.mapping(column)

    def items(self, column: str) -> tuple[Any, ...]:
        """A JSON list."""
        value = self._values[column]
        return tuple(value) if isinstance(value, list) else self.refuse(column, "a JSON list")

    def texts(self, column: str) -> tuple[str, ...]:
        """A JSON list of texts; nothing counts as an empty one."""
        return tuple(map(str, self.items(column))) if self._values[column] is not None else ()

    def json(self, column: str) -> Any:
        """Any JSON value."""
        value = self._values[column]
        return self.refuse(column, "JSON") if isinstance(value, Undecodable) else value

    def refuse(self, column: str, wanted: str) -> NoReturn:
        """Raise RecordUnreadable for the column."""
        message = f"table {self._table}, id {self._key}: column {column} does not hold {wanted}"
        raise RecordUnreadable(message, _HINT)
