from __future__ import annotations

import fcntl
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engine.store import health
from engine.store.database import Database
from tests.kit.cli import Answer, pointsman

BOT = "tool a:\n  command: `echo a`\n\nworkflow w:\n  entry: a\n  a -> done\n"


def verdicts(answer: Answer, part: str) -> list[tuple[str, str]]:
    checks: list[dict[str, Any]] = answer.document["checks"]
    return [(check["level"], check["text"]) for check in checks if check["id"] == part]


def project(folder: Path, text: str = "boards: [{name: native, bot: work}]\n") -> Path:
    (folder / "bots").mkdir()
    (folder / "bots" / "work.bot").write_text(BOT)
    (folder / "pointsman.yaml").write_text(text)
    return folder


def store(folder: Path) -> Path:
    path = folder / ".pointsman" / "pointsman.db"
    Database.open(f"sqlite:///{path}").close()
    return path


def test_a_fresh_project_is_well_and_stays_untouched(tmp_path: Path) -> None:
    """interface.md 5: pass, warn, fail; reads only."""
    before = sorted(project(tmp_path).rglob("*"))
    answer = pointsman(tmp_path, "doctor", "--json")
    assert answer.code == 0
    assert answer.document["ok"] is True
    parts = {check["id"] for check in answer.document["checks"]}
    assert parts == {"config", "store", "locks", "workspaces", "clock", "columns", "git", "sandbox", "bots"}
    assert sorted(tmp_path.rglob("*")) == before
    plain = pointsman(tmp_path, "doctor")
    assert all(line.split()[0] in ("pass", "warn") for line in plain.out.splitlines() if not line.startswith(" "))


def test_an_existing_store_is_read_and_not_written(tmp_path: Path) -> None:
    path = store(project(tmp_path))
    before = path.read_bytes()
    answer = pointsman(tmp_path, "doctor", "--json")
    assert answer.code == 0
    assert "is sound" in verdicts(answer, "store")[0][1]
    assert verdicts(answer, "columns") == [("pass", "native: 9 columns, picked up from ready, in_progress")]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "verdict", "said"),
    [
        ("UPDATE alembic_version SET version_num = '9999'", "fail", "newer"),
        ("UPDATE alembic_version SET version_num = ''", "warn", "schema"),
    ],
)
def test_a_store_of_another_build_is_told_apart(tmp_path: Path, statement: str, verdict: str, said: str) -> None:
    path = store(project(tmp_path))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()
    answer = pointsman(tmp_path, "doctor", "--json")
    assert verdicts(answer, "store")[0][0] == verdict
    assert said in verdicts(answer, "store")[0][1]
    assert answer.code == (1 if verdict == "fail" else 0)


def test_a_damaged_store_fails_with_its_fault(tmp_path: Path) -> None:
    path = project(tmp_path) / ".pointsman" / "pointsman.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database, " * 500)
    answer = pointsman(tmp_path, "doctor", "--json")
    assert answer.code == 1
    assert verdicts(answer, "store")[0][0] == "fail"


def test_the_holder_of_the_instance_lock_is_named(tmp_path: Path) -> None:
    store(project(tmp_path))
    lock = tmp_path / ".pointsman" / "dispatcher.lock"
    lock.write_text('{"pid": 4711}')
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = pointsman(tmp_path, "doctor", "--json")
    assert ("pass", "a dispatcher runs here: process 4711") in verdicts(answer, "locks")


def test_a_broken_configuration_is_the_first_finding(tmp_path: Path) -> None:
    project(tmp_path, "concurency: {max: 2}\n")
    answer = pointsman(tmp_path, "doctor", "--json")
    assert answer.code == 1
    first = answer.document["checks"][0]
    assert (first["id"], first["level"]) == ("config", "fail")
    assert "concurrency" in first["remedy"]
    assert verdicts(answer, "git")
    assert pointsman(tmp_path, "doctor", "nowhere.yaml").code == 1


def test_missing_and_wrong_bots_and_columns_fail_with_their_names(tmp_path: Path) -> None:
    text = "boards: [{name: native, bot: gone, routes: {joe: work}}]\ncolumns: {completed: finished}\n"
    (project(tmp_path, text) / "bots" / "broken.bot").write_text("workflow w:\n  entry: nowhere\n")
    answer = pointsman(tmp_path, "doctor", "--json")
    assert answer.code == 1
    bots = verdicts(answer, "bots")
    assert any(verdict == "fail" and "gone" in text for verdict, text in bots)
    assert any(verdict == "fail" and "broken" in text for verdict, text in bots)
    assert any(verdict == "pass" and "work" in text for verdict, text in bots)
    assert any(verdict == "fail" and "finished" in text for verdict, text in verdicts(answer, "columns"))


def test_an_empty_reference_is_a_warning(tmp_path: Path) -> None:
    project(tmp_path, "name: x$GONE\nboards: [{name: native, bot: work}]\n")
    answer = pointsman(tmp_path, "doctor", "--json")
    assert any(verdict == "warn" and "$GONE" in text for verdict, text in verdicts(answer, "config"))


def test_locks_work_on_a_local_folder(tmp_path: Path) -> None:
    assert health.locks_work(tmp_path)
    assert health.look(f"sqlite:///{tmp_path}/none.db") == health.StoreLook(exists=False)
    assert not list(tmp_path.iterdir())
