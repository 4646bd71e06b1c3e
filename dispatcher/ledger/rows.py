"""Between table rows and records: the few statements that all verbs of the ledger are made of, each compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, ColumnElement, Table, Update, bindparam, delete, insert, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from dispatcher.ledger.records import Claim, ClaimState, Follows, Settlement
from engine.run import Owner
from engine.store.cursors import Cursor
from engine.store.prepared import Prepared, PreparedRead, PreparedUpdate

Row = dict[str, Any]
"""A row by column name, decoded."""


def one(cursor: Cursor, table: Table, **key: object) -> Row | None:
    """The row with that key."""
    return _reading(table, tuple(key)).one(cursor, {f"where_{name}": value for name, value in key.items()})


def many(cursor: Cursor, table: Table, **where: object) -> list[Row]:
    """Every row that matches."""
    return _reading(table, tuple(where)).many(cursor, {f"where_{name}": value for name, value in where.items()})


def add(cursor: Cursor, table: Table, values: Mapping[str, object]) -> None:
    """Insert a row whose key the database gives."""
    _adding(table, tuple(values)).run(cursor, values)


def put(cursor: Cursor, table: Table, values: Mapping[str, object]) -> None:
    """Insert the row, or replace what ``values`` names in the one with its primary key."""
    _putting(table, tuple(values)).run(cursor, {**_blank(table), **values})


def change(cursor: Cursor, table: Table, where: Mapping[str, object], **values: object) -> int:
    """Update the rows that match ``where``; how many changed."""
    named = {f"where_{name}": value for name, value in where.items()}
    return _changing(table, tuple(where), tuple(values)).run(cursor, {**named, **values}).rowcount


def changed(cursor: Cursor, table: Table, where: Mapping[str, object], **values: object) -> Row | None:
    """As ``change`` of one row; the row as it is then."""
    named = {f"where_{name}": value for name, value in where.items()}
    return _changing_one(table, tuple(where), tuple(values)).one(cursor, {**named, **values})


def remove(cursor: Cursor, table: Table, **where: object) -> int:
    """Delete the rows that match; how many there were."""
    named = {f"where_{name}": value for name, value in where.items()}
    return _removing(table, tuple(where)).run(cursor, named).rowcount


@cache
def _reading(table: Table, names: tuple[str, ...]) -> PreparedRead:
    return PreparedRead(table.columns, *_conditions(table, names), locking=False)


@cache
def _adding(table: Table, names: tuple[str, ...]) -> Prepared:
    return Prepared(insert(table).values({name: _bound(table, name) for name in names}))


@cache
def _putting(table: Table, names: tuple[str, ...]) -> Prepared:
    def elsewhere() -> ClauseElement:
        from engine.store.postgres import insert_into

        return _replacing(insert_into(table), table, names)

    return Prepared(_replacing(sqlite_insert(table), table, names), elsewhere)


@cache
def _changing(table: Table, where: tuple[str, ...], names: tuple[str, ...]) -> Prepared:
    return Prepared(_update(table, where, names))


@cache
def _changing_one(table: Table, where: tuple[str, ...], names: tuple[str, ...]) -> PreparedUpdate:
    return PreparedUpdate(_update(table, where, names), table)


def _update(table: Table, where: tuple[str, ...], names: tuple[str, ...]) -> Update:
    values = {name: _bound(table, name) for name in names}
    return update(table).where(*_conditions(table, where)).values(values)


@cache
def _removing(table: Table, names: tuple[str, ...]) -> Prepared:
    return Prepared(delete(table).where(*_conditions(table, names)))


def _replacing(begun: Any, table: Table, names: tuple[str, ...]) -> ClauseElement:
    statement = begun.values({column.name: _bound(table, column.name) for column in table.columns})
    keys = [column.name for column in table.primary_key]
    rest = {name: statement.excluded[name] for name in names if name not in keys}
    replacing: ClauseElement = statement.on_conflict_do_update(index_elements=keys, set_=rest) if rest else statement
    return replacing


def _conditions(table: Table, names: tuple[str, ...]) -> list[ColumnElement[bool]]:
    return [table.c[name] == bindparam(f"where_{name}", type_=table.c[name].type) for name in names]


def _bound(table: Table, name: str) -> BindParameter[Any]:
    return bindparam(name, type_=table.c[name].type)


@cache
def _blank(table: Table) -> Mapping[str, object]:
    """What a column holds when nobody says."""
    return {column.name: getattr(column.default, "arg", None) for column in table.columns}


def values_of(record: Any) -> dict[str, Any]:
    """A flat record of ``records`` as columns."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def claim_of(row: Mapping[str, Any]) -> Claim:
    """A claim record with its owner."""
    owner = Owner(row["instance"], row["host"], row["boot"], row["pid"], row["start_ticks"])
    return Claim(
        row["board"],
        row["card_id"],
        ClaimState(row["state"]),
        row["epoch"],
        row["run_id"],
        owner,
        row["claimed_at"],
    )


def settlement_of(row: Mapping[str, Any]) -> Settlement:
    """A settlement record."""
    return Settlement(**{**row, "follows": Follows(row["follows"])})


def owner_columns(owner: Owner) -> dict[str, object]:
    """An owner as columns."""
    return {
        "instance": owner.instance,
        "host": owner.host,
        "boot": owner.boot,
        "pid": owner.pid,
        "start_ticks": owner.start_ticks,
    }
