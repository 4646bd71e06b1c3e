"""Between table rows and records: the few Core statements that all verbs of the ledger are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from sqlalchemy import Connection, RowMapping, Table, and_, delete, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlmodel import SQLModel

from dispatcher.ledger.records import Claim, ClaimState, Follows, Settlement
from engine.run import Owner


class Sequences(Protocol):
    """Who hands out the store sequence inside a write."""

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the whole store."""
        ...


def table_of(model: type[SQLModel]) -> Table:
    """The Core table behind a SQLModel class."""
    return cast(Table, cast(Any, model).__table__)


def one(connection: Connection, model: type[SQLModel], **key: object) -> RowMapping | None:
    """The row with that key."""
    table = table_of(model)
    return connection.execute(select(table).where(_matches(table, key))).mappings().first()


def put(connection: Connection, model: type[SQLModel], values: Mapping[str, object]) -> None:
    """Insert the row, or replace what ``values`` names in the one with its primary key."""
    table = table_of(model)
    insert = postgres_insert if connection.dialect.name == "postgresql" else sqlite_insert
    keys = [column.name for column in table.primary_key]
    rest = {name: value for name, value in values.items() if name not in keys}
    statement = insert(table).values(dict(values))
    statement = statement.on_conflict_do_update(index_elements=keys, set_=rest) if rest else statement
    connection.execute(statement)


def change(connection: Connection, model: type[SQLModel], where: Mapping[str, object], **values: object) -> int:
    """Update the rows that match ``where``; how many changed."""
    table = table_of(model)
    return connection.execute(update(table).where(_matches(table, where)).values(**values)).rowcount


def remove(connection: Connection, model: type[SQLModel], **where: object) -> int:
    """Delete the rows that match; how many there were."""
    table = table_of(model)
    return connection.execute(delete(table).where(_matches(table, where))).rowcount


def _matches(table: Table, where: Mapping[str, object]) -> Any:
    return and_(*(table.c[name] == value for name, value in where.items()))


def claim_of(row: RowMapping) -> Claim:
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


def settlement_of(row: RowMapping) -> Settlement:
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
