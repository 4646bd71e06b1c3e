"""A store of every schema that this build knows comes to the newest one with its rows kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Column, MetaData, create_engine

from engine.store import schema
from engine.store.checking import check
from engine.store.database import Database
from engine.store.migrations import upgrade

Rows = dict[str, list[dict[str, object]]]
INSTANT = "2026-01-02T03:04:05.000006Z"
JSON_TEXT = "{}"
INSTANTS = ("time", "since", "at", "not_before", "window_start")


def rows(path: Path) -> Rows:
    """Every row of every table but the revision itself, by table."""
    with closing(sqlite3.connect(path)) as raw:
        raw.row_factory = sqlite3.Row
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [dict(row) for row in raw.execute(f'SELECT * FROM "{name}"')]
            for name in names
            if name != "alembic_version"
        }


def store_of(revision: str, path: Path) -> None:
    """A store of that schema with a row in each table."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        upgrade.to(connection, revision)
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.begin() as connection:
        for table in metadata.tables.values():
            if table.name not in ("alembic_version", "store_counter"):
                values = {column.name: _sample(column) for column in table.columns if not column.nullable}
                connection.execute(table.insert().values(values))
    engine.dispose()


def _sample(column: Column[object]) -> object:
    kind = column.type.python_type
    if kind is str:
        return INSTANT if column.name in INSTANTS or column.name.endswith("_at") else JSON_TEXT
    return kind(1)


@pytest.mark.parametrize("revision", schema.revisions())
def test_a_store_of_that_schema_is_migrated_with_its_rows(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "pointsman.db"
    store_of(revision, path)
    before = rows(path)
    assert all(before.values())
    address = f"sqlite:///{path}"
    assert check(address).revision == revision
    Database.open(address).close()
    after = rows(path)
    kept: Rows = {
        name: [{column: row.get(column) for column in old} for old, row in zip(before[name], after[name], strict=True)]
        for name in before
    }
    assert kept == before
    found = check(address)
    assert (found.revision, found.sound) == (schema.revisions()[-1], True), found
