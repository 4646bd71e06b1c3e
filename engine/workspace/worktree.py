"""Git worktrees of runs: made at launch, committed and named by a branch at the end, taken away with the run.

Called by ``runtime/worktrees.py`` and by a rewind. Every run of ``worktree: auto`` works in a checkout of its own below
the store's folder; the checkout that it was launched from is never touched. What is kept of a run are refs under
``refs/pointsman/runs/<run>/`` and, at the end, a branch. Implements language.md 6 and engine.md 8.5 (worktree restore).

Nothing here runs a hook of the repository, asks a terminal, or writes a configuration.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import WorktreeFailed

LIMIT = 600.0
"""Seconds for one command of git."""
MOST = 1000
"""Commits that a list shows."""
_BETWEEN = "\x1f"
REFS = "refs/pointsman/runs"
BRANCHES = "pointsman/"
_AUTHOR = ("-c", "user.name=Pointsman", "-c", "user.email=pointsman@localhost", "-c", "commit.gpgsign=false")
_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")


def ref_name(text: str) -> str:
    """A run's id or a node's name as one part of a ref: what git does not allow there is written with its number."""
    kept = "".join(char if char.isalnum() or char in "_-." else f"%{ord(char):x}" for char in text)
    kept = kept.replace("..", "%2e%2e")
    if kept.endswith((".", ".lock")):
        kept += "%"
    return kept if not kept.startswith(".") else f"%2e{kept[1:]}"


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder. ``environment`` is what its processes see; variables of git's own are left out."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, index: Path | None = None) -> str:
        """Standard output without its last newline. Raises WorktreeFailed with what git said."""
        done = self._done(arguments, index)
        if done.returncode != 0:
            said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise WorktreeFailed(f"git {arguments[0]} failed in {self.folder}: {said[:500]}", "look at the repository")
        return done.stdout.removesuffix("\n")

    def says(self, *arguments: str) -> str:
        """Standard output, empty when git says no. Raises WorktreeFailed when there is no git."""
        done = self._done(arguments, None)
        return done.stdout.removesuffix("\n") if done.returncode == 0 else ""

    def _done(self, arguments: tuple[str, ...], index: Path | None) -> subprocess.CompletedProcess[str]:
        plain = {name: value for name, value in self.environment.items() if not name.startswith("GIT_")}
        seen = {**plain, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        if index is not None:
            seen["GIT_INDEX_FILE"] = str(index)
        command = ("git", *_AUTHOR, *_QUIET, *arguments)
        try:
            return subprocess.run(
                command,
                cwd=self.folder,
                env=seen,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                timeout=LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise WorktreeFailed(f"git cannot be run in {self.folder}: {problem}", "install git") from problem


def repository(git: Git) -> Path | None:
    """The root of the repository around the folder, when it has a commit to start from. Raises WorktreeFailed."""
    if not any((folder / ".git").exists() for folder in (git.folder.resolve(), *git.folder.resolve().parents)):
        return None
    root = Path(git.run("rev-parse", "--show-toplevel"))
    return root if git.says("rev-parse", "--verify", "--quiet", "HEAD^{commit}") else None


def make(git: Git, path: Path, run_id: str) -> None:
    """A checkout of the present commit at ``path``, detached; its commit is kept as the run's base.

    What an earlier launch that never came to be left at the path is taken away first. Raises WorktreeFailed.
    """
    if path.exists():
        remove(git, path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    git.run("worktree", "add", "--detach", "--force", str(path), "HEAD")
    git.run("update-ref", base_ref(run_id), "HEAD")


def base_ref(run_id: str) -> str:
    """The ref of the commit at which the run was launched."""
    return f"{REFS}/{ref_name(run_id)}/base"


def bank_ref(run_id: str, node: str, seq: int) -> str:
    """The ref of the state before the ``seq``-th rewind to a node."""
    return f"{REFS}/{ref_name(run_id)}/rewind/{ref_name(node)}/{seq}"


def committed(git: Git, message: str) -> str:
    """A commit of all that is not ignored in the worktree, on top of HEAD, which stays; HEAD when nothing differs.

    Raises WorktreeFailed.
    """
    with tempfile.TemporaryDirectory(prefix="pointsman-") as folder:
        index, own = Path(folder) / "index", git.folder / git.run("rev-parse", "--git-path", "index")
        if own.exists():
            shutil.copy2(own, index)  # it knows the stamps of the files, so that git reads only those that changed
        else:
            git.run("read-tree", "HEAD", index=index)
        git.run("add", "--all", index=index)
        tree = git.run("write-tree", index=index)
    head = git.run("rev-parse", "HEAD")
    if tree == git.run("rev-parse", "HEAD^{tree}"):
        return head
    return git.run("commit-tree", tree, "-p", head, "-m", message)


def bank(git: Git, run_id: str, node: str) -> str:
    """Keep the whole state under the next bank ref of the node; the ref. HEAD is not moved. Raises WorktreeFailed."""
    commit, seq = committed(git, f"before the rewind to {node}"), 0
    while git.says("rev-parse", "--verify", "--quiet", bank_ref(run_id, node, seq)):
        seq += 1
    git.run("update-ref", bank_ref(run_id, node, seq), commit)
    return bank_ref(run_id, node, seq)


def advance(git: Git, message: str) -> str:
    """Commit everything on top of HEAD and move HEAD there; the commit, empty when nothing differed.

    Raises WorktreeFailed.
    """
    head = git.run("rev-parse", "HEAD")
    commit = committed(git, message)
    if commit == head:
        return ""
    git.run("reset", "--mixed", "--quiet", commit)
    return commit


def branch_off(git: Git, run_id: str) -> tuple[str, str]:
    """The branch that holds what the run made, and its commit; both empty when it made nothing.

    A branch of that name with another history is left alone: the run's gets a number. Raises WorktreeFailed.
    """
    commit = committed(git, f"what run {run_id} left behind")
    if commit == git.says("rev-parse", "--verify", "--quiet", base_ref(run_id)):
        return "", ""
    plain = BRANCHES + ref_name(run_id)
    name, number = plain, 1
    while (there := git.says("rev-parse", "--verify", "--quiet", f"refs/heads/{name}")) and there != commit:
        number += 1
        name = f"{plain}-{number}"
    git.run("update-ref", f"refs/heads/{name}", commit)
    return name, commit


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: ``time`` is the author's, as git writes it (RFC 3339)."""

    sha: str
    author: str
    time: str
    subject: str


def commits(git: Git, run_id: str, head: str) -> tuple[str, tuple[Commit, ...]] | None:
    """The run's base, and what lies between it and ``head``, oldest first, the newest ``MOST``; None without a base.

    Raises WorktreeFailed.
    """
    base = git.says("rev-parse", "--verify", "--quiet", base_ref(run_id))
    if not base:
        return None
    form = _BETWEEN.join(("%H", "%an", "%aI", "%s"))
    told = git.run("log", f"--max-count={MOST}", "--topo-order", f"--format={form}", f"{base}..{head}")
    return base, tuple(Commit(*line.split(_BETWEEN, 3)) for line in reversed(told.split("\n")) if line)


def common_folder(git: Git) -> str:
    """Where the repository keeps what its worktrees share; it outlives each of them. Raises WorktreeFailed."""
    return str((git.folder / git.run("rev-parse", "--git-common-dir")).resolve())


def remove(git: Git, path: Path) -> None:
    """Take a worktree away with its registration; no other one is touched. Raises WorktreeFailed."""
    git.run("worktree", "remove", "--force", "--force", str(path))


def broken(path: Path) -> str:
    """Why the folder is no checkout that can be worked in, in words; empty when it is one."""
    pointer = path / ".git"
    if not path.is_dir():
        return f"the worktree {path} is gone"
    try:
        kind, _, target = pointer.read_text().strip().partition(": ")
    except OSError:
        return f"the worktree {path} has no readable .git"
    if kind != "gitdir" or not Path(target).is_dir():
        return f"the worktree {path} points to {target or 'nothing'}, which is gone"
    return ""
