"""The board's tables, their light names and the migrations say the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.schema import CreateIndex

from connectors.base import CardQuery
from connectors.native import reading, schema
from connectors.native.tables import metadata
from connectors.native.unit import Host, Look
from engine.store.database import Database
from tests.kit.clock import FakeClock
from tests.kit.ids import CountingIds


def test_the_migrated_schema_is_that_of_the_tables(tmp_path: Path) -> None:
    with Database.open(f"sqlite:///{tmp_path / 'board.db'}") as database, database.read() as connection:

        def ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
            return kind != "table" or str(name).startswith("board_")

        context = MigrationContext.configure(connection, opts={"include_object": ours, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_light_names_are_those_of_the_tables() -> None:
    light = {table.name: [column.name for column in table.columns] for table in schema.ALL}
    assert light == {name: [column.name for column in table.columns] for name, table in metadata.tables.items()}


def test_the_index_of_the_order_is_the_one_of_the_tables(tmp_path: Path) -> None:
    """Alembic passes over an index with an expression; the texts say it."""
    wanted = {index.name: index for index in metadata.tables["board_card"].indexes}["ix_board_card_order"]
    with Database.open(f"sqlite:///{tmp_path / 'board.db'}") as database, database.read() as connection:
        asked = text("SELECT sql FROM sqlite_master WHERE name = 'ix_board_card_order'")
        made = CreateIndex(wanted).compile(dialect=connection.dialect)
        assert connection.execute(asked).scalar() == str(made)


@pytest.mark.parametrize(
    ("query", "index", "sorts"),
    [
        (CardQuery(limit=100), "ix_board_card_order", False),
        (CardQuery(limit=100, offset=5000), "ix_board_card_order", False),
        (CardQuery(columns=("ready", "waiting_deps")), "ix_board_card_column", True),
    ],
)
def test_a_page_is_read_in_its_order_and_a_column_by_its_cards(
    tmp_path: Path, query: CardQuery, index: str, *, sorts: bool
) -> None:
    """Neither depends on how many other cards the board has."""
    with Database.open(f"sqlite:///{tmp_path / 'board.db'}") as database, database.read() as connection:
        look = Look(Host("native", database, FakeClock(), CountingIds()), connection)
        raw = connection.connection.dbapi_connection
        said: list[str] = []
        raw.set_trace_callback(said.append)
        assert list(reading.cards_where(look, reading.conditions_of(query, reading.columns_of(look)), query)) == []
        raw.set_trace_callback(None)
        listed = next(each for each in said if "FROM board_card" in each)
        plan = " ".join(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {listed}"))
    assert index in plan
    assert ("TEMP B-TREE" in plan) == sorts
