"""``pointsman gc``: old runs go with rows and files, whatever somebody needs stays, and it says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from dispatcher.ledger import Ledger, schema
from dispatcher.ledger.rows import put
from engine.errors import RunDeleted
from engine.states import RunStatus
from engine.store.locks import RunLock
from engine.store.store import Store
from tests.kit.cli import Answer, pointsman
from tests.kit.runs import ended, launched

AT = "2026-01-01T00:00:00.000000Z"


def gc(folder: Path, *arguments: str) -> Answer:
    return pointsman(folder, "gc", "--older-than", "1h", "--json", *arguments)


def old(store: Store, run_id: str, status: RunStatus = RunStatus.FINISHED, **values: object) -> str:
    launched(store, run_id, **values)
    ended(store, run_id, status)
    folder = store.root / "runs" / run_id
    folder.mkdir(parents=True)
    (folder / "run.log").write_text("said")
    with store.database.write() as connection:
        connection.execute(text("UPDATE run SET finished_at = :at WHERE id = :id"), {"at": AT, "id": run_id})
    return run_id


def put_row(store: Store, table_name: str, **values: object) -> None:
    table = next(each for each in schema.TABLES if each.name == table_name)
    blank = {column.name: 0 if column.type.python_type is int else "" for column in table.columns}
    blank |= {column.name: False for column in table.columns if column.type.python_type is bool}
    moment = store.runs.get("r0").created_at
    blank |= {column.name: moment for column in table.columns if type(column.type).__name__ == "Instant"}
    with store.database.write_alone() as connection:
        put(connection, table, {**blank, "board": "b", "card_id": "c", **values})


def test_old_ended_runs_go_with_their_files_and_leave_tombstones(tmp_path: Path, store: Store) -> None:
    """R035: a deleted run leaves a tombstone and nothing else."""
    for status in (RunStatus.FINISHED, RunStatus.FAILED, RunStatus.FAILED_RESUMABLE, RunStatus.CANCELLED):
        old(store, f"old-{status}", status)
    launched(store, "running")
    launched(store, "paused")
    ended(store, "paused", RunStatus.PAUSED_OPERATOR)
    planned = gc(tmp_path, "--dry-run").document
    assert planned["dry_run"]
    assert len(planned["deleted"]) == 4
    assert store.runs.get("old-finished").status == RunStatus.FINISHED
    done = gc(tmp_path).document
    assert {each["run_id"] for each in done["deleted"]} == {each["run_id"] for each in planned["deleted"]}
    assert {run.id for run in store.runs.list().records} == {"running", "paused"}
    with pytest.raises(RunDeleted):
        store.runs.get("old-finished")
    assert [path.name for path in (store.root / "runs").iterdir() if path.name.startswith("old")] == []
    assert gc(tmp_path).document["deleted"] == []


def test_a_younger_run_stays(tmp_path: Path, store: Store) -> None:
    old(store, "r1")
    assert pointsman(tmp_path, "gc", "--older-than", "9000000h", "--json").document["deleted"] == []
    assert pointsman(tmp_path, "gc", "--older-than", "soon").code == 2
    assert pointsman(tmp_path, "gc").code == 2


@pytest.mark.parametrize(
    ("table_name", "values"),
    [
        ("claim", {"state": "live"}),
        ("claim", {"state": "parked"}),
        ("intent", {"kind": "resume"}),
        ("retry", {"ladder": "x"}),
        ("park", {"id": 1, "released_at": None}),
        ("settlement", {"follows": "completed"}),
    ],
)
def test_a_run_that_a_card_needs_stays(
    table_name: str, values: dict[str, object], tmp_path: Path, store: Store
) -> None:
    old(store, "r0")
    old(store, "r1")
    put_row(store, table_name, run_id="r1", **values)
    done = gc(tmp_path).document
    assert [each["run_id"] for each in done["deleted"]] == ["r0"]
    assert [each["run_id"] for each in done["kept"]] == ["r1"]
    assert store.runs.get("r1").status == RunStatus.FINISHED


def test_a_card_lets_go_of_a_run_that_is_final_and_moved_it(tmp_path: Path, store: Store) -> None:
    old(store, "r0")
    old(store, "r1")
    put_row(store, "card_link", last_run="r1")
    assert Ledger(store.database).needed_runs().keys() == {"r1"}
    put_row(store, "settlement", run_id="r1", follows="completed", closed=True, moved=False)
    assert Ledger(store.database).needed_runs().keys() == {"r1"}
    put_row(store, "settlement", run_id="r1", follows="completed", closed=True, moved=True)
    assert not Ledger(store.database).needed_runs()
    assert [each["run_id"] for each in gc(tmp_path).document["deleted"]] == ["r0", "r1"]


def test_a_released_park_holds_nothing(tmp_path: Path, store: Store) -> None:
    old(store, "r0")
    put_row(store, "park", id=1, run_id="r0", released="moved_out", released_at=None)
    assert [each["run_id"] for each in gc(tmp_path).document["deleted"]] == ["r0"]


def test_a_run_whose_lock_is_held_stays(tmp_path: Path, store: Store) -> None:
    old(store, "r0")
    lock = RunLock(store.root, "r0")
    assert lock.acquire()
    try:
        kept = gc(tmp_path).document["kept"]
    finally:
        lock.release()
    assert [each["run_id"] for each in kept] == ["r0"]
    assert "executed" in kept[0]["reason"]


def test_children_go_with_their_parent_and_not_before(tmp_path: Path, store: Store) -> None:
    old(store, "parent", RunStatus.FAILED_RESUMABLE)
    old(store, "r0")
    put_row(store, "retry", run_id="parent", ladder="x")
    old(store, "child", parent_id="parent")
    done = gc(tmp_path).document
    assert {each["run_id"] for each in done["kept"]} == {"parent", "child"}
    with store.database.write() as connection:
        connection.execute(text("DELETE FROM retry"))
    assert {each["run_id"] for each in gc(tmp_path).document["deleted"]} == {"parent", "child"}
    said = pointsman(tmp_path, "gc", "--older-than", "1h").out
    assert said == "0 runs deleted, 0 old ones kept.\n"


def test_without_a_store_nothing_is_made(tmp_path: Path) -> None:
    assert gc(tmp_path).document == {"dry_run": False, "deleted": [], "kept": []}
    assert not (tmp_path / ".pointsman").exists()
