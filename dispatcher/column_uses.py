"""Where the configuration names a column: for renames and deletions on the native board (dispatcher.md 29). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings


def role_columns(settings: Settings) -> frozenset[str]:
    """The columns that a role needs; they cannot be deleted."""
    return frozenset(name for name in settings.columns.model_dump().values() if name)


def keys_naming(settings: Settings, board: str, column: str) -> tuple[str, ...]:
    """The configuration keys that hold the name, as dotted paths."""
    found = [f"columns.{role}" for role, name in settings.columns.model_dump().items() if name == column]
    caps = ("by_column", "wip")
    found += [f"concurrency.{key}.{column}" for key in caps if column in getattr(settings.concurrency, key)]
    mapped = [each.name for each in settings.boards if each.name == board and column in each.columns]
    found += [f"boards[{name}].columns.{column}" for name in mapped]
    return tuple(found)
