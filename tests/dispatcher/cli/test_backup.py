"""``pointsman backup`` while the daemon works, and ``pointsman restore`` that leaves the old store or the new one."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.store import unarchiving
from engine.store.locks import FileLock
from tests.kit.cli import pointsman
from tests.kit.daemons import Site

WRITES = """
tool work:
  command: `cat go 2>/dev/null; echo line`

human ask:
  instructions: "go on?"
  output: answer

schema answer:
  ok: bool

workflow work:
  entry: work
  work -> ask
  ask -> done
"""
CONFIG = "name: b\nboards: [{name: native, kind: native, bot: bots/work.bot}]\ntick: {interval: 200ms}\n"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path, WRITES, CONFIG)
    made.do("card", "create", "--title", "first", "--column", "ready")
    assert pointsman(tmp_path, "dispatch", "--once", "--no-server").code == 0
    return made


def store(site: Site) -> Path:
    return site.folder / ".pointsman"


def titles(site: Site) -> list[str]:
    return [card["title"] for card in site.read("card", "list")["cards"]]


def files(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def rewritten(source: Path, target: Path, change: Any) -> Path:
    """The archive with other members."""
    with tarfile.open(source) as old:
        members = [(entry, (old.extractfile(entry) or io.BytesIO()).read()) for entry in old]
    with tarfile.open(target, "w:gz") as new:
        for entry, data in change(members):
            entry.size = len(data)
            new.addfile(entry, io.BytesIO(data))
    return target


def test_a_backup_is_private_whole_and_brings_cards_runs_and_files_back(site: Site) -> None:
    (store(site) / "runs" / "note").write_text("kept with the runs")
    made = site.read("backup", "one.tgz")
    backup = site.folder / "one.tgz"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert made["files"] >= 1
    assert [each.name for each in site.folder.iterdir() if each.name.startswith(".one")] == []
    run = site.card()["last_run"]
    site.do("card", "create", "--title", "second")
    (store(site) / "runs" / "note").write_text("changed since")
    assert site.read("restore", "one.tgz", "--check")["ok"]
    assert titles(site) == ["first", "second"]
    done = site.read("restore", "one.tgz")
    assert titles(site) == ["first"]
    assert (store(site) / "runs" / "note").read_text() == "kept with the runs"
    kept = Path(done["kept"])
    assert (kept / "files" / "runs" / "note").read_text() == "changed since"
    with closing(sqlite3.connect(kept / "pointsman.db")) as old:
        assert old.execute("SELECT count(*) FROM board_card").fetchone() == (2,)
    assert site.do("resume", "--run-id", run, "--answer", "ok=true", "--no-interactive") == 0
    assert site.read("db", "check")["ok"]


def test_a_backup_is_made_and_checked_while_the_daemon_works_and_restored_only_when_it_is_stopped(site: Site) -> None:
    daemon = site.start("dispatch", "--no-server")
    try:
        site.until(lambda: "dispatcher.ready" in (site.folder / "output").read_text())
        for number in range(3):
            site.do("card", "create", "--title", f"more {number}", "--column", "ready")
            assert pointsman(site.folder, "backup", f"{number}.tgz").code == 0
        refused = pointsman(site.folder, "restore", "0.tgz")
        assert (refused.code, "Stop it" in refused.err) == (5, True)
        assert site.read("restore", "2.tgz", "--check")["ok"]
    finally:
        site.close()
    assert daemon.wait(10) != 0
    assert pointsman(site.folder, "restore", "0.tgz").code == 0
    assert titles(site)[:2] == ["first", "more 0"]
    assert pointsman(site.folder, "dispatch", "--once", "--no-server").code == 0


def test_a_command_that_has_the_store_open_stops_the_restore(site: Site) -> None:
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    site.do("card", "create", "--title", "second")
    with closing(sqlite3.connect(store(site) / "pointsman.db")) as other:
        other.execute("SELECT count(*) FROM board_card").fetchone()
        refused = pointsman(site.folder, "restore", "b.tgz")
    assert (refused.code, "still running" in refused.err) == (5, True)
    assert titles(site) == ["first", "second"]


def test_nothing_is_replaced_and_no_store_is_no_backup(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    (site.folder / "there").write_text("x")
    assert pointsman(site.folder, "backup", "there").code == 5
    assert pointsman(site.folder, "backup", "no/such/folder/b.tgz").code == 2
    empty = tmp_path_factory.mktemp("empty")
    assert pointsman(empty, "backup", "b.tgz").code == 1
    assert list(empty.iterdir()) == []


def test_a_backup_starts_a_store_where_there_was_none(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    other = tmp_path_factory.mktemp("other")
    answer = pointsman(other, "restore", str(site.folder / "b.tgz"), "--json")
    assert (answer.code, answer.document["kept"]) == (0, None)
    assert pointsman(other, "card", "list", "--json").document["cards"][0]["title"] == "first"


def cut(source: Path, target: Path) -> Path:
    target.write_bytes(source.read_bytes()[:-200])
    return target


def _evil(name: str, kind: bytes = tarfile.REGTYPE) -> Any:
    def change(members: list[Any]) -> list[Any]:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, "/etc/passwd"
        return [(entry, b""), *members]

    return change


def _other_bytes(members: list[Any]) -> list[Any]:
    return [(entry, data[:-1] + b"X" if entry.name == "pointsman.db" else data) for entry, data in members]


def _less(members: list[Any]) -> list[Any]:
    return [(entry, data) for entry, data in members if not entry.name.startswith("files/")]


def _newer(members: list[Any]) -> list[Any]:
    return [
        (entry, json.dumps({**json.loads(data), "format": 99}).encode() if entry.name == "manifest.json" else data)
        for entry, data in members
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_evil("../outside"), "no backup of ours"),
        (_evil("/etc/cron.d/x"), "no backup of ours"),
        (_evil("files/../../x"), "no backup of ours"),
        (_evil("files/pointsman.db"), "no backup of ours"),
        (_evil("files/link", tarfile.SYMTYPE), "no backup of ours"),
        (_other_bytes, "is damaged"),
        (_less, "is damaged"),
        (_newer, "format 99"),
    ],
)
def test_a_backup_that_is_not_whole_or_not_ours_touches_nothing(site: Site, change: Any, told: str) -> None:
    (store(site) / "runs" / "note").write_text("x")
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    bad = rewritten(site.folder / "b.tgz", site.folder / "bad.tgz", change)
    before = files(store(site))
    answer = pointsman(site.folder, "restore", str(bad))
    assert (answer.code in (2, 5), told in answer.err) == (True, True), answer.err
    assert {name: data for name, data in files(store(site)).items() if ".lock" not in name} == {
        name: data for name, data in before.items() if ".lock" not in name
    }
    assert not (store(site) / "restoring").exists()


def test_what_is_no_backup_is_told_in_a_few_words(site: Site) -> None:
    (site.folder / "text.tgz").write_text("hello")
    for name, told in (("none.tgz", "does not exist"), ("text.tgz", "it is no archive"), (".", "is no file")):
        answer = pointsman(site.folder, "restore", name, "--check")
        assert (answer.code, told in answer.err, answer.err.count("\n")) == (2, True, 2), answer.err


def test_a_backup_that_was_cut_off_is_told_as_such(site: Site) -> None:
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    answer = pointsman(site.folder, "restore", str(cut(site.folder / "b.tgz", site.folder / "cut.tgz")))
    assert (answer.code, "no whole backup" in answer.err) == (2, True)
    assert titles(site) == ["first"]


@pytest.mark.parametrize("step", ["_keep", "_merge", "_exchange"])
def test_a_crash_in_the_middle_leaves_the_old_store_or_the_new_one(site: Site, step: str) -> None:
    """Killed before each step of the exchange: the store can be read, and the restore can be made again."""
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    site.do("card", "create", "--title", "second")
    child = os.fork()
    if child == 0:
        setattr(unarchiving, step, lambda *_: os._exit(9))
        pointsman(site.folder, "restore", "b.tgz")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert titles(site) == ["first", "second"]
    assert site.read("db", "check")["ok"]
    assert pointsman(site.folder, "restore", "b.tgz").code == 0
    assert titles(site) == ["first"]


def test_the_lock_is_free_after_a_restore(site: Site) -> None:
    assert pointsman(site.folder, "backup", "b.tgz").code == 0
    assert pointsman(site.folder, "restore", "b.tgz").code == 0
    assert not FileLock(store(site) / "dispatcher.lock", {}).held()
