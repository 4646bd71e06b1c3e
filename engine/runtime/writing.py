"""Every write of an attempt: the boundary before a node, the note of a recovery, the last commit.

Called by ``step``, ``executing`` and ``loop``; nothing else of the runtime writes while a run works. A boundary carries
the row and the events of the node before and the start of the next, and nothing else (engine.md 2.2, 3.4). Final writes
have a bound of their own and ignore the stop (engine.md 1.7).
"""

from __future__ import annotations

import threading

from engine.dsl.graph import Edge, Graph, RouterMode, RouterNode
from engine.errors import OwnershipLost, StoreBusy, StoreError, StoreFull
from engine.events import EventType
from engine.failures import FailureCode
from engine.runtime.attempt import Attempt, Line
from engine.runtime.budget import NANO
from engine.runtime.ending import Ending, failed_resumable
from engine.runtime.marking import mark_end
from engine.runtime.preparing import Step
from engine.runtime.state import Owed
from engine.runtime.stop import heed
from engine.states import RunStatus
from engine.store.boundary import BoundaryWriter
from engine.store.changes import Boundary, Transition, Written

FINAL_BOUND = 5.0
"""Seconds for which the last commit is tried again (engine.md 1.7)."""
PAUSE_BETWEEN = 0.2


def announce(line: Line, step: Step) -> Ending | None:
    """The boundary commit: what the node before left behind, and that this one starts. As ``commit_boundary``."""
    line.state.note(EventType.NODE_STARTED, step.node.name, **started_data(line, step))
    spent = line.state.spent()
    line.attempt.progress(step.node.name, spent.elapsed_ns / NANO, spent.cost_usd)
    return commit_boundary(line, step.node.name)


def started_data(line: Line, step: Step) -> dict[str, object]:
    """The data of ``node_started``; of a round-robin router with the choice that its counter makes."""
    data: dict[str, object] = {"kind": str(step.node.kind), "iteration": step.iteration}
    if step.path:
        data["iteration_path"] = step.path
    if isinstance(step.node, RouterNode):
        data["mode"] = str(step.node.mode)
        if step.node.mode is RouterMode.ROUND_ROBIN and (edges := turns_of(line.attempt.graph, step.node.name)):
            position = line.state.round_robin.get(step.node.name, 0) % len(edges)
            data |= {"round_robin_index": position, "selected_target": edges[position].target}
    return data


def turns_of(graph: Graph, router: str) -> tuple[Edge, ...]:
    """The edges that a round-robin router takes in turn."""
    return tuple(edge for edge in graph.outgoing(router) if not edge.conditional)


def commit_boundary(line: Line, node: str) -> Ending | None:
    """Write what is owed under the head that belongs to it.

    None, or how the run stops when two commits in a row are refused: its rows are kept for the last one.
    """
    state, owed = line.state, line.state.owed
    head = owed.head or state.head(node)
    state.owed = Owed()
    try:
        with line.attempt.signals.publishing(owed.fired):
            answer = line.keeper.commit(head, rows_of(owed))
    except (StoreFull, StoreBusy) as problem:
        return store_refused(node, problem)
    line.attempt.children.settle()
    observe(line.attempt, answer)
    return None


def store_refused(node: str, problem: StoreError) -> Ending:
    """The ending of a run whose store takes no boundary any more (engine.md 2.3)."""
    text = f"the store refused two boundaries in a row: {problem.message}"
    return failed_resumable(node, FailureCode.EXECUTION_FAILED, text)


def save_recovery(line: Line, node: str) -> None:
    """Write the counts and the event of a recovery before anything waits; a refusal is the next boundary's matter."""
    line.state.owed.head = None
    commit_boundary(line, node)


def observe(attempt: Attempt, answer: Boundary) -> None:
    """Take note of what the commit saw of the run's row: a cancel or a pause from elsewhere."""
    if answer.stop is not None:
        heed(attempt.stop.root, answer.stop, attempt.epoch)
    if not answer.stored:
        attempt.runlog.alert(f"run {attempt.run_id}: the store refused a boundary; its rows ride with the next commit")


def conclude(line: Line, ending: Ending) -> None:
    """The last commit of the attempt, tried for five seconds; what it cannot store leaves the row as it is.

    Raises StoreError when neither the ending nor the plain failure that replaces it could be written.
    """
    attempt = line.attempt
    mark_end(line, ending)
    until = attempt.clock.monotonic() + FINAL_BOUND
    while True:
        try:
            _commit_ending(line, ending)
        except OwnershipLost:
            attempt.runlog.line(f"run {attempt.run_id} belongs to another owner; nothing more is written")
        except StoreError as problem:
            if attempt.clock.monotonic() < until:
                attempt.clock.wait(threading.Event(), PAUSE_BETWEEN)
                continue
            _give_up(line, ending, problem)
        return


def _commit_ending(line: Line, ending: Ending) -> None:
    state, writer = line.state, line.keeper
    assert isinstance(writer, BoundaryWriter)  # only the main line ends an attempt
    head = state.head(ending.anchor, completed=ending.completed, pending=ending.pending, **ending.head)
    rows = rows_of(state.owed)
    if ending.status is not None:
        change = Transition(
            to=ending.status,
            from_statuses=frozenset({RunStatus.RUNNING}),
            failure_code=ending.code,
            error=ending.error,
            end_reason=ending.reason,
            retry_after=ending.retry_after,
            head=head,
            question=ending.question,
            written=rows.and_then(Written(events=ending.events)),
        )
        if writer.finish(change):
            state.owed = Owed()
            line.attempt.children.settle()
            return
    # The row says cancelled already, and a cancel wins over whatever came later: only the place is saved (1.7).
    writer.commit(head, rows)
    state.owed = Owed()


def rows_of(owed: Owed) -> Written:
    """The rows that are owed, as one batch."""
    return Written(
        tuple(owed.outputs),
        tuple(owed.artifacts),
        events=tuple(owed.events),
        spend=owed.spend,
        marks=tuple(owed.marks),
    )


def _give_up(line: Line, ending: Ending, problem: StoreError) -> None:
    """The checkpoint of a failure was refused: the plain failure is attempted, and the loss is logged (2.3)."""
    attempt = line.attempt
    attempt.runlog.alert(f"run {attempt.run_id}: the last commit was refused ({problem.message})")
    if ending.status is not RunStatus.FAILED_RESUMABLE:
        raise problem
    attempt.store.runs.transition(
        attempt.run_id,
        Transition(
            RunStatus.FAILED,
            frozenset({RunStatus.RUNNING}),
            attempt.epoch,
            failure_code=ending.code or str(FailureCode.EXECUTION_FAILED),
            error=f"{ending.error} (its checkpoint could not be stored: {problem.message})",
        ),
    )
