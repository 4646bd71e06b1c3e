"""Between table rows and records: the few Core statements that all verbs of the ledger are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from sqlalchemy import Connection, RowMapping, Table, and_, delete, select, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from dispatcher.ledger.records import Claim, ClaimState, Follows, Settlement
from engine.run import Owner


class Sequences(Protocol):
    """Who hands out the store sequence inside a write."""

    def next_sequence(self, connection: Connection) -> int:
        """The next number of the whole store."""
        ...


def one(connection: Connection, table: Table, **key: object) -> RowMapping | None:
    """The row with that key."""
    return connection.execute(select(table).where(_matches(table, key))).mappings().first()


def put(connection: Connection, table: Table, values: Mapping[str, object]) -> None:
    """Insert the row, or replace what ``values`` names in the one with its primary key."""
    insert: Any = sqlite_insert
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgres_insert

        insert = postgres_insert
    keys = [column.name for column in table.primary_key]
    rest = {name: value for name, value in values.items() if name not in keys}
    statement = insert(table).values(dict(values))
    statement = statement.on_conflict_do_update(index_elements=keys, set_=rest) if rest else statement
    connection.execute(statement)


def change(connection: Connection, table: Table, where: Mapping[str, object], **values: object) -> int:
    """Update the rows that match ``where``; how many changed."""
    return connection.execute(update(table).where(_matches(table, where)).values(**values)).rowcount


def remove(connection: Connection, table: Table, **where: object) -> int:
    """Delete the rows that match; how many there were."""
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
