"""Rewinding a run: found pivot, one claim, restored files, one versioned save (engine.md 8.1).

Called by ``api.Engine``. Everything that can be refused is refused before the claim; behind it the run is paused and
waits for an explicit resume, whatever happens to its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.checkpoint import Head
from engine.dsl.graph import Graph
from engine.dsl.graph import SourceFile as Text
from engine.errors import BadInput, NothingToRewind, PivotInvalid, RunConflict, WrongStatus
from engine.events import EventType, NewEvent
from engine.run import RunRecord
from engine.runtime import rewind as decide
from engine.runtime.admission import source_of
from engine.runtime.host import Host
from engine.runtime.program import Program, load_program
from engine.runtime.requests import RewindRequest
from engine.runtime.rewind_auto import pivot_of
from engine.runtime.rewind_files import Place, Restored, iteration_now, restore_files
from engine.runtime.takeover import held
from engine.runtime.worktrees import check_worktree, folder_of, git_of
from engine.states import RunStatus, can_be_rewound, is_running
from engine.store.changes import Transition, Written
from engine.store.locks import RunLock
from engine.store.rewinds import Rewinding
from engine.workspace.restore import Scope

PERSON = "rewind"
"""The reason in ``run_paused`` of a rewind's claim."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """A rewind that was made: the record as stored, the data of ``run_rewound``, what ``--auto`` found by node."""

    record: RunRecord
    data: Mapping[str, object]
    changes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a rewind goes: the node asked for, the pivot after promotion, the nodes dropped, the nodes reached."""

    asked: str
    pivot: str
    dropped: frozenset[str]
    reached: tuple[str, ...]
    changes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """The run as it was looked at before the claim."""

    record: RunRecord
    head: Head
    program: Program


def rewind(host: Host, request: RewindRequest) -> Rewound:
    """Move the checkpoint of a run back to a node; the run is then paused and waits for an explicit resume.

    Raises BadInput, PivotInvalid, NothingToRewind, WrongStatus, LockHeld, RunConflict, RestoreFailed, SourceMissing,
    SourceInvalid, RunUnknown, RunDeleted, StoreError.
    """
    scope = _scope_of(request)
    standing = _look(host, request)
    scope = _scope_in(host, standing.record, request, scope)
    target = _target(host, standing, request)
    lock = RunLock(host.store.root, request.run_id, host.owner)
    if not lock.acquire():
        raise held(request.run_id, lock)
    try:
        with host.watcher.keeper.borrowing(request.run_id):
            data = _rewind_held(host, standing, target, scope)
    finally:
        lock.release()
    return Rewound(host.store.runs.get(request.run_id), data, target.changes)


def _rewind_held(host: Host, standing: Standing, target: Target, scope: Scope) -> dict[str, object]:
    """Claim, restore and save; the caller holds the run."""
    claimed = _claim(host, standing.record)
    place = Place(
        claimed.id,
        Path(claimed.workspace),
        target.pivot,
        iteration_now(standing.program.graph, standing.head, target.pivot),
        _files_of(standing.program),
        git_of(host, claimed),
    )
    restored = restore_files(host, place, scope)
    return _save(host, Standing(claimed, standing.head, standing.program), target, restored)


def _scope_of(request: RewindRequest) -> Scope:
    if request.keep_files:
        return Scope.NONE
    try:
        return Scope(request.scope or Scope.PRODUCED)
    except ValueError as unknown:
        raise BadInput(f"restore scope {request.scope} is unknown", "use produced, full or none") from unknown


def _scope_in(host: Host, record: RunRecord, request: RewindRequest, scope: Scope) -> Scope:
    """The scope in the run's own place: a worktree is restored as a whole or not at all (engine.md 8.6).

    Raises BadInput for ``produced`` there, WorktreeBroken for one that is no worktree any more.
    """
    if folder_of(host, record) is None:
        return scope
    if request.scope == Scope.PRODUCED and not request.keep_files:
        text = f"run {record.id} works in a worktree, which is restored as a whole"
        raise BadInput(text, "use --restore-scope full, or none")
    check_worktree(host, record)
    return Scope.FULL if scope is Scope.PRODUCED else scope


def _look(host: Host, request: RewindRequest) -> Standing:
    record = host.store.runs.get(request.run_id)
    _check_status(record)
    head = host.store.checkpoints.head(record.id)
    if head is None:
        raise NothingToRewind(f"run {record.id} has no checkpoint, nothing to rewind", "launch a new run")
    return Standing(record, head, load_program(host, source_of(record, request.file)))


def _check_status(record: RunRecord) -> None:
    if not can_be_rewound(record.status):
        hint = "cancel or pause it first" if is_running(record.status) else "launch a new run"
        raise WrongStatus(f"run {record.id} cannot be rewound (status: {record.status})", hint)


def _target(host: Host, standing: Standing, request: RewindRequest) -> Target:
    graph = standing.program.graph
    outputs = host.store.checkpoints.outputs(standing.record.id)
    reached = decide.reached(outputs, standing.head)
    asked, changes = _found(host, standing, reached) if request.auto else (request.node, {})
    if not request.auto:
        _check_pivot(graph, asked, reached)
    pivot = decide.promoted(graph, asked)
    return Target(asked, pivot, decide.dropped_set(graph, pivot), reached, changes)


def _check_pivot(graph: Graph, node: str, reached: tuple[str, ...]) -> None:
    known = [name for name in reached if name in graph.nodes]
    hint = f"choose one of: {', '.join(known)}" if known else "no node of this source was reached"
    if node not in graph.nodes:
        raise PivotInvalid(f"node {node} is not in the workflow", hint)
    if node not in reached:
        raise PivotInvalid(f"node {node} was not reached by the run", hint)


def _found(host: Host, standing: Standing, reached: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The pivot of ``--auto`` and what differs (engine.md 8.2)."""
    from engine.dsl.diff import affected_nodes, recorded_whole

    record, graph = standing.record, standing.program.graph
    hint = f"name the node: pointsman rewind --run-id {record.id} --node N"
    sources = host.store.sources.of(record.id)
    if not sources:
        raise NothingToRewind(f"run {record.id} recorded no source to compare with", hint)
    texts = [Text(each.path, each.text) for each in sources]
    if sources[0].main_only or (record.digest and not recorded_whole(texts, record.digest)):
        raise NothingToRewind(f"run {record.id} recorded only the main file of its source", hint)
    affected = affected_nodes(texts, standing.program.path)
    pivot, reason = pivot_of(graph, affected, reached)
    if not pivot:
        raise NothingToRewind(f"run {record.id}: {reason}", hint)
    return pivot, dict(affected)


def _claim(host: Host, record: RunRecord) -> RunRecord:
    """Pause the run, compare-and-set on status and epoch; the record as it is then."""
    event = NewEvent(EventType.RUN_PAUSED, data={"reason": PERSON})
    change = Transition(
        RunStatus.PAUSED_OPERATOR,
        frozenset({RunStatus(record.status)}),
        record.epoch,
        explicit_resume=True,
        written=Written(events=(event,)),
    )
    if not host.store.runs.transition(record.id, change):
        now = host.store.runs.get(record.id)
        _check_status(now)
        raise RunConflict(f"run {record.id} changed meanwhile (status: {now.status})", "look at it, then rewind again")
    return host.store.runs.get(record.id)


def _files_of(program: Program) -> frozenset[Path]:
    folder = program.path if program.path.is_dir() else program.path.parent
    return frozenset({program.path.resolve()} | {(folder / each.path).resolve() for each in program.sources})


def _save(host: Host, standing: Standing, target: Target, restored: Restored) -> dict[str, object]:
    record, head = standing.record, standing.head
    marks = decide.artifact_marks(host.store.artifacts.versions(record.id), target.dropped)
    children, orphaned = decide.released(record.children, target.dropped)
    data: dict[str, object] = {
        "from_node": head.node_id,
        "to_node": target.pivot,
        "dropped_nodes": [name for name in target.reached if name in target.dropped],
        "tombstoned_artifacts": [mark.name for mark in marks],
        "orphaned_child_runs": list(orphaned),
        "promoted_from": target.asked if target.asked != target.pivot else "",
        **restored.data(),
    }
    asking = {head.pending.node_id} if head.pending else set()
    change = Rewinding(
        version=record.version,
        head=decide.rewound_head(head, target.pivot, target.dropped),
        dropped=target.dropped,
        retired=target.dropped | asking,
        event=NewEvent(EventType.RUN_REWOUND, target.pivot, data=data),
        artifacts=marks,
        children=children,
    )
    host.store.rewinds.save(record.id, change)
    return data
