"""Workspaces: keys, marks, quarantine, removal (dispatcher.md 21). Real folders."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatcher.refusals import Refused
from dispatcher.workspaces import Found, Place, Removal, Workspaces, key_of
from engine.ports import RandomIds
from tests.kit.runs import python

NOW = datetime(2026, 11, 1, tzinfo=UTC)
PLACE = Place("native", "", "c1", 1, "Do it")
KEY = key_of(PLACE)


def clean(_path: Path) -> str:
    return ""


def rooms(root: Path, store: str = "sqlite:///a") -> Workspaces:
    return Workspaces(root, store, RandomIds())


@given(st.text(max_size=300), st.text(max_size=300), st.integers(1, 10**9))
def test_a_key_is_one_short_folder_name_whatever_the_texts(board: str, title: str, number: int) -> None:
    """D170."""
    key = key_of(Place(board, "", "id", number, title))
    assert len(key.encode()) <= 120
    assert "/" not in key
    assert "\0" not in key
    assert not key.startswith(".")


def test_ids_that_look_alike_never_share_a_folder() -> None:
    """D170, D188, R442."""
    places = [
        Place("a", "", "A/B-1", 1, "x"),
        Place("a", "", "A_B-1", 1, "x"),
        Place("web", "octo/web", "15", 15, "x"),
        Place("web", "octo/docs", "15", 15, "x"),
        Place("docs", "octo/docs", "15", 15, "x"),
    ]
    assert len({key_of(place) for place in places}) == len(places)


def test_a_folder_is_made_once_and_found_again(tmp_path: Path) -> None:
    """D178."""
    made = rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    (made.path / "file").write_text("x")
    again = rooms(tmp_path).prepare(KEY, PLACE, "r2", NOW)
    assert (made.made, again.made) == (True, False)
    assert (again.path / "file").read_text() == "x"
    assert again.mark.runs == ("r1", "r2")
    assert again.mark.generation == 1


def test_a_folder_without_a_mark_is_put_aside_and_made_anew(tmp_path: Path) -> None:
    """D174, D056."""
    (tmp_path / KEY).mkdir()
    (tmp_path / KEY / "work").write_text("precious")
    made = rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    assert made.made
    assert made.quarantined is not None
    assert (made.quarantined / "work").read_text() == "precious"
    assert list(made.path.iterdir()) == []


def test_a_folder_with_a_mark_of_another_store_is_foreign(tmp_path: Path) -> None:
    """dispatcher.md 21."""
    rooms(tmp_path, "sqlite:///a").prepare(KEY, PLACE, "r1", NOW)
    assert rooms(tmp_path, "sqlite:///b").look(KEY, "c1") is Found.FOREIGN
    assert rooms(tmp_path, "sqlite:///b").remove(KEY, "c1", clean)[0] is Removal.ABSENT
    assert (tmp_path / KEY).is_dir()


def test_a_folder_made_again_is_another_generation(tmp_path: Path) -> None:
    """D178: after_create runs per generation."""
    made = rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    made.path.rmdir()
    assert rooms(tmp_path).look(KEY, "c1") is Found.NOTHING
    assert rooms(tmp_path).prepare(KEY, PLACE, "r2", NOW).mark.generation == 2


def test_a_symbolic_link_is_never_followed(tmp_path: Path) -> None:
    """D171."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    root = tmp_path / "root"
    rooms(root).prepare(KEY, PLACE, "r1", NOW).path.rmdir()
    (root / KEY).symlink_to(outside)
    assert rooms(root).look(KEY, "c1") is Found.FOREIGN
    assert rooms(root).remove(KEY, "c1", clean)[0] is Removal.ABSENT
    assert rooms(root).prepare(KEY, PLACE, "r1", NOW).made
    assert (outside / "file").read_text() == "x"


def test_unsaved_work_is_kept_with_its_mark(tmp_path: Path) -> None:
    """D172."""
    rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    removal, why = rooms(tmp_path).remove(KEY, "c1", lambda _path: "uncommitted changes")
    assert (removal, why) == (Removal.KEPT_DIRTY, "uncommitted changes")
    assert rooms(tmp_path).look(KEY, "c1") is Found.OURS


def test_a_saved_workspace_is_removed_with_its_mark(tmp_path: Path) -> None:
    """dispatcher.md 21."""
    rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    assert rooms(tmp_path).remove(KEY, "c1", clean)[0] is Removal.REMOVED
    assert rooms(tmp_path).mark(KEY) is None
    assert not (tmp_path / KEY).exists()


def test_only_its_own_worktree_registration_goes(tmp_path: Path) -> None:
    """D173."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path / "repo")]
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    root = tmp_path / "root"
    mine = rooms(root).prepare(KEY, PLACE, "r1", NOW).path
    subprocess.run([*git, "worktree", "add", "-q", "--detach", str(mine)], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "--detach", str(tmp_path / "theirs")], check=True)
    rooms(root).remove(KEY, "c1", clean)
    left = subprocess.run([*git, "worktree", "list"], check=True, capture_output=True, text=True).stdout
    assert str(mine) not in left
    assert str(tmp_path / "theirs") in left


DIES = """
import os, signal, sys
from pathlib import Path
from dispatcher.workspaces import Workspaces
from engine.ports import RandomIds

root, key, event, left = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])

def watch(name, _arguments):
    global left
    left -= name == event
    if name == event and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
Workspaces(root, "sqlite:///a", RandomIds()).remove(key, "c1", lambda _path: "")
"""
"""Removes a workspace, and dies right before the system is asked the n-th time for one thing."""


@pytest.mark.parametrize(
    ("event", "nth", "removal"),
    [
        ("os.rename", 2, Removal.UNDONE),
        ("os.rename", 3, Removal.UNDONE),
        ("shutil.rmtree", 1, Removal.REMOVED),
        ("os.remove", 2, Removal.REMOVED),
        ("os.rmdir", 2, Removal.REMOVED),
        ("shutil.rmtree", 2, Removal.REMOVED),
        ("os.remove", 6, Removal.REMOVED),
    ],
)
def test_a_removal_over_which_a_process_died_is_finished_or_undone(
    tmp_path: Path, event: str, nth: int, removal: Removal
) -> None:
    """D068: with the worktree's own registration, and no other."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path / "repo")]
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    root = tmp_path / "root"
    mine = rooms(root).prepare(KEY, PLACE, "r1", NOW).path
    for path in (mine, tmp_path / "theirs"):
        subprocess.run([*git, "worktree", "add", "-q", "--detach", str(path)], check=True)
    (mine / "a" / "b").mkdir(parents=True)
    (mine / "a" / "b" / "file").write_text("x")
    (mine / "file").write_text("x")
    died = python(DIES, str(root), KEY, event, str(nth))
    assert (died.communicate(timeout=60)[1], died.returncode) == ("", -9)
    assert rooms(root, "sqlite:///b").finish_removals() == {}
    assert rooms(root).finish_removals() == {KEY: (removal, "")}
    if removal is Removal.UNDONE:
        assert (mine / "a" / "b" / "file").read_text() == "x"
        assert rooms(root).prepare(KEY, PLACE, "r2", NOW).mark.runs == ("r1", "r2")
        assert rooms(root).remove(KEY, "c1", clean)[0] is Removal.REMOVED
    assert not mine.exists()
    assert rooms(root).counts() == {"ready": 0, "quarantined": 0}
    assert rooms(root).finish_removals() == {}
    left = subprocess.run([*git, "worktree", "list"], check=True, capture_output=True, text=True).stdout
    assert [line.split()[0] for line in left.splitlines()] == [str(tmp_path / "repo"), str(tmp_path / "theirs")]
    assert len(list((tmp_path / "repo" / ".git" / "worktrees").iterdir())) == 1


def test_a_removal_that_was_undone_gives_way_to_a_folder_made_since(tmp_path: Path) -> None:
    """D068: what lies at the key's place by now has a mark of its own."""
    rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    mark = tmp_path / ".marks" / f"{KEY}.json"
    mark.replace(mark.with_suffix(".retired"))
    made = rooms(tmp_path).prepare(KEY, PLACE, "r2", NOW)
    assert rooms(tmp_path).finish_removals() == {KEY: (Removal.ABSENT, "")}
    assert rooms(tmp_path).mark(KEY) == made.mark


@pytest.mark.parametrize("root", ["/", "~", ".", ".."])
def test_a_root_that_holds_other_things_is_refused(tmp_path: Path, root: str) -> None:
    """dispatcher.md 21."""
    store = tmp_path / "a" / "store"
    store.mkdir(parents=True)
    places = {"/": Path("/"), "~": Path.home(), ".": store, "..": tmp_path}
    with pytest.raises(Refused):
        rooms(places[root]).check_root(store)


def test_a_damaged_mark_proves_nothing(tmp_path: Path) -> None:
    rooms(tmp_path).prepare(KEY, PLACE, "r1", NOW)
    (tmp_path / ".marks" / f"{KEY}.json").write_text(json.dumps({"board": 1})[:-1])
    assert rooms(tmp_path).look(KEY, "c1") is Found.FOREIGN
