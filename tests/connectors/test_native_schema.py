"""The board's tables, their light names and the migrations say the same."""

from __future__ import annotations

from pathlib import Path

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from connectors.native import schema
from connectors.native.tables import metadata
from engine.store.database import Database


def test_the_migrated_schema_is_that_of_the_tables(tmp_path: Path) -> None:
    with Database.open(f"sqlite:///{tmp_path / 'board.db'}") as database, database.read() as connection:

        def ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
            return kind != "table" or str(name).startswith("board_")

        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_light_names_are_those_of_the_tables() -> None:
    light = {table.name: [column.name for column in table.columns] for table in schema.ALL}
    assert light == {name: [column.name for column in table.columns] for name, table in metadata.tables.items()}
