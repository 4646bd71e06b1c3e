"""How an instant lies in a column: text that sorts by time (dispatcher.md 3)."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator


class Instant(TypeDecorator[datetime]):
    """An aware UTC instant, stored as text that sorts by time."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """To ``2026-01-02T03:04:05.000000Z``."""
        del dialect
        return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """Back to an aware instant."""
        del dialect
        return None if value is None else datetime.fromisoformat(value)
