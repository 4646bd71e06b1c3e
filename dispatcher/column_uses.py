"""Where the configuration names a column: for renames and deletions on the native board (dispatcher.md 29). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings


def role_columns(settings: Settings) -> frozenset[str]:
    """The columns that a role needs; they cannot be deleted."""
    return frozenset(name for _, name in role_keys(settings))


def role_keys(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The configuration keys of the roles, each with the column that it names."""
    return tuple((f"columns.{role}", name) for role, name in settings.columns.model_dump().items() if name)


def cap_columns(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The configuration keys that limit a column, each with its name."""
    caps = ("by_column", "wip")
    return tuple((f"concurrency.{key}.{name}", name) for key in caps for name in getattr(settings.concurrency, key))


def keys_naming(settings: Settings, board: str, column: str) -> tuple[str, ...]:
    """The configuration keys that hold the name, as dotted paths."""
    found = [key for key, name in (*role_keys(settings), *cap_columns(settings)) if name == column]
    mapped = [each.name for each in settings.boards if each.name == board and column in each.columns]
    found += [f"boards[{name}].columns.{column}" for name in mapped]
    return tuple(found)
