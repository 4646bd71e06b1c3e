"""Opening the store, its transactions, and what becomes of the database's own errors (engine.md 2.2, 2.3)."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Float, Integer, String, Table, create_engine, text

from engine.errors import InvalidSetting, SchemaNewer, StoreBusy, StoreFull, StoreUnreachable
from engine.store import names
from engine.store.addresses import address_of, file_of
from engine.store.columns import Flag, Json, UtcTime
from engine.store.database import Database
from engine.store.migrations import snapshot, upgrade
from engine.store.tables import TABLES, EngineTable
from tests.kit.runs import python


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'store' / 'pointsman.db'}"


def opened(folder: Path, **options: object) -> Database:
    return Database.open(url(folder), **options)  # type: ignore[arg-type]


def test_a_new_store_is_private_and_in_wal_mode(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        with database.write() as connection:
            assert database.next_sequence(connection) == 1
        with database.exclusive() as raw:
            assert raw.execute("PRAGMA synchronous").fetchone() == (2,)
        with database.read() as connection:
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "store").iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_setting_lowers_synchronous_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path, synchronous="normal") as database, database.exclusive() as raw:
        assert raw.execute("PRAGMA synchronous").fetchone() == (1,)
    with pytest.raises(InvalidSetting, match="sometimes"):
        opened(tmp_path, synchronous="sometimes")
    with pytest.raises(InvalidSetting, match="not one that this build can open"):
        Database.open("mysql://somewhere")


def test_a_store_that_is_current_opens_without_the_migration_library_or_the_table_classes(tmp_path: Path) -> None:
    code = (
        "import sys, json\nfrom engine.store.database import Database\nDatabase.open(sys.argv[1]).close()\n"
        "print(json.dumps([name for name in ('alembic', 'sqlmodel') if name in sys.modules]))"
    )
    for _ in ("a new store, from the snapshot", "the same again"):
        output, errors = python(code, url(tmp_path)).communicate()
        assert (json.loads(output), errors) == ([], "")


def test_processes_that_open_a_new_store_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom engine.store.database import Database\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "database = Database.open(sys.argv[1])\n"
        "with database.write() as connection: print(database.next_sequence(connection))"
    )
    processes = [python(code, url(tmp_path)) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    results = [process.communicate("go\n") for process in processes]
    assert sorted(output for output, _ in results) == ["1\n", "2\n", "3\n", "4\n"], results


def test_the_snapshot_is_what_the_migrations_make() -> None:
    """After a change of a migration: python -m engine.store.migrations"""
    raw = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite://", creator=lambda: raw)
    with engine.begin() as connection:
        upgrade.to_head(connection)
    made = snapshot.dumped(raw)
    raw.close()
    engine.dispose()
    assert snapshot.script() == made, "run: python -m engine.store.migrations"


def test_the_table_classes_describe_the_migrated_schema(tmp_path: Path) -> None:
    def ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
        return kind != "table" or name in TABLES

    with opened(tmp_path) as database, database.read() as connection:
        options = {"include_object": ours, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, EngineTable.metadata) == []
        made = dict(connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'index'")).all())
    assert "WHERE status IN ('queued', 'running', 'paused_waiting_human', 'paused_operator')" in made["ix_run_open"]


def test_the_names_of_the_statements_are_those_of_the_table_classes() -> None:
    def told(tables: Mapping[str, Table]) -> dict[str, list[tuple[str, object, bool, object]]]:
        return {
            name: [
                (column.name, _family(column), column.primary_key, column.default and column.default.arg)
                for column in table.columns
            ]
            for name, table in tables.items()
        }

    assert told(names.TABLES) == told(dict(sorted(TABLES.items())))


def _family(column: Column[Any]) -> object:
    kind = type(column.type)
    return kind if kind in {Json, UtcTime, Flag, Integer, Float} else String


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as database, database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaNewer, match="9999") as refusal:
        opened(tmp_path)
    assert "newer version" in refusal.value.hint
    raw = sqlite3.connect(tmp_path / "store" / "pointsman.db")
    assert raw.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    raw.close()


def test_a_store_that_cannot_be_reached_says_so_and_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="cannot be made"):
        Database.open(f"sqlite:///{tmp_path}/absent/store/pointsman.db")
    assert not (tmp_path / "absent").exists()
    (tmp_path / "text.db").write_text("this is no database, whatever its name says. " * 40)
    with pytest.raises(StoreUnreachable, match="not a database"):
        Database.open(f"sqlite:///{tmp_path}/text.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreUnreachable, match="cannot be opened"):
        Database.open(f"sqlite:///{tmp_path}/folder.db")


def test_a_block_that_raises_writes_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        with pytest.raises(ZeroDivisionError), database.write() as connection:
            connection.execute(text(f"UPDATE store_counter SET value = {database.next_sequence(connection) // 0}"))
        with pytest.raises(ZeroDivisionError), database.write_raw() as cursor:
            cursor.execute("UPDATE store_counter SET value = ?", (cursor.execute("SELECT 1").fetchone()[0] // 0,))
        with database.write() as connection:
            assert database.next_sequence(connection) == 1


def test_a_write_inside_a_write_is_a_programming_error(tmp_path: Path) -> None:
    with opened(tmp_path) as database, database.write(), pytest.raises(RuntimeError), database.write_raw():
        raise AssertionError("unreachable")


def test_a_writer_elsewhere_is_waited_for_and_then_called_busy(tmp_path: Path) -> None:
    with opened(tmp_path, busy_timeout=0.05) as database:
        other = sqlite3.connect(tmp_path / "store" / "pointsman.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy), database.write():
            raise AssertionError("unreachable")
        with database.read() as connection:
            assert connection.execute(text("SELECT value FROM store_counter")).scalar() == 0
        other.execute("COMMIT")
        other.close()
        with database.write() as connection:
            assert database.next_sequence(connection) == 1


def test_threads_take_turns_and_none_is_refused(tmp_path: Path) -> None:
    seen: list[int] = []
    with opened(tmp_path) as database:

        def work() -> None:
            for _ in range(25):
                with database.write() as connection:
                    seen.append(database.next_sequence(connection))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(1, 201))


def test_a_read_sees_one_moment_while_others_write(tmp_path: Path) -> None:
    """R480: a reader neither blocks a writer nor is blocked by one."""
    with opened(tmp_path) as database, database.read() as reading:
        query = text("SELECT value FROM store_counter")
        assert reading.execute(query).scalar() == 0
        with database.write() as connection:
            database.next_sequence(connection)
        assert reading.execute(query).scalar() == 0
        with database.read() as later:
            assert later.execute(query).scalar() == 1


def test_readers_cannot_write(tmp_path: Path) -> None:
    with opened(tmp_path) as database, pytest.raises(StoreFull), database.read() as connection:
        connection.execute(text("UPDATE store_counter SET value = 7"))


def test_a_full_store_is_called_full_and_keeps_what_it_had(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        with database.exclusive() as raw:
            pages = raw.execute("PRAGMA page_count").fetchone()[0]
            raw.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StoreFull, match="full") as refusal, database.write() as connection:
            connection.execute(text("INSERT INTO store_counter VALUES ('large', zeroblob(100000))"))
        assert "free some space" in refusal.value.hint
        with database.exclusive() as raw:
            raw.execute("PRAGMA max_page_count=1000000")
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        with database.write() as connection:
            assert database.next_sequence(connection) == 1


def test_a_file_that_may_not_grow_is_called_full(tmp_path: Path) -> None:
    opened(tmp_path).close()
    code = (
        "import sys, resource, signal\nfrom sqlalchemy import text\nfrom engine.errors import StoreFull\n"
        "from engine.store.database import Database\n"
        "database = Database.open(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n"
        "    with database.write() as c:\n"
        "        c.execute(text('CREATE TABLE large (x)'))\n"
        "        c.execute(text('INSERT INTO large VALUES (zeroblob(4000000))'))\n"
        "except StoreFull: print('full')\n"
        "with database.write() as c: print(database.next_sequence(c))\n"
    )
    output, errors = python(code, url(tmp_path)).communicate()
    assert output == "full\n1\n", errors


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    """2.3: neither "table run already exists" nor our tables beside theirs."""
    path = tmp_path / "app.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE run (id)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnreachable, match="another program: it has a table run") as refusal:
        Database.open(f"sqlite:///{path}")
    assert "--store-url" in refusal.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["100%25", "what?", "a#b", "it's é"])
def test_an_address_names_its_file_whatever_the_folders_are_called(name: str, tmp_path: Path) -> None:
    path = tmp_path / name / "pointsman.db"
    assert file_of(address_of(path)) == path
    Database.open(address_of(path)).close()
    assert path.is_file()


def test_what_is_no_file_is_no_store_and_gets_no_neighbours(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreUnreachable, match="it is no file"):
        Database.open(address_of(tmp_path / "pipe"))
    assert [*tmp_path.iterdir()] == [tmp_path / "pipe"]
