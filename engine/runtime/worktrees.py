"""``worktree: auto``: a run works in a git worktree of its own, and leaves a branch behind (language.md 6).

Called by ``launch``, ``loop``, ``admission`` and ``api``. A folder that is in no repository, or in one without a
commit, cannot be isolated: the run works in place, and its log says so. A run that stops short of its end keeps its
worktree; one that finishes has its work on a branch, and the worktree goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.dsl.graph import Graph
from engine.errors import BadInput, WorktreeBroken, WorktreeFailed
from engine.events import EventType, NewEvent
from engine.process import clean_environment
from engine.run import RunRecord
from engine.runtime.attempt import Line
from engine.runtime.ending import Ending
from engine.runtime.host import Host
from engine.runtime.runlog import LOGGER
from engine.states import RunStatus, can_be_deleted
from engine.workspace import worktree
from engine.workspace.worktree import Commit, Git

AUTO = "auto"
FOLDER = "worktree"
_TAIL = 20
"""Among so many of the newest events the end of a run is looked for."""


def own_folder(root: Path, run_id: str) -> Path:
    """Where the worktree of a run is, below the store's folder ``root``."""
    return root / "runs" / run_id / FOLDER


def isolated(host: Host, graph: Graph, workspace: Path, run_id: str) -> Path:
    """The folder that a new run works in: its own worktree when it wants one, else ``workspace``.

    Raises BadInput when git cannot make it.
    """
    if graph.worktree != AUTO:
        return workspace
    git = Git(workspace, _environment(host))
    try:
        root = worktree.repository(git)
        if root is None:
            LOGGER.warning("run %s: %s is in no git repository with a commit; it works in place", run_id, workspace)
            return workspace
        path = own_folder(host.store.root.resolve(), run_id)
        worktree.make(git, path, run_id)
    except WorktreeFailed as problem:
        raise BadInput(f"no worktree can be made for run {run_id}: {problem.message}", problem.hint) from problem
    inside = path / workspace.resolve().relative_to(root.resolve())
    inside.mkdir(parents=True, exist_ok=True)
    return inside


def folder_of(host: Host, record: RunRecord) -> Path | None:
    """The worktree that a run works in; None for one that works in place."""
    return _around(host.store.root, record.id, Path(record.workspace))


def git_of(host: Host, record: RunRecord) -> Git | None:
    """Git in the worktree of a run; None for one that works in place."""
    path = folder_of(host, record)
    return Git(path, _environment(host)) if path else None


def check_worktree(host: Host, record: RunRecord) -> None:
    """Refuse to go on in a worktree that is no longer one. Raises WorktreeBroken (engine.md 7.3)."""
    path = folder_of(host, record)
    problem = worktree.broken(path) if path else ""
    if problem:
        raise WorktreeBroken(f"run {record.id} cannot go on: {problem}", "repair it with: git worktree repair")


def check_workspace(host: Host, record: RunRecord) -> None:
    """Refuse to go on where the folder that the run works in is gone. Raises WorktreeBroken (engine.md 7.3)."""
    check_worktree(host, record)
    if not Path(record.workspace).is_dir():
        message = f"run {record.id} cannot go on: its workspace {record.workspace} is not there"
        raise WorktreeBroken(message, "put the folder back, then resume; or launch a new run")


def finish(line: Line, ending: Ending) -> Ending:
    """The ending of a run that finished, with the branch that holds what it made. Safe to repeat after a crash."""
    path = _mine(line)
    if path is None or ending.status is not RunStatus.FINISHED:
        return ending
    attempt = line.attempt
    try:
        branch, commit = worktree.branch_off(Git(path, attempt.environment), attempt.run_id)
    except WorktreeFailed as problem:
        attempt.runlog.alert(f"run {attempt.run_id}: what it made could not be put on a branch: {problem.message}")
        failed = NewEvent(EventType.WORKTREE_BRANCH_FAILED, ending.anchor, data={"error": problem.message})
        return replace(ending, events=(failed, *ending.events))
    if not branch:
        return ending
    attempt.runlog.line(f"what run {attempt.run_id} made is on branch {branch} ({commit[:12]})")
    repository = worktree.common_folder(Git(path, attempt.environment))
    told = NewEvent(EventType.RUN_FINISHED, data={"branch": branch, "commit": commit, "repository": repository})
    return replace(ending, events=(told,))


@dataclass(frozen=True, slots=True)
class CommitList:
    """What a run committed above the commit at which it began; ``branch`` is empty until it has ended."""

    base: str
    head: str
    branch: str
    commits: tuple[Commit, ...]


def commits_of(host: Host, record: RunRecord) -> CommitList | None:
    """The commits of a run of ``worktree: auto``; None for one that works in place, or whose base is lost.

    Raises WorktreeFailed.
    """
    path = folder_of(host, record)
    if path is None:
        return None
    if path.is_dir() and not worktree.broken(path):
        git, branch = Git(path, _environment(host)), ""
        head = git.run("rev-parse", "HEAD")
    else:
        told = _told_at_end(host, record)
        git, branch, head = Git(Path(told.get("repository", "")), _environment(host)), told["branch"], told["commit"]
        if not told.get("repository") or not git.folder.is_dir():
            return None
    found = worktree.commits(git, record.id, head)
    return None if found is None else CommitList(found[0], head, branch, found[1])


def _told_at_end(host: Host, record: RunRecord) -> Mapping[str, str]:
    """Branch, commit and repository that the end of the run told; empty texts where it told none."""
    blank = {"branch": "", "commit": "", "repository": ""}
    newest = [*host.store.timeline.events(record.id, max(0, record.event_seq - _TAIL))]
    ends = [each.data for each in newest if each.type == EventType.RUN_FINISHED and "commit" in each.data]
    return blank | {name: str(value) for name, value in ends[-1].items() if name in blank} if ends else blank


def take_away(line: Line, ending: Ending) -> None:
    """The worktree of a finished run goes; what it made is on a branch. What is in the way is logged."""
    path = _mine(line)
    failed = any(event.type == EventType.WORKTREE_BRANCH_FAILED for event in ending.events)
    if path is None or ending.status is not RunStatus.FINISHED or failed:
        return
    attempt = line.attempt
    if attempt.store.runs.get(attempt.run_id).status == RunStatus.FINISHED:  # a cancel may have come first
        discard(path, attempt.environment)


def give_up(host: Host, record: RunRecord) -> None:
    """The worktree of a run that is about to be deleted goes with its registration."""
    path = folder_of(host, record)
    if path is not None and path.is_dir() and can_be_deleted(record.status):
        discard(path, _environment(host))


def discard(path: Path, environment: Mapping[str, str]) -> None:
    """Remove a worktree; what is in the way is logged, since a folder too many harms nobody."""
    try:
        worktree.remove(Git(path, environment), path)
    except WorktreeFailed as problem:
        LOGGER.warning("the worktree %s stays: %s", path, problem.message)


def _mine(line: Line) -> Path | None:
    """The worktree that the attempt works in."""
    folders = line.attempt.folders
    return _around(folders.store, line.attempt.run_id, folders.workspace)


def _around(store: Path, run_id: str, workspace: Path) -> Path | None:
    """The worktree of the run when ``workspace`` lies in it. Most runs have none, which their path tells at once."""
    if run_id not in workspace.parts:
        return None
    path = own_folder(store.resolve(), run_id)
    return path if workspace.is_relative_to(path) else None


def _environment(host: Host) -> dict[str, str]:
    return clean_environment(host.settings.environment, host.settings.secret_names)
