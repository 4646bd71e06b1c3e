"""A store of every schema that this build knows comes to the newest one with its rows kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, MetaData, create_engine

from engine.store import schema
from engine.store.checking import check
from engine.store.database import Database
from engine.store.migrations import upgrade
from tests.kit.postgres import Server

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
    _filled(engine)
    engine.dispose()


def _filled(engine: Engine) -> dict[str, int]:
    """Put a row into each table; how many each has."""
    metadata = MetaData()
    metadata.reflect(engine)
    tables = [table for table in metadata.tables.values() if table.name not in ("alembic_version", "store_counter")]
    with engine.begin() as connection:
        for table in tables:
            values = {column.name: _sample(column) for column in table.columns if not column.nullable}
            connection.execute(table.insert().values(values))
    return {table.name: 1 for table in tables}


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


@pytest.mark.parametrize("revision", schema.revisions())
def test_a_postgresql_store_of_that_schema_is_migrated_with_its_rows(revision: str, postgres: Server) -> None:
    url = postgres.empty()
    engine = create_engine(url)
    with engine.begin() as connection:
        upgrade.to(connection, revision)
    before = _filled(engine)
    with Database.open(url) as database, database.read() as connection:
        after = {name: connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one() for name in before}
    engine.dispose()
    assert after == before
    assert not check(url, (), {}).faults
