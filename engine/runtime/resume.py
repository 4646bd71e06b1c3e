"""Resuming a run: admission, the lock, the one claim, and the walk from the anchor.

Called by ``api.Engine``; the calling thread executes. Each flow of engine.md 7.5 is one commit and one place to start
from. Implements engine.md 3.5 to 3.7, 7.5 and 10.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from engine.checkpoint import Head, visible
from engine.errors import AlreadyRunning
from engine.events import EventType
from engine.failures import FailureCode
from engine.outcome import RECOVERY, Completed
from engine.run import RunRecord
from engine.runtime.admission import Admitted, Answered, admit, check_status
from engine.runtime.attaching import readable
from engine.runtime.attempt import Line
from engine.runtime.budget import Refused, before_node
from engine.runtime.ending import over_budget
from engine.runtime.host import Host
from engine.runtime.loop import run_to_end
from engine.runtime.marking import mark_resume
from engine.runtime.meter import Meter
from engine.runtime.opening import Opening, close, open_line, recall, stop_cell
from engine.runtime.place import Place
from engine.runtime.preparing import prepare
from engine.runtime.probing import may_send_again, told
from engine.runtime.requests import ResumeRequest
from engine.runtime.settling import complete
from engine.runtime.signals import recalled
from engine.runtime.state import Owed, restored
from engine.runtime.stop import StopCell
from engine.runtime.takeover import held, take_over
from engine.runtime.writing import conclude, rows_of
from engine.states import RunStatus
from engine.store.changes import AnswersAccepted, ClaimChange
from engine.store.locks import RunLock


@dataclass(frozen=True, slots=True)
class Start:
    """What the claim writes, and where the walk begins."""

    place: Place
    change: ClaimChange


def resume(host: Host, request: ResumeRequest) -> RunRecord:
    """The next attempt of the run, until it stops; the record as it was stored last.

    Raises every refusal of engine.md 7.3, StoreError.
    """
    if request.force_stale and (stopped := take_over(host, request.run_id)):
        return stopped
    admitted = admit(host, request)
    lock = RunLock(host.store.root, request.run_id, host.owner)
    if not lock.take(request.lock_fd):
        raise held(request.run_id, lock)
    try:
        now = host.store.runs.get(request.run_id)
        check_status(now)
        if now.epoch != admitted.record.epoch:
            raise AlreadyRunning(f"run {now.id} was resumed by somebody else meanwhile", "look at it with: inspect")
        again = may_send_again(host, request, now)
        _resume_locked(host, request, admitted, lock, again)
    finally:
        lock.release()
    return host.store.runs.get(request.run_id)


def _resume_locked(
    host: Host, request: ResumeRequest, admitted: Admitted, lock: RunLock, again: frozenset[str]
) -> None:
    record, graph = admitted.record, admitted.program.graph
    head = admitted.head or Head(graph.entry)
    cell = stop_cell(host, record.id, request.within)
    state = restored(head, admitted.vars, Meter(host.clock, head.spent))
    state.outputs = visible(host.store.checkpoints.outputs(record.id), head)
    recall(state, host.store.artifacts.versions(record.id))
    opening = _opening(host, request, admitted, cell)
    line = open_line(host, graph, state, replace(opening, lock_fd=lock.fileno(), again=again))
    line.scopes.attachments = readable(host.store.attachments.all(record.id))
    start = _start(line, admitted, head)
    change = _accepted(start.change, request, admitted)
    with host.executing.enter(record.id, cell):
        claim = host.store.runs.claim(record.id, frozenset({RunStatus(record.status)}), host.owner, change)
        if claim is None:
            raise AlreadyRunning(f"run {record.id} is already being executed", "look at it with: pointsman inspect")
        state.owed = Owed()
        request.claimed()
        attempt = replace(line.attempt, epoch=claim.epoch)
        line = replace(line, attempt=attempt, keeper=host.store.boundary(record.id, claim.epoch))
        if admitted.changed:
            attempt.runlog.alert(f"run {record.id} goes on with a changed source ({admitted.program.digest[:12]})")
        with host.watcher.watching(record.id, cell, claim.epoch):
            try:
                _go_on(line, start.place, record)
            finally:
                close(attempt)


def _opening(host: Host, request: ResumeRequest, admitted: Admitted, cell: StopCell) -> Opening:
    record = admitted.record
    return Opening(
        run_id=record.id,
        epoch=record.epoch,
        workspace=Path(record.workspace),
        ask=admitted.ask,
        stop=cell,
        timeout=request.timeout,
        progress=request.progress,
        children=record.children,
        told=told(request, record),
        by=request.by,
        lent=request.lent,
        signals=recalled(host.store, admitted.program.graph, record.id),
    )


def _accepted(change: ClaimChange, request: ResumeRequest, admitted: Admitted) -> ClaimChange:
    """The change with what the claim accepts: merged caps, another path, the text that was accepted by force."""
    if not request.ask.empty:
        change = replace(change, ask=admitted.ask)
    if request.file is not None:
        program = admitted.program
        change = replace(change, file_path=str(program.path), bundle_path=program.bundle_path)
    if admitted.changed:
        change = replace(change, digest=admitted.program.digest, sources=admitted.program.sources)
    return change


def _start(line: Line, admitted: Admitted, head: Head) -> Start:
    if admitted.answered is None:
        return _after_failure(line, head, admitted.head is None)
    if admitted.answered.question.kind == RECOVERY:
        return _after_recovery_pause(line, head, admitted.answered)
    return _after_answers(line, admitted.answered)


def _after_failure(line: Line, head: Head, lost: bool) -> Start:
    """Failure, cancel, operator pause: start at the anchor (engine.md 3.5, 3.7)."""
    data: dict[str, object] = {"resumed_from": "failed", "restart_node": head.node_id}
    at_entry = head.node_id == line.attempt.graph.entry and not head.completed
    if at_entry and not line.state.outputs:
        data["from_entry"] = True
    line.state.note(EventType.RUN_RESUMED, **data)
    change = ClaimChange(head=head if lost else None, written=rows_of(line.state.owed))
    return Start(Place(head.node_id, head.completed, resumed=True), change)


def _after_recovery_pause(line: Line, head: Head, answered: Answered) -> Start:
    """The failed node runs again before any other; the acknowledgement never becomes output."""
    data = {"resumed_from": "recovery_pause", "restart_node": head.node_id, "recovery_code": head.recovery_code}
    line.state.note(EventType.RUN_RESUMED, **data)
    accepted = AnswersAccepted(answered.question.interaction_id, answered.question.node_id, answered.answers)
    change = ClaimChange(accepted, line.state.head(head.node_id), rows_of(line.state.owed))
    return Start(Place(head.node_id), change)


def _after_answers(line: Line, answered: Answered) -> Start:
    """Claim, answers, output row, artifact and head in one commit; the edge is chosen from the answers."""
    question, state = answered.question, line.state
    name = question.node_id
    data = {"interaction_id": question.interaction_id, "answers": answered.answers}
    state.note(EventType.HUMAN_ANSWERS_RECORDED, name, **data)
    node = line.attempt.graph.nodes.get(name)
    if line.state.parallel:
        return _after_branch_answers(line, answered)
    if node is not None:
        complete(line, prepare(line, node), Completed(answered.answers), answered=True)
    state.note(EventType.RUN_RESUMED)
    accepted = AnswersAccepted(question.interaction_id, name, answered.answers)
    return Start(Place(name, completed=node is not None), ClaimChange(accepted, state.owed.head, rows_of(state.owed)))


def _after_branch_answers(line: Line, answered: Answered) -> Start:
    """The router runs again: finished siblings return at once, the asked branch takes its answers (engine.md 7.5)."""
    question, state = answered.question, line.state
    state.parallel = {name: value for name, value in state.parallel.items() if not name.startswith("pending_")}
    router = str(state.parallel["router_node_id"])
    state.note(EventType.RUN_RESUMED)
    accepted = AnswersAccepted(question.interaction_id, question.node_id, answered.answers)
    change = ClaimChange(accepted, state.head(router), rows_of(state.owed))
    return Start(Place(router, resumed=True), change)


def _go_on(line: Line, place: Place, before: RunRecord) -> None:
    """The budget's pre-flight, then the walk (engine.md 10.4). What is settled does not hold the run any more."""
    attempt = line.attempt
    if before.failure_code == FailureCode.AMBIGUOUS_EFFECT:
        attempt.store.effects.release(before.id)
    mark_resume(line, place.node)
    verdict = before_node(line.state.spent(), attempt.caps, attempt.grace)
    if isinstance(verdict, Refused):
        pause = attempt.caps.pause_on_exceeded
        conclude(line, over_budget(place.node, verdict, pause=pause, completed=place.completed))
        return
    run_to_end(line, place)
