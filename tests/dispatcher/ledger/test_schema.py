"""The ledger's tables: classes, statements and the migrated store describe the same (dispatcher.md 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column

from dispatcher.ledger import schema
from dispatcher.ledger.cards import CardLink
from dispatcher.ledger.tables import METADATA
from engine.store.database import Database


def test_the_table_classes_describe_the_migrated_schema(tmp_path: Path) -> None:
    def ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
        return kind != "table" or name in METADATA.tables

    with Database.open(f"sqlite:///{tmp_path / 'pointsman.db'}") as database, database.read() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_the_tables_of_statements_are_those_of_the_classes() -> None:
    light = CardLink.metadata
    assert set(light.tables) == set(METADATA.tables)
    for name, table in METADATA.tables.items():
        other = light.tables[name]
        assert {c.name for c in table.columns} == {c.name for c in other.columns}
        assert [c.name for c in table.primary_key] == [c.name for c in other.primary_key]
        assert {c.name: kind_of(c) for c in table.columns} == {c.name: kind_of(c) for c in other.columns}
    assert schema.CardLink is CardLink


def kind_of(column: Column[Any]) -> str:
    """The kind of a column, with SQLModel's own text type counted as text."""
    name = type(column.type).__name__
    return "String" if name == "AutoString" else name
