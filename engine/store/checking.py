"""Whether a store is sound, row by row: what ``pointsman db check`` tells. It reads; it repairs and migrates nothing.

Called by the command line on a store that may be old, damaged, or a backup that nobody opened yet. Tables of other
rooms are handed in. It promises nothing about the moment after it looked, and judges single values, not their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Float, Integer, Table, inspect, text
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.types import TypeDecorator

from engine.store import health
from engine.store.columns import Json, Undecodable, UtcTime, read_json
from engine.store.names import TABLES
from engine.store.removal import OWNED_BY_RUNS

_PAGE = 500
_DIALECT = DefaultDialect()


@dataclass(frozen=True, slots=True)
class TableCheck:
    """One table. ``strays`` are rows of a run that is not there: harmless leftovers of an interrupted launch."""

    rows: int = 0
    unreadable: int = 0
    strays: int = 0


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What was found. ``faults`` are the database's own words about its file; ``tables`` by name."""

    revision: str
    faults: tuple[str, ...] = ()
    tables: Mapping[str, TableCheck] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """Whether the file is whole and every row can be read."""
        return not self.faults and not any(each.unreadable for each in self.tables.values())


def check(url: str, others: Iterable[Table] = (), json_columns: Mapping[str, Iterable[str]] = {}) -> StoreCheck:
    """Look at every row of the engine's tables and of ``others``.

    ``json_columns`` names, by table, plain text columns that hold JSON. Raises InvalidSetting, StoreUnreachable.
    """
    with health.looking(url) as seen:
        connection, revision, faults = seen.connection, seen.revision, seen.faults()
        if faults:
            return StoreCheck(revision, faults)
        there = frozenset(inspect(connection).get_table_names())
        wanted = [one for one in (*TABLES.values(), *others) if one.name in there]
        found = {one.name: _check_table(connection, one, frozenset(json_columns.get(one.name, ()))) for one in wanted}
    return StoreCheck(revision, (), found)


def _check_table(connection: Connection, table: Table, json_columns: frozenset[str]) -> TableCheck:
    judges = [_judge(column, column.name in json_columns) for column in table.columns]
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    rows = unreadable = 0
    for row in connection.execute(text(f'SELECT {names} FROM "{table.name}"')).yield_per(_PAGE):  # noqa: S608
        rows += 1
        unreadable += not all(judge(value) for judge, value in zip(judges, row, strict=True))
    return TableCheck(rows, unreadable, _strays(connection, table.name))


def _strays(connection: Connection, name: str) -> int:
    if name not in OWNED_BY_RUNS:
        return 0
    query = f'SELECT count(*) FROM "{name}" t WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.id = t.run_id)'  # noqa: S608
    return int(connection.execute(text(query)).scalar_one())


def _judge(column: Column[Any], holds_json: bool) -> Callable[[object], bool]:
    """Whether a stored value is one that the column's reader takes."""
    kind = column.type
    if isinstance(kind, TypeDecorator) and isinstance(kind, Json | UtcTime):
        return lambda value: not isinstance(kind.process_result_value(value, _DIALECT), Undecodable)
    if holds_json:
        return lambda value: isinstance(value, str) and not isinstance(read_json(value), Undecodable)
    if isinstance(kind, TypeDecorator) and not isinstance(kind.impl_instance, Integer):
        read = kind.result_processor(_DIALECT, None)
        return lambda value: _is_text(value) and (read is None or _reads(read, value))
    if isinstance(kind, Float):
        return lambda value: value is None or isinstance(value, int | float)
    whole = isinstance(kind, Integer | Boolean | TypeDecorator)
    return _is_whole if whole else _is_text


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_whole(value: object) -> bool:
    return value is None or isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _reads(reader: Callable[[Any], object], value: object) -> bool:
    try:
        reader(value)
    except (ValueError, TypeError):
        return False
    return True
