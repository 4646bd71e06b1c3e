"""A subbot node: a child run of its own, started, waited for, taken over again after a stop.

Called by ``executing`` for the one kind of node that executes a run. The child's id is on the parent's row before the
child starts, so that a crash loses no child; it is cleared once the child's output is stored with the parent.
Implements engine.md 9.6 and language.md 5.7.
"""

from __future__ import annotations

from pathlib import Path

from engine.checkpoint import visible
from engine.dsl.graph import SubbotNode
from engine.dsl.rendering import value
from engine.errors import AmbiguousUnread, RunDeleted, RunUnknown, SourceChanged
from engine.failures import FailureClass, FailureCode, row_of
from engine.outcome import CHILD_WAITING, Completed, Failed, Outcome, Paused, Question
from engine.run import RunRecord
from engine.runtime.attempt import Line
from engine.runtime.classify import NodeFailure
from engine.runtime.holding import lend
from engine.runtime.host import Host
from engine.runtime.preparing import Step, limit_of
from engine.runtime.requests import LaunchRequest, ResumeRequest
from engine.states import RunStatus, is_ended, is_running
from engine.store.locks import held
from engine.store.store import Store

DEEPEST = 16


def run_child(line: Line, step: Step) -> Outcome:
    """The outcome of the child, started afresh or taken over. Raises what a launch or a resume refuses with."""
    host, children = line.attempt.host, line.attempt.children
    key = pointer_key(line, step)
    record = _known(host, children.of(key))
    if record is not None and record.failure_code == FailureCode.AMBIGUOUS_EFFECT and is_ended(record.status):
        return _outcome(line, step, _again(line, step, record), key)
    if record is not None and _cut_short(record) and (picked_up := _picked_up(line, step, record)):
        return _outcome(line, step, picked_up, key)
    if record is None or (is_ended(record.status) and record.status != RunStatus.FINISHED):
        record = _start(line, step, key)
    elif is_running(record.status) and not held(host.store.root, record.id):
        record = _take_over(line, step, record)
    return _outcome(line, step, record, key)


def pointer_key(line: Line, step: Step) -> str:
    """``node[@loop path][#branch]``."""
    path = f"@{step.path}" if step.path else ""
    return f"{step.node.name}{path}{'#' + line.branch if line.branch else ''}"


def _known(host: Host, child: str) -> RunRecord | None:
    try:
        return host.store.runs.get(child) if child else None
    except (RunUnknown, RunDeleted):
        return None


def _start(line: Line, step: Step, key: str) -> RunRecord:
    node, attempt = step.node, line.attempt
    assert isinstance(node, SubbotNode)
    if _depth(attempt.host.store, attempt.run_id) > DEEPEST:
        raise RecursionError(f"child runs nest deeper than {DEEPEST}")
    child = attempt.ids.new()
    workspace = attempt.folders.workspace
    if node.isolated:
        workspace = attempt.folders.run.parent / child / "workspace"
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
    scope = line.scopes.at(step.input)
    given = {mapped.key: value(mapped.value, scope) for mapped in node.mappings}
    attempt.children.point(key, child)
    request = LaunchRequest(
        file=Path(node.source),
        workspace=workspace,
        typed_vars={name: each for name, each in given.items() if each is not None},
        run_id=child,
        timeout=limit_of(line, node).seconds,
        parent_id=attempt.run_id,
        within=attempt.stop,
        lent=lend(line, step),
    )
    return attempt.host.doors.launch(attempt.host, request)


def _take_over(line: Line, step: Step, record: RunRecord) -> RunRecord:
    """A child that died with its parent goes on where it stopped; its finished nodes do not run again."""
    host = line.attempt.host
    host.doors.promote(host, record.id, 0.0)
    return host.doors.resume(host, _resuming(line, step, record, attended=False))


def _cut_short(record: RunRecord) -> bool:
    """Whether the place where the child ran was lost, and nothing was found about its work (docs/adr/0007)."""
    return (
        record.status == RunStatus.FAILED_RESUMABLE and row_of(record.failure_code).kind is FailureClass.INFRASTRUCTURE
    )


def _picked_up(line: Line, step: Step, record: RunRecord) -> RunRecord | None:
    """Such a child goes on as itself; None where its program is another by now, so that a fresh one is right."""
    try:
        return _take_over(line, step, record)
    except SourceChanged:
        return None


def _again(line: Line, step: Step, record: RunRecord) -> RunRecord:
    """A child in doubt about a remote call goes on as itself: afresh it would make the call without asking."""
    request = _resuming(line, step, record, attended=line.attempt.told)
    try:
        return line.attempt.host.doors.resume(line.attempt.host, request)
    except AmbiguousUnread as unread:
        raise NodeFailure(FailureCode.AMBIGUOUS_EFFECT, unread.message) from unread


def _resuming(line: Line, step: Step, record: RunRecord, *, attended: bool) -> ResumeRequest:
    by = line.attempt.by
    return ResumeRequest(record.id, attended=attended, by=by, within=line.attempt.stop, lent=lend(line, step))


def _depth(store: Store, run_id: str) -> int:
    """How deep a child of ``run_id`` lies: 1 below a run that nobody called."""
    depth, parent = 0, run_id
    while parent and depth <= DEEPEST:
        parent = store.runs.get(parent).parent_id
        depth += 1
    return depth


def _outcome(line: Line, step: Step, record: RunRecord, key: str) -> Outcome:
    store = line.attempt.host.store
    if record.status == RunStatus.FINISHED:
        head = store.checkpoints.head(record.id)
        outputs = visible(store.checkpoints.outputs(record.id), head)
        line.attempt.children.taken(key)
        return Completed(dict(outputs.get(head.node_id, {}) if head else {}))
    if not is_ended(record.status):
        return Paused(Question(CHILD_WAITING, {"child_run_id": record.id}))
    if record.status == RunStatus.CANCELLED:
        return Failed(FailureCode.EXECUTION_FAILED, f"child run {record.id} was cancelled: {record.error}")
    code = record.failure_code or str(FailureCode.EXECUTION_FAILED)
    limit = limit_of(line, step.node)
    if code == FailureCode.TIMEOUT and limit.code is FailureCode.BUDGET_EXCEEDED:
        code = str(limit.code)
    deliberate = row_of(code).kind is FailureClass.DELIBERATE
    return Failed(code, f"child run {record.id}: {record.error}", deliberate=deliberate)
