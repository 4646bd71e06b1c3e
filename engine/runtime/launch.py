"""Launching a run: compile and check without a write, then one exclusive insert, then the walk.

Called by ``api.Engine``. The calling thread executes the run until it stops. Implements engine.md 1.3 (first row), 3.4
(first row) and 7.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoint import Head
from engine.dsl.graph import FailNode
from engine.errors import RunConflict, RunDeleted
from engine.events import EventType, NewEvent
from engine.run import Attachment, NewRun, RunRecord, check_run_id
from engine.runtime import recipes
from engine.runtime.attaching import files_of, readable
from engine.runtime.attempt import Line
from engine.runtime.ending import Ending
from engine.runtime.gates import check_budget, check_stop
from engine.runtime.host import Host
from engine.runtime.leaving import reach_fail
from engine.runtime.loop import run_to_end
from engine.runtime.marking import mark_start
from engine.runtime.meter import Meter
from engine.runtime.opening import Opening, close, open_line, stop_cell, visible_environment
from engine.runtime.place import Place
from engine.runtime.preparing import prepare
from engine.runtime.program import Program, load_program
from engine.runtime.requests import LaunchRequest
from engine.runtime.state import Owed, RunState
from engine.runtime.stop import StopCell
from engine.runtime.variables import given_values, resolve
from engine.runtime.worktrees import AUTO, isolated
from engine.runtime.writing import conclude, rows_of, started_data
from engine.store.changes import Launch, Written
from engine.store.locks import RunLock

if TYPE_CHECKING:
    from engine.dsl.recipes import Recipe


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that nothing forbids: the program, the values given, the values that the run starts with, its files."""

    program: Program
    given: dict[str, object]
    vars: dict[str, object]
    files: dict[str, Path] = field(default_factory=dict)
    recipe: Recipe | None = None

    @property
    def brings_files(self) -> bool:
        """Whether something is put into the run's folder before the run is stored."""
        return bool(self.files) or self.recipe is not None or self.program.graph.worktree == AUTO


def prepare_launch(host: Host, request: LaunchRequest) -> Prepared:
    """Compile and check; nothing is written. Raises SourceMissing, SourceInvalid, InvalidVars, InvalidId, BadInput."""
    if request.run_id is not None:
        check_run_id(request.run_id)
    recipe = recipes.read(request.recipe) if request.recipe else None
    program = load_program(host, request.file, recipe)
    given = given_values(program.graph, request.vars, request.typed_vars, request.preset)
    preset_vars = recipe.map("preset_vars") if recipe else {}
    given_values(program.graph, {}, preset_vars)
    values = resolve(program.graph, given, request.preset, visible_environment(host), preset_vars)
    return Prepared(program, given, values, files_of(program.graph, request.attachments), recipe)


def launch(host: Host, request: LaunchRequest) -> RunRecord:
    """Run to the end of this attempt; the record as it was stored last.

    Raises what ``prepare_launch`` raises, RunConflict for an id that is or was in use, StoreError.
    """
    prepared = prepare_launch(host, request)
    if prepared.recipe is not None:
        request = replace(request, ask=request.ask.merged_over(recipes.ask_of(prepared.recipe)))
    run_id = request.run_id or host.ids.new()
    lock = RunLock(host.store.root, run_id, host.owner)
    if not lock.take(request.lock_fd):
        raise RunConflict(f"run {run_id} already exists and is executed by {lock.holder_text()}", "choose another id")
    try:
        if request.run_id is not None and prepared.brings_files:
            _refuse_used(host, run_id)
        workspace = isolated(host, prepared.program.graph, request.workspace, run_id)
        _launch_locked(host, replace(request, workspace=workspace), prepared, lock)
    finally:
        lock.release()
    return host.store.runs.get(run_id)


def _launch_locked(host: Host, request: LaunchRequest, prepared: Prepared, lock: RunLock) -> None:
    graph = prepared.program.graph
    cell = stop_cell(host, lock.run_id, request.within)
    state = RunState(prepared.vars, Meter(host.clock))
    line = open_line(host, graph, state, _opening(request, lock, cell))
    attached = _attached(host, prepared, lock.run_id)
    line.scopes.attachments = readable(attached)
    with host.executing.enter(lock.run_id, cell):
        refused = _refused(line)
        first = _first_commit(host, line, prepared, refused)
        first = replace(first, written=first.written.and_then(Written(attachments=attached)))
        _insert(host, _new_run(request, prepared, lock.run_id), first)
        request.claimed()
        request.progress(graph.entry, 0.0, 0.0)
        with host.watcher.watching(lock.run_id, cell, 1):
            try:
                if refused is not None:
                    conclude(line, refused)
                else:
                    run_to_end(line, Place(graph.entry, announced=True))
            finally:
                close(line.attempt)


def _opening(request: LaunchRequest, lock: RunLock, cell: StopCell) -> Opening:
    return Opening(
        run_id=lock.run_id,
        epoch=1,
        workspace=request.workspace,
        ask=request.ask,
        stop=cell,
        lock_fd=lock.fileno(),
        timeout=request.timeout,
        progress=request.progress,
        lent=request.lent,
    )


def _refuse_used(host: Host, run_id: str) -> None:
    """Nothing is put into the folder of a run that exists. The insert decides; the lock is held."""
    if host.store.runs.status_of([run_id]):
        raise RunConflict(f"run {run_id} already exists", "choose another id, or resume that run")
    if host.store.runs.deleted_among([run_id]):
        raise RunConflict(f"run {run_id} was deleted, and its id is spent", "choose another id")


def _attached(host: Host, prepared: Prepared, run_id: str) -> tuple[Attachment, ...]:
    """The files in the run's folder; their rows go with the first commit."""
    made = [host.store.attachments.copy(run_id, path, name) for name, path in prepared.files.items()]
    return (*made, recipes.keep(host, prepared.recipe, run_id)) if prepared.recipe else tuple(made)


def _insert(host: Host, new: NewRun, first: Launch) -> None:
    try:
        host.store.runs.insert_claimed(new, first)
    except RunDeleted as gone:
        raise RunConflict(f"run {new.id} was deleted, and its id is spent", "choose another id") from gone


def _refused(line: Line) -> Ending | None:
    """An entry that is a fail node, or a cap that is reached already: the run ends where it starts."""
    entry = line.attempt.graph.nodes[line.attempt.graph.entry]
    if isinstance(entry, FailNode):
        return reach_fail(line, entry)
    return check_stop(line, entry.name) or check_budget(line, entry.name)


def _first_commit(host: Host, line: Line, prepared: Prepared, refused: Ending | None) -> Launch:
    graph = prepared.program.graph
    bounds = {name: loop.cap for name, loop in graph.loops.items() if loop.cap}
    events = [NewEvent(EventType.RUN_STARTED, data={"inputs": prepared.given, "loop_bounds": bounds})]
    if refused is None:
        step = prepare(line, graph.nodes[graph.entry])
        mark_start(line, step)
        events.append(NewEvent(EventType.NODE_STARTED, graph.entry, data=started_data(line, step)))
    written = rows_of(line.state.owed).and_then(Written(events=tuple(events)))
    line.state.owed = Owed()
    return Launch(host.owner, Head(graph.entry), prepared.program.sources, written)


def _new_run(request: LaunchRequest, prepared: Prepared, run_id: str) -> NewRun:
    program = prepared.program
    return NewRun(
        id=run_id,
        name=request.name,
        workflow=program.graph.workflow,
        file_path=str(program.path),
        workspace=str(request.workspace),
        digest=program.digest,
        inputs=prepared.given,
        preset=request.preset,
        bundle_path=program.bundle_path,
        parent_id=request.parent_id,
        ask=request.ask,
    )
