"""What a restore decides, does, and never touches."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.checkpoint import MarkFile
from engine.errors import RestoreFailed
from engine.workspace.chain import Since
from engine.workspace.pool import Pool
from engine.workspace.restore import Plan, Scope, apply, plan, within


def state(**files: str) -> dict[str, MarkFile]:
    return {name: MarkFile(name, 0o644, text) for name, text in files.items()}


def nothing(_: str) -> bool:
    return False


def test_produced_restores_the_runs_own_changes_alone() -> None:
    """R273: only paths that the run changed."""
    run = Since(state(a="1", mine="1"), state(a="2", new="1", mine="1"), frozenset({"a", "new"}))
    made = plan(Scope.PRODUCED, run, state(a="2", new="1", mine="9"), nothing)
    assert [each.path for each in made.writes] == ["a"]
    assert made.removes == ("new",)
    assert made.left == ("mine",), "a person's edit since the last boundary is reported"
    assert made.overwritten == ()


def test_full_restores_every_captured_path() -> None:
    run = Since(state(a="1", mine="1"), state(a="1", mine="1"), frozenset())
    made = plan(Scope.FULL, run, state(a="1", mine="9", other="1"), nothing)
    assert ([each.path for each in made.writes], made.removes) == (["mine"], ("other",))
    assert made.overwritten == ("mine", "other")


def test_bytes_that_are_neither_the_target_nor_the_runs_are_reported_as_overwritten() -> None:
    """R277: a person's edit of a file that the run changed as well."""
    run = Since(state(a="1"), state(a="2"), frozenset({"a"}))
    assert plan(Scope.PRODUCED, run, state(a="3"), nothing).overwritten == ("a",)
    assert plan(Scope.PRODUCED, run, state(a="2"), nothing).overwritten == ()
    assert plan(Scope.PRODUCED, run, state(a="1"), nothing) == Plan(in_scope=1)


def test_oversized_and_untouchable_paths_stay_and_are_reported() -> None:
    """R280, R287: neither deleted nor written."""
    big = {"big": MarkFile("big", 0o644, "", "too large")}
    run = Since({}, state(bot="1"), frozenset({"big", "bot"}))
    made = plan(Scope.PRODUCED, run, big | state(bot="2"), lambda path: path == "bot")
    assert made.empty
    assert made.left == ("big", "bot")


def test_files_come_back_with_their_mode_and_emptied_folders_go(tmp_path: Path) -> None:
    """R290: the executable bit is restored."""
    work = tmp_path / "work"
    (work / "made/deep").mkdir(parents=True)
    (work / "made/deep/new").write_text("new")
    with Pool(tmp_path) as pool:
        target = MarkFile("sub/tool", 0o755, pool.put(b"#!/bin/sh\n"))
        apply(work, pool, Plan((target,), ("made/deep/new",)))
    assert (work / "sub/tool").read_text() == "#!/bin/sh\n"
    assert (work / "sub/tool").stat().st_mode & 0o777 == 0o755
    assert [*work.iterdir()] == [work / "sub"]


def test_missing_content_is_noticed_before_any_file_changes(tmp_path: Path) -> None:
    (tmp_path / "keep").write_text("1")
    with Pool(tmp_path / "store") as pool, pytest.raises(RestoreFailed, match="no file was changed"):
        apply(tmp_path, pool, Plan((MarkFile("x", 0o644, "00" * 32),), ("keep",)))
    assert (tmp_path / "keep").exists()


def test_a_file_that_cannot_be_put_back_leaves_nothing_beside_it(tmp_path: Path) -> None:
    """On a full disk, for one: the half that was written goes again."""
    work = tmp_path / "work"
    (work / "taken").mkdir(parents=True)
    with Pool(tmp_path) as pool, pytest.raises(RestoreFailed, match="in part"):
        apply(work, pool, Plan((MarkFile("taken", 0o644, pool.put(b"x")),), ()))
    assert [*work.iterdir()] == [work / "taken"]


def test_nothing_behind_a_link_is_touched(tmp_path: Path) -> None:
    """R281: a folder that became a link does not lead a restore out of the workspace."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    (work / "file").write_text("x")
    assert not within(work, "link/x")
    assert not within(work, "link")
    assert not within(work, "file/x")
    assert within(work, "file")
    assert within(work, "new/deep/x")
