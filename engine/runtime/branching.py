"""One branch of a fan-out: its line, its rows in the store, and how it ended.

Made by ``fan_out``, one per branch. A branch writes through its keeper, which puts the branch's own row beside the head
of the line above, so that every boundary of a branch is one commit. Implements engine.md 3.3 and 9.3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from engine.checkpoint import BranchRow, Head
from engine.dsl.graph import FailNode
from engine.errors import OwnershipLost
from engine.events import EventType
from engine.failures import FailureCode
from engine.runtime.attempt import Keeper, Line
from engine.runtime.ending import Ending
from engine.runtime.fan_plan import Branch
from engine.runtime.leaving import guard_of
from engine.runtime.state import Owed, RunState, restored
from engine.runtime.writing import rows_of
from engine.states import RunStatus
from engine.store.changes import Boundary, Written

_KEPT = (
    *("loop_counters", "round_robin_counters", "loop_previous_output", "loop_current_output", "loop_still"),
    *("loop_budget_marks", "selected_incoming", "recovery_counts", "warned_axes", "parallel", "extra"),
)


class BranchEnd(StrEnum):
    """How a branch came to rest."""

    JOINED = "joined"
    DONE = "done"
    FAILED = "failed"
    PAUSED = "paused"
    STOPPED = "stopped"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Rest:
    """Where a branch rests. ``ending`` is how its walk ended, None for one that reached the join or ``done``."""

    branch: Branch
    end: BranchEnd
    state: RunState
    ending: Ending | None = None
    code: str = ""
    error: str = ""

    @property
    def over(self) -> bool:
        """Whether the branch needs no further step."""
        return self.end in (BranchEnd.JOINED, BranchEnd.DONE)


class Siblings:
    """What the branches of one invocation share: the head above them, and whether they may still write."""

    def __init__(self, key: str, above: Keeper, head: Callable[[], Head]) -> None:
        self.key = key
        self._above = above
        self._head = head
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """From now on a straggler writes nothing."""
        with self._lock:
            self._closed = True

    def commit(self, row: BranchRow, written: Written) -> Boundary:
        """One commit: the rows of a branch, its place, and the head of the line above."""
        with self._lock:
            if self._closed:
                raise OwnershipLost("the fan-out of this branch is over", "the branch writes nothing more")
            return self._above.commit(self._head(), written.and_then(Written(branches=(row,))))


class BranchKeeper:
    """The keeper of one branch's line."""

    def __init__(self, siblings: Siblings, branch_id: str) -> None:
        self._siblings = siblings
        self._branch_id = branch_id

    def commit(self, head: Head, written: Written = Written()) -> Boundary:
        """A boundary of the branch."""
        return self._siblings.commit(row_of(self._siblings.key, self._branch_id, head), written)

    def close(self, head: Head, written: Written, rest: Mapping[str, object]) -> Boundary:
        """The branch's last commit of this attempt: where it rests, and how."""
        row = row_of(self._siblings.key, self._branch_id, head)
        done = rest.get("end") in (BranchEnd.JOINED, BranchEnd.DONE)
        return self._siblings.commit(replace(row, done=done, state={**row.state, **rest}), written)


def row_of(key: str, branch_id: str, head: Head) -> BranchRow:
    """The row of a branch that stands at ``head``."""
    state = {name: value for name, value in asdict(head).items() if name in _KEPT and value}
    return BranchRow(key, branch_id, head.node_id, head.completed, state=state)


def head_of(row: BranchRow) -> Head:
    """The head of a branch's line as its row tells it."""
    return Head(row.node_id, row.completed, **{name: row.state[name] for name in _KEPT if name in row.state})  # type: ignore[arg-type]


def fresh_state(above: RunState, branch: Branch, path: str, router: str) -> RunState:
    """The state of a branch that starts: it sees the outputs from before the router, and its own element."""
    made = RunState(above.vars, above.meter, path, branch.id)
    _inherit(made, above, branch, router)
    made.loops = dict(above.loops)
    made.round_robin = dict(above.round_robin)
    made.warned = above.warned
    return made


def stored_state(above: RunState, branch: Branch, path: str, router: str, row: BranchRow) -> RunState:
    """The state of a branch that goes on from its row; its outputs are put in by ``recall_outputs``."""
    made = restored(head_of(row), above.vars, above.meter)
    made.path, made.branch_id = path, branch.id
    _inherit(made, above, branch, router)
    return made


def _inherit(made: RunState, above: RunState, branch: Branch, router: str) -> None:
    made.outputs = dict(above.outputs)
    if branch.bindings:
        made.outputs[router] = {**above.outputs.get(router, {}), **branch.bindings}
    made.heard = {**above.heard, **made.heard}
    made.artifacts = dict(above.artifacts)
    made.published = dict(above.published)


def recall_outputs(state: RunState, rows: Mapping[tuple[str, str], Mapping[str, object]]) -> None:
    """Put the outputs that the branch made before it stopped into its state."""
    for node, path in state.places.items():
        if (path, node) in rows:
            state.outputs[node] = rows[path, node]


def rest_of(branch: Branch, line: Line, walked: Ending | str) -> Rest:
    """What a finished walk means for a branch: ``walked`` is the join that it reached, or its ending."""
    state = line.state
    if isinstance(walked, str):
        return Rest(branch, BranchEnd.JOINED, state)
    if walked.status == RunStatus.FINISHED:
        return Rest(branch, BranchEnd.DONE, state, walked)
    if walked.status in (RunStatus.FAILED, RunStatus.FAILED_RESUMABLE) and line.attempt.stop.cause is None:
        told = f"{walked.code}: {walked.error}" if walked.code else walked.error
        return Rest(branch, BranchEnd.FAILED, state, walked, walked.code, told)
    if walked.status in (RunStatus.PAUSED_WAITING_HUMAN, RunStatus.PAUSED_OPERATOR):
        return Rest(branch, BranchEnd.PAUSED, state, walked)
    return Rest(branch, BranchEnd.STOPPED, state, walked)


def close(line: Line, rest: Rest, join: str) -> None:
    """Write where the branch rests, with the rows that it still owes and, where it ended, ``branch_finished``."""
    state, ending = line.state, rest.ending
    if ending is not None:
        state.owed.events += [event for event in ending.events if event.type == EventType.BUDGET_EXCEEDED]
    if rest.end in (BranchEnd.JOINED, BranchEnd.DONE, BranchEnd.FAILED):
        data: dict[str, object] = {"join_node": join} if join else {}
        if rest.error:
            data["error"] = rest.error
        state.note(EventType.BRANCH_FINISHED, ending.anchor if ending else join, **data)
    head = state.head(_anchor(line, rest, join), completed=ending.completed if ending else True)
    told: dict[str, object] = {"end": str(rest.end)}
    if rest.end is BranchEnd.FAILED:
        told |= {"code": rest.code, "error": rest.error}
    keeper = line.keeper
    assert isinstance(keeper, BranchKeeper)
    with line.attempt.signals.publishing(state.owed.fired):
        keeper.close(head, rows_of(state.owed), told)
    state.owed = Owed()


def _anchor(line: Line, rest: Rest, join: str) -> str:
    """Where the branch would go on: of a fail node its guard, so that a resume asks the guard again."""
    if rest.ending is None:
        return join
    anchor = rest.ending.anchor
    if isinstance(line.attempt.graph.nodes.get(anchor), FailNode):
        guard, _ = guard_of(line.attempt.graph, line.state.incoming.get(anchor, ()), anchor)
        return guard or anchor
    return anchor


def is_budget(rest: Rest) -> bool:
    """Whether a budget ended the branch: it ends its siblings too, whatever the join waits for."""
    return rest.code == FailureCode.BUDGET_EXCEEDED
