"""``worktree: auto``: a run in a git worktree of its own (language.md 6, engine.md 7.3, 8.5 to 8.7)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.api import RewindRequest
from engine.errors import BadInput, RunConflict, WorktreeBroken
from engine.states import RunStatus
from engine.workspace.worktree import ref_name
from tests.kit.cli import pointsman
from tests.kit.engine import Rig

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
WORK = """
vars:
  ok: string
tool change:
  command: `echo two > shared; echo new > made; pwd`
tool save:
  command: `git -c user.name=t -c user.email=t@t commit -qam work`
tool spoil:
  command: `echo three > shared; echo junk > junk; rm made; test -e {{vars.ok}}`
workflow w:
  worktree: auto
  entry: change
  change -> save -> spoil -> done
"""


def git(folder: Path, *arguments: str) -> str:
    command = ("git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments)
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repo(engine: Rig) -> Rig:
    """An engine whose workspace is a repository with one commit, an ignored file and a changed one."""
    engine.write("shared", "one\n")
    engine.write(".gitignore", "ignored\n")
    git(engine.workspace, "init", "-q", "-b", "main", ".")
    git(engine.workspace, "add", ".")
    git(engine.workspace, "commit", "-qm", "first")
    engine.write("ignored", "mine\n")
    return engine.other(environment=ENVIRONMENT)


def worktree(rig: Rig, run_id: str = "r1") -> Path:
    return rig.folder / ".pointsman" / "runs" / run_id / "worktree"


def start(rig: Rig, *, ok: bool = False) -> RunStatus:
    """Run the workflow; it fails at its last node unless ``ok``."""
    if ok:
        (rig.folder / "ok").touch()
    return RunStatus(rig.run(WORK, typed_vars={"ok": str(rig.folder / "ok")}).status)


def test_a_run_works_beside_the_checkout_and_leaves_a_branch(repo: Rig) -> None:
    """6: everything that it made is on the branch; the checkout, its index and its branch are as they were."""
    before = (git(repo.workspace, "rev-parse", "HEAD"), git(repo.workspace, "status", "--porcelain"))
    assert start(repo, ok=True) == RunStatus.FINISHED
    assert before == (git(repo.workspace, "rev-parse", "HEAD"), git(repo.workspace, "status", "--porcelain"))
    assert (repo.workspace / "shared").read_text() == "one\n"
    assert git(repo.workspace, "show", "pointsman/r1:shared") == "three"
    assert git(repo.workspace, "show", "pointsman/r1:junk") == "junk"
    assert git(repo.workspace, "log", "--format=%s", "pointsman/r1").splitlines() == [
        "what run r1 left behind",
        "work",
        "first",
    ]
    assert not worktree(repo).exists()
    assert git(repo.workspace, "worktree", "list").count("\n") == 0
    told = repo.events("run_finished")[0].data
    assert (told["branch"], told["commit"]) == ("pointsman/r1", git(repo.workspace, "rev-parse", "pointsman/r1"))


def test_the_commits_of_a_run_are_listed_while_it_works_and_afterwards(repo: Rig) -> None:
    """interface.md 6: above the commit at which it began, oldest first; also when its worktree is gone."""
    assert start(repo) == RunStatus.FAILED_RESUMABLE
    base, found = git(repo.workspace, "rev-parse", "main"), repo.engine.commits("r1")
    assert found is not None
    assert (found.base, found.branch, [each.subject for each in found.commits]) == (base, "", ["work"])
    (repo.folder / "ok").touch()
    assert repo.resume().status == RunStatus.FINISHED
    assert not worktree(repo).exists()
    found = repo.engine.commits("r1")
    assert found is not None
    assert (found.base, found.branch) == (base, "pointsman/r1")
    assert [each.subject for each in found.commits] == ["work", "what run r1 left behind"]
    assert [each.sha for each in found.commits][-1] == found.head == git(repo.workspace, "rev-parse", "pointsman/r1")
    assert {(each.author, each.time[:2]) for each in found.commits} == {("t", "20"), ("Pointsman", "20")}
    shutil.rmtree(repo.workspace / ".git")
    assert repo.engine.commits("r1") is None


def test_a_run_in_place_has_no_commits_of_its_own(repo: Rig) -> None:
    text = WORK.replace("  worktree: auto\n", "").replace("&& ", "")
    (repo.folder / "ok").touch()
    repo.run(text, typed_vars={"ok": str(repo.folder / "ok")})
    assert repo.engine.commits("r1") is None


def test_a_failure_keeps_the_worktree_and_a_resume_goes_on_in_it(repo: Rig) -> None:
    """R286, R339: what finished is not done again; the branch is made at the end."""
    assert start(repo) == RunStatus.FAILED_RESUMABLE
    assert (worktree(repo) / "shared").read_text() == "three\n"
    (worktree(repo) / "by hand").write_text("x")
    (repo.folder / "ok").touch()
    assert repo.resume().status == RunStatus.FINISHED
    assert git(repo.workspace, "show", "pointsman/r1:by hand") == "x"


def test_a_run_that_changed_nothing_leaves_no_branch(repo: Rig) -> None:
    text = "tool look:\n  command: `cat shared`\nworkflow w:\n  worktree: auto\n  entry: look\n  look -> done\n"
    assert repo.run(text).status == RunStatus.FINISHED
    assert git(repo.workspace, "branch", "--list", "pointsman/*") == ""
    assert not worktree(repo).exists()


def test_a_branch_of_somebody_else_is_left_alone(repo: Rig) -> None:
    git(repo.workspace, "branch", "pointsman/r1")
    start(repo, ok=True)
    assert git(repo.workspace, "rev-parse", "pointsman/r1") == git(repo.workspace, "rev-parse", "main")
    assert git(repo.workspace, "show", "pointsman/r1-2:shared") == "three"


def test_the_workspace_may_be_a_folder_inside(repo: Rig) -> None:
    (repo.workspace / "part").mkdir()
    (repo.workspace / "part" / "here").write_text("x")
    git(repo.workspace, "add", ".")
    git(repo.workspace, "commit", "-qm", "part")
    repo.workspace = repo.workspace / "part"
    text = "tool look:\n  command: `ls; pwd`\nworkflow w:\n  worktree: auto\n  entry: look\n  look -> done\n"
    repo.run(text)
    assert repo.outputs()["look"]["result"].splitlines() == ["here", str(worktree(repo).resolve() / "part")]


def test_without_a_repository_the_run_works_in_place(engine: Rig, caplog: pytest.LogCaptureFixture) -> None:
    """R337, in place: isolation is skipped, and said so."""
    rig = engine.other(environment=ENVIRONMENT)
    assert start(rig, ok=True) == RunStatus.FAILED_RESUMABLE  # there is nothing to commit to
    assert (rig.workspace / "shared").read_text() == "two\n"
    assert "in no git repository" in caplog.text


def test_git_that_does_not_work_refuses_the_launch(repo: Rig) -> None:
    """Nothing is made: a run that wanted isolation never works in the checkout instead."""
    (repo.workspace / ".git" / "HEAD").write_text("nonsense\n")
    with pytest.raises(BadInput, match="no worktree can be made for run r1"):
        start(repo)
    assert repo.store.runs.list().records == ()
    assert (repo.workspace / "shared").read_text() == "one\n"


def test_a_launch_that_never_came_to_be_is_no_hindrance(repo: Rig) -> None:
    """Killed between git and the insert: the same id may be launched again."""
    git(repo.workspace, "worktree", "add", "--detach", str(worktree(repo)), "HEAD")
    (worktree(repo) / "left").write_text("x")
    assert start(repo, ok=True) == RunStatus.FINISHED
    assert "left" not in git(repo.workspace, "ls-tree", "--name-only", "pointsman/r1")


def test_a_used_id_leaves_the_other_runs_worktree_alone(repo: Rig) -> None:
    start(repo)
    with pytest.raises(RunConflict):
        start(repo)
    assert (worktree(repo) / "shared").read_text() == "three\n"


def test_a_worktree_whose_pointer_leads_nowhere_is_refused_and_changes_nothing(repo: Rig) -> None:
    """R338, R285."""
    start(repo)
    pointer = worktree(repo) / ".git"
    kept = pointer.read_text()
    pointer.write_text("gitdir: /nowhere\n")
    with pytest.raises(WorktreeBroken, match="points to /nowhere"):
        repo.resume()
    with pytest.raises(WorktreeBroken):
        repo.engine.rewind(RewindRequest("r1", "change"))
    shutil.move(worktree(repo), repo.folder / "aside")
    with pytest.raises(WorktreeBroken, match="is gone"):
        repo.resume()
    assert repo.store.runs.get("r1").status == RunStatus.FAILED_RESUMABLE
    shutil.move(repo.folder / "aside", worktree(repo))
    pointer.write_text(kept)
    (repo.folder / "ok").touch()
    assert repo.resume().status == RunStatus.FINISHED


def test_a_rewind_restores_the_tree_and_keeps_what_was_there(repo: Rig) -> None:
    """R268, R269, R270: banked under a ref of its own, restored, committed on top of HEAD."""
    start(repo)
    (worktree(repo) / "ignored").write_text("stays\n")
    first = git(worktree(repo), "rev-parse", "HEAD")
    for seq in (0, 1):
        data = repo.engine.rewind(RewindRequest("r1", "spoil")).data
        assert data["files_backup_ref"] == f"refs/pointsman/runs/r1/rewind/spoil/{seq}"
        assert data["files_restore_scope"] == "full"
        assert bool(data["files_revert_commit"]) is (seq == 0), "equal trees make no commit"
        names = {each.name for each in worktree(repo).iterdir()} - {".git"}
        assert names == {"shared", "made", ".gitignore", "ignored"}
        assert (worktree(repo) / "shared").read_text() == "two\n"
        assert git(repo.workspace, "show", f"{data['files_backup_ref']}:junk") == "junk"
        assert git(worktree(repo), "status", "--porcelain") == ""
        repo.resume()
    head = git(worktree(repo), "rev-parse", "HEAD")
    assert git(worktree(repo), "merge-base", head, first) == first
    data = repo.engine.rewind(RewindRequest("r1", "change")).data
    assert git(worktree(repo), "log", "-1", "--format=%H") == data["files_revert_commit"]
    assert git(worktree(repo), "rev-parse", "HEAD^") == head
    assert (worktree(repo) / "shared").read_text() == "one\n"
    assert git(repo.workspace, "rev-parse", "main") == git(repo.workspace, "rev-parse", "refs/pointsman/runs/r1/base")


def test_part_of_a_worktree_is_not_restored(repo: Rig) -> None:
    """R272, R271: refused before anything is claimed; ``none`` leaves the tree."""
    start(repo)
    before = repo.store.runs.get("r1")
    with pytest.raises(BadInput, match="restored as a whole"):
        repo.engine.rewind(RewindRequest("r1", "spoil", scope="produced"))
    assert repo.store.runs.get("r1") == before
    data = repo.engine.rewind(RewindRequest("r1", "spoil", keep_files=True)).data
    assert data["files_skip_reason"] == "files are kept as asked"
    assert (worktree(repo) / "shared").read_text() == "three\n"


def test_a_deleted_runs_worktree_goes_and_no_other(repo: Rig) -> None:
    """1.6: with its registration; a worktree of somebody else stays registered though its folder is away."""
    git(repo.workspace, "worktree", "add", "-q", "-b", "other", str(repo.folder / "other"))
    shutil.move(repo.folder / "other", repo.folder / "away")
    text = "workflow w:\n  worktree: auto\n  entry: a\n  a -> fail\ntool a:\n  command: `true`\n"
    repo.run(text)
    assert worktree(repo).is_dir()
    repo.engine.delete("r1")
    listed = git(repo.workspace, "worktree", "list")
    assert not worktree(repo).exists()
    assert "runs/r1" not in listed
    assert str(repo.folder / "other") in listed


@pytest.mark.parametrize("name", ["r1", "a.lock", "x..y", "end.", ".dot", "ünï", "a b:c~^", "x" * 128])
def test_every_name_is_one_part_of_a_ref(name: str) -> None:
    made = ref_name(name)
    assert "/" not in made
    subprocess.run(("git", "check-ref-format", f"refs/x/{made}"), check=True)


def test_the_command_line_runs_in_a_worktree(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main", ".")
    (project / "main.bot").write_text(
        "tool a:\n  command: `echo x > made`\nworkflow w:\n  worktree: auto\n  entry: a\n  a -> done\n"
    )
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    answer = pointsman(project, "run", "main.bot", "--run-id", "r1", "--json", environment=ENVIRONMENT)
    assert answer.document["status"] == "finished"
    assert not (project / "made").exists()
    assert git(project, "show", "pointsman/r1:made") == "x"
    told = pointsman(project, "run", "main.bot", "--run-id", "r2", environment=ENVIRONMENT)
    assert "its work is on branch pointsman/r2" in told.out
