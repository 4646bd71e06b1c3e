"""Core statements compiled once, for the driver's own cursor: the cost of SQLAlchemy is paid at import, not per step.

Called by the modules of this folder that write. The driver keeps the prepared form by its text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, Column, ColumnElement, Table, bindparam, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert_into
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.compiler import SQLCompiler

from engine.store.columns import Json, UtcTime, read_instant, read_json

_DIALECT = SQLiteDialect_pysqlite()
_DECODERS: Mapping[type, Callable[[object], Any]] = {UtcTime: read_instant, Json: read_json}


class Prepared:
    """One statement with named values; values that stand in the statement itself need not be named."""

    __slots__ = ("_constants", "_takes", "sql")

    def __init__(self, statement: ClauseElement) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        assert isinstance(compiled, SQLCompiler)
        self.sql = str(compiled)
        self._takes = tuple(
            (name, compiled.binds[name].type.dialect_impl(_DIALECT).bind_processor(_DIALECT))
            for name in compiled.positiontup or ()
        )

        self._constants = {name: bound.value for name, bound in compiled.binds.items() if not bound.required}

    def run(self, cursor: sqlite3.Cursor, values: Mapping[str, Any]) -> sqlite3.Cursor:
        """Execute with these values; every name of the statement must be there."""
        return cursor.execute(self.sql, self._row(values))

    def run_many(self, cursor: sqlite3.Cursor, rows: list[dict[str, Any]]) -> None:
        """Execute once per row."""
        cursor.executemany(self.sql, [self._row(row) for row in rows])

    def _row(self, values: Mapping[str, Any]) -> list[Any]:
        if self._constants:
            values = {**self._constants, **values}
        return [values[name] if process is None else process(values[name]) for name, process in self._takes]


def inserting(table: Table) -> Prepared:
    """An insert of all columns."""
    return Prepared(insert(table).values({column.name: _bound(column) for column in table.columns}))


def upserting(table: Table, largest: str = "") -> Prepared:
    """An insert of all columns that replaces a row of the same key; the column ``largest`` never gets smaller."""
    statement = upsert_into(table).values({column.name: _bound(column) for column in table.columns})
    keys = [column.name for column in table.primary_key]
    changed: dict[str, ColumnElement[Any]] = {
        column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys
    }
    if largest:
        changed[largest] = func.max(table.c[largest], statement.excluded[largest])
    return Prepared(statement.on_conflict_do_update(index_elements=keys, set_=changed))


def _bound(column: Column[Any]) -> BindParameter[Any]:
    return bindparam(column.name, type_=column.type)


class PreparedRead:
    """A select of whole columns of one table, read on the driver's cursor and decoded as the column types say."""

    __slots__ = ("_columns", "_statement")

    def __init__(self, columns: Iterable[Column[Any]], *conditions: ColumnElement[bool]) -> None:
        kept = tuple(columns)
        self._statement = Prepared(select(*kept).where(*conditions))
        self._columns = tuple((column.name, _DECODERS.get(type(column.type))) for column in kept)

    def one(self, cursor: sqlite3.Cursor, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first row by column name, None when there is none."""
        found = self._statement.run(cursor, values).fetchone()
        if found is None:
            return None
        pairs = zip(self._columns, found, strict=True)
        return {name: value if decode is None or value is None else decode(value) for (name, decode), value in pairs}
