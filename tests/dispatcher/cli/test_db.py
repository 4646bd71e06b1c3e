"""``pointsman db``: the schema, a check that writes nothing, a copy while others write, and the way back."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from engine.checkpoint import Head
from engine.states import RunStatus
from engine.store.migrations.upgrade import to
from engine.store.schema import revisions
from engine.store.store import Store
from tests.kit.cli import pointsman
from tests.kit.runs import ended, launched, step

HEAD = revisions()[-1]


def database(folder: Path) -> Path:
    return folder / ".pointsman" / "pointsman.db"


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(statement)
        raw.commit()


def test_upgrade_makes_the_store_once_and_current_shows_its_schema(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "db", "current").code == 1
    assert not (tmp_path / ".pointsman").exists()
    assert pointsman(tmp_path, "db", "upgrade", "--json").document == {"from": "", "to": HEAD, "migrated": True}
    assert pointsman(tmp_path, "db", "upgrade", "--json").document == {"from": HEAD, "to": HEAD, "migrated": False}
    shown = pointsman(tmp_path, "db", "current", "--json")
    assert shown.document == {"revision": HEAD, "head": HEAD, "state": "current"}
    assert f"schema {HEAD}" in pointsman(tmp_path, "db", "current").out
    change(database(tmp_path), "UPDATE alembic_version SET version_num = '9999'")
    assert pointsman(tmp_path, "db", "current", "--json").document["state"] == "newer"
    assert "9999" in pointsman(tmp_path, "db", "upgrade").err


def test_current_and_check_do_not_migrate(tmp_path: Path) -> None:
    path = database(tmp_path)
    path.parent.mkdir()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        to(connection, "0001")
    engine.dispose()
    assert pointsman(tmp_path, "db", "current", "--json").document["state"] == "behind"
    found = pointsman(tmp_path, "db", "check", "--json").document
    assert (found["ok"], found["revision"], "claim" in found["tables"]) == (True, "0001", False)
    assert pointsman(tmp_path, "db", "upgrade", "--json").document == {"from": "0001", "to": HEAD, "migrated": True}


def test_check_reads_the_rows_of_every_room_and_counts_the_damaged(tmp_path: Path, store: Store) -> None:
    """R473: one damaged row is named and harms no other."""
    launched(store)
    store.boundary("r1", 1).commit(Head("n2"), step("n1"))
    assert pointsman(tmp_path, "card", "create", "--title", "one", "--label", "x").code == 0
    sound = pointsman(tmp_path, "db", "check", "--json")
    assert (sound.code, sound.document["ok"]) == (0, True), sound.out
    tables = sound.document["tables"]
    assert {tables[name]["rows"] for name in ("run", "node_output", "board_card", "claim")} == {1, 0}
    path = database(tmp_path)
    for statement in (
        "UPDATE node_output SET output = '{'",
        "UPDATE run SET created_at = 'yesterday'",
        "UPDATE event SET active_ms = 'long'",
        "UPDATE board_card SET labels = 'none'",
        "INSERT INTO artifact VALUES ('gone', 'a', 'n', 0, '', '[]', '2026-01-01T00:00:00.000000Z', NULL)",
    ):
        change(path, statement)
    before = path.read_bytes()
    found = pointsman(tmp_path, "db", "check", "--json")
    damaged = {name: each["unreadable"] for name, each in found.document["tables"].items() if each["unreadable"]}
    events = tables["event"]["rows"]
    assert (found.code, damaged) == (1, {"node_output": 1, "run": 1, "event": events, "board_card": 1})
    assert found.document["tables"]["artifact"] == {"rows": 1, "unreadable": 0, "strays": 1}
    assert "board_card" in pointsman(tmp_path, "db", "check").out
    assert path.read_bytes() == before


def test_a_damaged_file_is_called_damaged(tmp_path: Path) -> None:
    pointsman(tmp_path, "db", "upgrade")
    path = database(tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_run_created'").fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x42" * size)
    found = pointsman(tmp_path, "db", "check")
    assert found.code == 1
    assert "damaged" in found.out + found.err or "malformed" in found.err


def test_a_backup_is_one_moment_while_others_write_and_can_be_restored(tmp_path: Path, store: Store) -> None:
    for number in range(20):
        launched(store, f"old-{number}")
    enough = threading.Event()
    written: list[str] = []

    def go_on() -> None:
        while not enough.is_set():
            run_id = launched(store, f"new-{len(written)}")
            ended(store, run_id, RunStatus.FINISHED)
            written.append(run_id)

    writer = threading.Thread(target=go_on)
    writer.start()
    copied = pointsman(tmp_path, "db", "backup", "copy.db", "--json")
    enough.set()
    writer.join()
    copy = tmp_path / "copy.db"
    assert copied.document == {"file": str(copy), "bytes": copy.stat().st_size, "revision": HEAD}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    checked = pointsman(tmp_path, "--store-url", "sqlite:///copy.db", "db", "check", "--json")
    assert checked.document["ok"]
    assert checked.document["tables"]["run"]["rows"] >= 20
    assert not any(each["strays"] for each in checked.document["tables"].values())
    store.database.close()
    for path in database(tmp_path).parent.glob("pointsman.db*"):
        path.unlink()
    shutil.copyfile(copy, database(tmp_path))
    assert pointsman(tmp_path, "cancel", "--run-id", "old-0").code in (0, 5)
    listed = {run["run_id"] for run in pointsman(tmp_path, "inspect", "--json").document["runs"]}
    assert {f"old-{number}" for number in range(20)} <= listed


@pytest.mark.parametrize("taken", ["file", "link", "part"])
def test_a_backup_replaces_nothing(taken: str, tmp_path: Path) -> None:
    pointsman(tmp_path, "db", "upgrade")
    if taken == "link":
        (tmp_path / "copy.db").symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / ("copy.db" if taken == "file" else "copy.db.part")).write_text("mine")
    refused = pointsman(tmp_path, "db", "backup", "copy.db", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (5, "refused")
    assert not (tmp_path / "elsewhere").exists()
    kept = [path.read_text() for path in tmp_path.glob("copy.db*") if not path.is_symlink()]
    assert kept == ([] if taken == "link" else ["mine"])


def test_a_backup_needs_a_store_and_a_folder(tmp_path: Path) -> None:
    assert pointsman(tmp_path, "db", "backup", "copy.db").code == 1
    pointsman(tmp_path, "db", "upgrade")
    assert pointsman(tmp_path, "db", "backup", "absent/copy.db").code == 2
    assert not (tmp_path / "copy.db").exists()
