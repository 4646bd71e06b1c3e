"""Core statements compiled once, for the driver's own cursor: the cost of SQLAlchemy is paid at the first use of each.

Called by the modules of this folder that write. The driver keeps the prepared form by its text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    Column,
    ColumnElement,
    Table,
    TextClause,
    Update,
    bindparam,
    func,
    insert,
    select,
)
from sqlalchemy.dialects.sqlite import insert as upsert_into
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from engine.store.columns import Flag, Json, UtcTime, instant_text, json_text, read_instant, read_json
from engine.store.cursors import Cursor

_DIALECT = SQLiteDialect_pysqlite()
_ENCODERS: Mapping[type, Callable[[Any], Any]] = {UtcTime: instant_text, Json: json_text, Flag: int}
_DECODERS: Mapping[type, Callable[[object], Any]] = {UtcTime: read_instant, Json: read_json}


class _Form:
    """A statement in the words of one database, with what becomes of each value on its way."""

    __slots__ = ("_constants", "_encoders", "_pick", "sql")

    def __init__(self, statement: ClauseElement, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)
        self.sql = str(compiled)
        names = tuple(compiled.positiontup or ())
        self._pick = _picker(names)
        self._encoders = tuple(
            (place, encode)
            for place, name in enumerate(names)
            if (encode := _encoder_of(compiled.binds[name].type, dialect)) is not None
        )
        self._constants = {name: bound.value for name, bound in compiled.binds.items() if not bound.required}

    def row(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the statement's order."""
        if self._constants:
            values = {**self._constants, **values}
        row = list(self._pick(values))
        for place, encode in self._encoders:
            if row[place] is not None:
                row[place] = encode(row[place])
        return row


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Iterable[Any]]:
    """What takes the values of these names out of a map, in their order."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: [values[name] for name in names]


def _encoder_of(kind: TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """What becomes of a value that is not null; None where nothing does."""
    return _ENCODERS.get(type(kind)) or kind.dialect_impl(dialect).bind_processor(dialect)


class Prepared:
    """One statement with named values; values that stand in the statement itself need not be named.

    ``elsewhere`` makes the statement for PostgreSQL where the two need different ones.
    """

    __slots__ = ("_elsewhere", "_here", "_statement", "_there")

    def __init__(self, statement: ClauseElement, elsewhere: Callable[[], ClauseElement] | None = None) -> None:
        self._statement = statement
        self._elsewhere = elsewhere or (lambda: statement)
        self._here: _Form | None = None
        self._there: _Form | None = None

    @property
    def sql(self) -> str:
        """The statement as SQLite takes it."""
        return self._for_sqlite().sql

    def run(self, cursor: Cursor, values: Mapping[str, Any]) -> Cursor:
        """Execute with these values; every name of the statement must be there."""
        form = self._form(cursor)
        return cursor.execute(form.sql, form.row(values))

    def run_many(self, cursor: Cursor, rows: list[dict[str, Any]]) -> None:
        """Execute once per row."""
        form = self._form(cursor)
        cursor.executemany(form.sql, [form.row(row) for row in rows])

    def _form(self, cursor: Cursor) -> _Form:
        """The statement as the cursor's database takes it."""
        if isinstance(cursor, sqlite3.Cursor):
            return self._here or self._for_sqlite()
        return self._there or self._for_postgres()

    def _for_sqlite(self) -> _Form:
        """Compiled at the first use: most processes use few of all statements. Threads that race make the same."""
        if self._here is None:
            self._here = _Form(self._statement, _DIALECT)
        return self._here

    def _for_postgres(self) -> _Form:
        if self._there is None:
            from engine.store.postgres import DIALECT

            self._there = _Form(self._elsewhere(), DIALECT)
        return self._there


def inserting(table: Table) -> Prepared:
    """An insert of all columns."""
    return Prepared(insert(table).values(_all_of(table)))


def inserting_new(table: Table) -> Prepared:
    """An insert of all columns that changes no row where the key is taken."""

    def there() -> ClauseElement:
        from engine.store.postgres import insert_into

        return insert_into(table).values(_all_of(table)).on_conflict_do_nothing()

    return Prepared(upsert_into(table).values(_all_of(table)).on_conflict_do_nothing(), there)


def upserting(table: Table, largest: str = "") -> Prepared:
    """An insert of all columns that replaces a row of the same key; the column ``largest`` never gets smaller."""

    def there() -> ClauseElement:
        from engine.store.postgres import insert_into

        return _replacing(insert_into(table), table, largest, func.greatest)

    return Prepared(_replacing(upsert_into(table), table, largest, func.max), there)


def _replacing(begun: Any, table: Table, largest: str, larger: Callable[..., Any]) -> ClauseElement:
    statement = begun.values(_all_of(table))
    keys = [column.name for column in table.primary_key]
    changed: dict[str, ColumnElement[Any]] = {
        column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys
    }
    if largest:
        changed[largest] = larger(table.c[largest], statement.excluded[largest])
    replacing: ClauseElement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
    return replacing


def _all_of(table: Table) -> dict[str, BindParameter[Any]]:
    return {column.name: _bound(column) for column in table.columns}


def _bound(column: Column[Any]) -> BindParameter[Any]:
    return bindparam(column.name, type_=column.type)


@cache
def prepared(statement: ClauseElement) -> Prepared:
    """The statement, compiled once per process: for statements that are constants of their modules."""
    return Prepared(statement)


class Broken(NamedTuple):
    """A row as it lies there, and why it cannot be read."""

    row: Mapping[str, Any]
    why: str


class _Decoded:
    """A statement whose rows are whole columns of one table, decoded as their types say."""

    __slots__ = ("_columns", "_statement")

    def __init__(self, statement: Prepared, columns: Iterable[Column[Any]]) -> None:
        self._statement = statement
        self._columns = tuple((column.name, _decoder(column)) for column in columns)

    @property
    def sql(self) -> str:
        """The statement as SQLite takes it."""
        return self._statement.sql

    def one(self, cursor: Cursor, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first row by column name, None when there is none."""
        found = self._statement.run(cursor, values).fetchone()
        return None if found is None else self._decoded(found)

    def many(self, cursor: Cursor, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Every row by column name."""
        said = self._statement.run(cursor, values)
        return [self._decoded(row) for row in iter(said.fetchone, None)]

    def sound(self, cursor: Cursor, values: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[Broken]]:
        """As ``many``, without the rows of which something cannot be decoded: those come beside, with what is wrong."""
        said = self._statement.run(cursor, values)
        found, broken = list[dict[str, Any]](), list[Broken]()
        for row in iter(said.fetchone, None):
            try:
                found.append(self._decoded(row))
            except (ValueError, TypeError) as error:
                raw = {name: value for (name, _), value in zip(self._columns, row, strict=True)}
                broken.append(Broken(raw, str(error)))
        return found, broken

    def _decoded(self, row: Sequence[Any]) -> dict[str, Any]:
        return {
            name: value if decode is None or value is None else decode(value)
            for (name, decode), value in zip(self._columns, row, strict=True)
        }


class PreparedUpdate(_Decoded):
    """An update that gives back the whole rows that it changed, as they are then."""

    __slots__ = ()

    def __init__(self, statement: Update, table: Table) -> None:
        super().__init__(Prepared(statement.returning(*table.columns)), table.columns)


class PreparedRead(_Decoded):
    """A select.

    Inside a write it locks what it reads; ``locking`` False is for reads of their own and for many rows. ``limited``
    ones take the value ``most``: how many rows at most.
    """

    __slots__ = ()

    def __init__(
        self,
        columns: Iterable[Column[Any]],
        *conditions: ColumnElement[bool] | TextClause,
        order: Iterable[ColumnElement[Any]] = (),
        locking: bool = True,
        limited: bool = False,
    ) -> None:
        kept = tuple(columns)
        query = select(*kept).where(*conditions).order_by(*order)
        query = query.limit(bindparam("most")) if limited else query
        super().__init__(Prepared(query, query.with_for_update if locking else None), kept)


def _decoder(column: Column[Any]) -> Callable[[Any], Any] | None:
    """What makes a value of what the driver hands over; the same for all databases, by how the columns are kept."""
    known = _DECODERS.get(type(column.type))
    return known or column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None)


LARGEST = 256
"""How many values one statement of ``Among`` names."""


class Among:
    """A select of whole columns where one of them has one of many values; a few statements, whatever their number."""

    __slots__ = ("_column", "_columns", "_conditions", "_reads")

    def __init__(self, columns: Iterable[Column[Any]], column: Column[Any], *conditions: ColumnElement[bool]) -> None:
        self._columns, self._column, self._conditions = tuple(columns), column, conditions
        self._reads: dict[int, PreparedRead] = {}

    def many(self, cursor: Cursor, values: Iterable[Any]) -> list[dict[str, Any]]:
        """The rows of those values, in the order of the sorted values' pieces."""
        return [row for read, part in self._parts(values) for row in read.many(cursor, part)]

    def sound(self, cursor: Cursor, values: Iterable[Any]) -> tuple[list[dict[str, Any]], list[Broken]]:
        """As ``many``, without the rows that cannot be decoded; those come beside."""
        found = [read.sound(cursor, part) for read, part in self._parts(values)]
        return [row for rows, _ in found for row in rows], [each for _, broken in found for each in broken]

    def _parts(self, values: Iterable[Any]) -> Iterator[tuple[PreparedRead, Mapping[str, Any]]]:
        every = sorted(set(values))
        for start in range(0, len(every), LARGEST):
            part = every[start : start + LARGEST]
            size = 1 << (len(part) - 1).bit_length()
            padded = part + part[:1] * (size - len(part))
            yield self._read(size), {f"among_{place}": value for place, value in enumerate(padded)}

    def _read(self, size: int) -> PreparedRead:
        known = self._reads.get(size)
        if known is None:
            wanted = self._column.in_([bindparam(f"among_{place}", type_=self._column.type) for place in range(size)])
            known = self._reads[size] = PreparedRead(self._columns, wanted, *self._conditions, locking=False)
        return known
