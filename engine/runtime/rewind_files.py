"""The workspace part of a rewind: found boundary, banked state, restored files, and what has to be told.

Called by ``rewinding`` behind the claim. Whatever stands in the way of knowing what a restore would do skips it with a
reason; a restore that starts and cannot end is an error (engine.md 8.5, 8.6).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoint import Head, Mark
from engine.dsl.graph import Graph
from engine.errors import RecordUnreadable, RestoreFailed, WorkspaceUnrecorded, WorktreeFailed
from engine.runtime.host import Host
from engine.runtime.loops import loop_map
from engine.workspace.chain import Boundary, BrokenChain, Since, base_of, kind_of, label, since
from engine.workspace.record import Record
from engine.workspace.restore import Plan, Scope, apply, plan, within
from engine.workspace.scan import Limits
from engine.workspace.worktree import Git, advance, bank

SHOWN = 50
"""So many paths of a list are told; the counts are exact."""
NO_PLAN = Plan()


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of the files. ``ref`` is the boundary, ``backup`` the bank; ``skipped`` says why nothing changed.

    In a worktree ``backup`` is a ref of git and ``commit`` the one that holds the restored tree.
    """

    scope: Scope
    plan: Plan = NO_PLAN
    ref: str = ""
    backup: str = ""
    skipped: str = ""
    commit: str = ""

    def data(self) -> dict[str, object]:
        """The keys of ``run_rewound`` that tell of files (engine.md 8.6)."""
        done = self.plan
        return {
            "files_reverted": not done.empty,
            "files_ref": self.ref,
            "files_revert_commit": self.commit,
            "files_backup_ref": self.backup,
            "files_skip_reason": self.skipped,
            "files_restore_scope": str(self.scope),
            "files_scope_count": done.in_scope,
            "files_overwritten": len(done.overwritten),
            "files_overwritten_paths": list(done.overwritten[:SHOWN]),
            "files_left_in_place": len(done.left),
            "files_left_in_place_paths": list(done.left[:SHOWN]),
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where files are restored: the run, its workspace, the pivot with its present iteration, the program's files.

    ``git`` is that of the run's worktree, None for a run that works in place.
    """

    run_id: str
    workspace: Path
    pivot: str
    iteration: tuple[int, ...]
    sources: Collection[Path]
    git: Git | None = None


def iteration_now(graph: Graph, head: Head, node: str) -> tuple[int, ...]:
    """The present iteration of a node by the stored counters, outermost loop first."""
    loops = loop_map(graph).loops_of(node)
    return tuple(head.loop_counters.get(name, 0) for name in loops) or (0,)


def restore_files(host: Host, place: Place, scope: Scope) -> Restored:
    """Bank the workspace and bring it back. Raises RestoreFailed, StoreError."""
    if scope is Scope.NONE:
        return Restored(scope, skipped="files are kept as asked")
    try:
        marks = host.store.marks.chain(place.run_id)
    except RecordUnreadable as problem:
        return Restored(scope, skipped=f"the boundaries of the run cannot be read: {problem.message}")
    base = base_of(marks, place.pivot, place.iteration)
    if isinstance(base, str):
        return Restored(scope, skipped=base)
    record = Record(place.workspace, host.store.root, Limits(max_file=host.settings.workspace_max_file))
    try:
        record.open()
        record.look()
        return _restore(host, place, record, _Way(scope, marks, base))
    except (BrokenChain, WorkspaceUnrecorded) as problem:
        return Restored(scope, ref=base.label, skipped=str(problem))
    finally:
        record.close()


@dataclass(frozen=True, slots=True)
class _Way:
    scope: Scope
    marks: Sequence[Mark]
    base: Mark


def _restore(host: Host, place: Place, record: Record, way: _Way) -> Restored:
    run = since(way.marks, way.base, record.pool.get_list)
    planned = plan(way.scope, run, record.files, _untouchable(record, place.sources))
    if planned.empty:
        return Restored(way.scope, planned, way.base.label, skipped=_nothing(way, run))
    banks = sum(1 for mark in way.marks if kind_of(mark) == Boundary.BANK and mark.node_id == place.pivot)
    seq = way.marks[-1].seq
    backup = label(Boundary.BANK, place.pivot, str(banks))
    banked = _banked(place)
    listed = record.pool.put_list(record.files.values())
    host.store.marks.add(place.run_id, [Mark(seq + 1, backup, place.pivot, seq, listed)])
    apply(record.root, record.pool, planned)
    changed = record.look()
    text = label(Boundary.RESTORED, place.pivot, str(banks))
    host.store.marks.add(place.run_id, [Mark(seq + 2, text, place.pivot, seq + 1, files=changed)])
    commit = _committed(place)
    return Restored(way.scope, planned, way.base.label, banked or backup, commit=commit)


def _banked(place: Place) -> str:
    """The ref under which the present tree of a worktree is kept, empty for a run in place. Raises RestoreFailed."""
    try:
        return bank(place.git, place.run_id, place.pivot) if place.git else ""
    except WorktreeFailed as problem:
        raise RestoreFailed(f"{problem.message}; no file was changed", "rewind with --keep-files") from problem


def _committed(place: Place) -> str:
    """The commit of the restored tree of a worktree, empty for a run in place. Raises RestoreFailed."""
    try:
        return advance(place.git, f"rewind of run {place.run_id} to {place.pivot}") if place.git else ""
    except WorktreeFailed as problem:
        text = f"the files are restored, but not committed: {problem.message}"
        raise RestoreFailed(text, "rewind again") from problem


def _nothing(way: _Way, run: Since) -> str:
    if way.scope is Scope.PRODUCED and not run.produced:
        return f"the run has changed no file since {way.base.label}"
    return f"every file that may be restored is as it was at {way.base.label}"


def _untouchable(record: Record, sources: Collection[Path]) -> Callable[[str], bool]:
    """Paths that no restore touches: the program's own files, ignored ones, what leads out of the workspace."""

    def judge(path: str) -> bool:
        if record.root / path in sources or record.rules.excludes_path(path):
            return True
        return not within(record.root, path)

    return judge
