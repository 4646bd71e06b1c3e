"""A fan-out: its branches run side by side in threads, then their outputs merge and the join goes on.

Called by ``loop`` when a line reaches a router that starts branches. The only place that starts threads of branches.
Implements engine.md 3.3, 9.3 to 9.5 and language.md 7.5 to 7.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from engine.checkpoint import BranchRow
from engine.dsl.expressions import EvaluationError
from engine.dsl.graph import RouterMode, RouterNode
from engine.dsl.rendering import strict
from engine.errors import StoreBusy, StoreFull
from engine.events import EventType
from engine.failures import FailureCode
from engine.runtime.attempt import Line
from engine.runtime.branching import (
    BranchEnd,
    BranchKeeper,
    Rest,
    Siblings,
    close,
    fresh_state,
    is_budget,
    recall_outputs,
    rest_of,
    stored_state,
)
from engine.runtime.ending import Ending, failed_resumable, finished, stopped
from engine.runtime.fan_plan import Branch, branches_of, single, unsafe_writers
from engine.runtime.gates import check_overrun
from engine.runtime.leaving import arrive, follow
from engine.runtime.loops import iterations
from engine.runtime.place import Place
from engine.runtime.scopes import listed
from engine.runtime.state import FAN_OUT
from engine.runtime.step import take
from engine.runtime.stop import StopCause, StopKind
from engine.runtime.turns import Turns
from engine.runtime.writing import commit_boundary, store_refused

Walk = Callable[[Line, Place, str], "Ending | str"]
"""``loop.walk``: from a place until the line ends or reaches the named node."""
PERIOD = 0.1
BEST_EFFORT = "best_effort"
WAIT_ALL = "wait_all"


@dataclass(frozen=True, slots=True)
class FanOut:
    """One invocation: the line above, the router, the join (empty for none), its branches and what they share."""

    line: Line
    router: RouterNode
    join: str
    branches: tuple[Branch, ...]
    siblings: Siblings
    rows: Mapping[str, BranchRow] = field(default_factory=dict)
    outputs: Mapping[tuple[str, str], Mapping[str, object]] = field(default_factory=dict)

    @property
    def strategy(self) -> str:
        """``wait_all`` or ``best_effort``."""
        node = self.line.attempt.graph.nodes.get(self.join)
        return (node.convergence if node else "") or WAIT_ALL


def is_fan_out(node: object) -> bool:
    """Whether a node starts branches."""
    return isinstance(node, RouterNode) and node.mode in FAN_OUT


def spread(line: Line, place: Place, walk: Walk) -> str | Ending:
    """Run the router and its branches; the node to go on at, or how the line ends."""
    router = line.attempt.graph.nodes[place.node]
    assert isinstance(router, RouterNode)
    in_flight = line.state.parallel.get("router_node_id") == router.name
    if not in_flight and not place.completed:
        ended = take(line, router.name, announced=place.announced, resumed=place.resumed)
        if ended is not None:
            return ended
        if overrun := check_overrun(line, router.name):
            return overrun
    join = line.attempt.graph.convergence.get(router.name, "")
    try:
        branches = _plan(line, router, join)
    except EvaluationError as problem:
        return failed_resumable(router.name, FailureCode.EXPRESSION_FAILED, f"router {router.name}: {problem.message}")
    if refused := _refused(line, router, branches, join):
        return refused
    if not branches:
        line.state.incoming = {}
        return join
    opened = _opened(line, router, branches, in_flight)
    return opened if isinstance(opened, Ending) else _settled(opened, walk)


def _plan(line: Line, router: RouterNode, join: str) -> tuple[Branch, ...]:
    edges = line.attempt.graph.outgoing(router.name)
    if router.mode is RouterMode.FAN_OUT_ALL or not edges:
        return branches_of(router, edges, None)
    assert router.over is not None
    scope = line.scopes.at(line.state.outputs.get(router.name, {}))
    elements = listed(strict(router.over, scope), "what it walks over")
    if not elements and not join:
        return (single(router, edges[0]),)
    return branches_of(router, edges, elements)


def _refused(line: Line, router: RouterNode, branches: tuple[Branch, ...], join: str) -> Ending | None:
    graph, name = line.attempt.graph, router.name
    if not graph.outgoing(name):
        return failed_resumable(name, FailureCode.NO_OUTGOING_EDGE, f"router {name} has no outgoing edge")
    writers = unsafe_writers(graph, router, branches, join, line.attempt.caps.parallel_branches)
    if not writers:
        return None
    shown = " and ".join(writers)
    text = f"branches of router {name} may write the workspace at once: {shown}; mark them readonly or parallel_safe"
    return failed_resumable(name, FailureCode.WORKSPACE_SAFETY, text)


def _opened(line: Line, router: RouterNode, branches: tuple[Branch, ...], in_flight: bool) -> FanOut | Ending:
    """The invocation: a new one is stored with the router's own boundary; one in flight is read back."""
    state, attempt = line.state, line.attempt
    if not in_flight:
        state.parallel = {"router_node_id": router.name, "invocation_key": _key(line, router)}
    if not in_flight or state.owed.events:
        # What the line above owes is stored before its branches write its row: they carry nothing of it along.
        state.owed.head = None
        if refused := commit_boundary(line, router.name):
            return refused
    key = str(state.parallel["invocation_key"])
    siblings = Siblings(key, line.keeper, lambda: state.head(router.name))
    fan_out = FanOut(line, router, attempt.graph.convergence.get(router.name, ""), branches, siblings)
    if not in_flight:
        return fan_out
    rows = {row.branch_id: row for row in attempt.store.checkpoints.branches(attempt.run_id, key)}
    stored = attempt.store.checkpoints.outputs(attempt.run_id)
    outputs = {(each.row.branch_path, each.row.node_id): each.row.output for each in stored}
    return replace(fan_out, rows=rows, outputs=outputs)


def _key(line: Line, router: RouterNode) -> str:
    """Router, enclosing loops, and the executions so far, so that no two invocations share rows."""
    loops = iterations(line.attempt.loops.loops_of(router.name), line.state.loops)
    path = "-".join(f"{name}.{count}" for name, count in loops)
    return f"{line.branch}{'/' if line.branch else ''}{router.name}@{path}#{line.state.base.iterations}"


def _settled(fan_out: FanOut, walk: Walk) -> str | Ending:
    line, router = fan_out.line, fan_out.router.name
    try:
        rests = _Race(fan_out, walk).run()
    except (StoreFull, StoreBusy) as problem:
        return store_refused(router, problem)
    cause = line.attempt.stop.cause
    if cause is not None:
        return stopped(router, cause)
    failures = [rest for rest in rests if rest.end is BranchEnd.FAILED]
    if failures and (fan_out.strategy != BEST_EFFORT or not fan_out.join or any(map(is_budget, failures))):
        return _failed(router, failures)
    paused = next((rest for rest in rests if rest.end is BranchEnd.PAUSED), None)
    if paused is not None:
        return _paused(line, router, paused)
    return _joined(fan_out, rests)


class _Race:
    """The branches of one invocation on their way: who waits, who runs, who rests."""

    def __init__(self, fan_out: FanOut, walk: Walk) -> None:
        self._fan_out = fan_out
        self._walk = walk
        self._attempt = fan_out.line.attempt
        self._cell = self._attempt.stop.child()
        self._rests: dict[str, Rest] = {}
        self._running: dict[Future[Rest], Branch] = {}
        self._problem: BaseException | None = None
        self._turns = Turns(self._attempt.caps.parallel_branches, fan_out.line.turns)

    def run(self) -> list[Rest]:
        """Let them run, at most so many at once; where each rests, in their order. Raises StoreError, OwnershipLost."""
        waiting = list(self._fan_out.branches)
        pool = ThreadPoolExecutor(len(waiting), thread_name_prefix=self._fan_out.router.name)
        until: float | None = None
        try:
            while waiting or self._running:
                waiting = [] if self._cell.is_set() else self._start(waiting, pool)
                if not self._running:
                    continue
                done, _ = wait(self._running, timeout=PERIOD, return_when=FIRST_COMPLETED)
                self._collect(done)
                self._end_idle()
                if self._cell.is_set():
                    now = self._attempt.clock.monotonic()
                    until = until or now + self._grace
                    if now >= until:
                        self._abandon()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            self._attempt.stop.release(self._cell)
        if self._problem is not None:
            raise self._problem
        return [self._rests[each.id] for each in self._fan_out.branches if each.id in self._rests]

    @property
    def _grace(self) -> float:
        """Seconds for stragglers; a stop from outside kills their processes, which takes its own five seconds."""
        return self._attempt.settings.branch_cancel_grace

    def _start(self, waiting: list[Branch], pool: ThreadPoolExecutor) -> list[Branch]:
        later: list[Branch] = []
        by_key = {each.key: each.id for each in self._fan_out.branches if each.key}
        for branch in waiting:
            before = [self._rests.get(by_key[key]) for key in branch.waits_for]
            if any(rest is not None and not rest.over for rest in before):
                text = "skipped: an element that it waits for failed"
                self._rests[branch.id] = Rest(branch, BranchEnd.SKIPPED, self._fan_out.line.state, error=text)
            elif None in before or not self._turns.take():
                later.append(branch)
            else:
                self._running[pool.submit(self._worked, branch)] = branch
        self._turns.expect(len(later))
        return later

    def _end_idle(self) -> None:
        """While a question is open and every other branch only waits for an event, the run can as well pause."""
        asked = any(rest.end is BranchEnd.PAUSED for rest in self._rests.values())
        if asked and self._running and self._turns.only_parked:
            self._cell.stop(StopCause(StopKind.SIBLING, "a question is open"))

    def _collect(self, done: set[Future[Rest]]) -> None:
        for future in done:
            branch = self._running.pop(future)
            problem = future.exception()
            if problem is not None:
                self._problem = self._problem or problem
                self._cell.stop(StopCause(StopKind.SIBLING, f"{branch.id} broke"))
                continue
            rest = self._rests[branch.id] = future.result()
            if rest.end is BranchEnd.FAILED and (self._fan_out.strategy != BEST_EFFORT or is_budget(rest)):
                self._cell.stop(StopCause(StopKind.SIBLING, f"{branch.id} failed"))

    def _abandon(self) -> None:
        """Go on without the stragglers; they write nothing more."""
        self._fan_out.siblings.close()
        for branch in self._running.values():
            data = {"router": self._fan_out.router.name, "mode": str(self._fan_out.router.mode)}
            told = {**data, "branch_id": branch.id, "grace_period": self._grace, "reason": "it did not stop in time"}
            self._fan_out.line.state.note(EventType.BRANCH_ABANDONED, branch.edge.target, **told)
        self._running = {}

    def _worked(self, branch: Branch) -> Rest:
        """The branch with the turn that it holds."""
        try:
            return self._branch(branch)
        finally:
            self._turns.give_back()

    def _branch(self, branch: Branch) -> Rest:
        """One branch, in its thread: from its start or its row to where it rests."""
        fan_out, above = self._fan_out, self._fan_out.line
        row = fan_out.rows.get(branch.id)
        path = f"{above.branch}/{branch.id}" if above.branch else branch.id
        if row is None:
            state = fresh_state(above.state, branch, path, fan_out.router.name)
        else:
            state = stored_state(above.state, branch, path, fan_out.router.name, row)
            recall_outputs(state, fan_out.outputs)
        attempt = replace(self._attempt, stop=self._cell)
        keeper = BranchKeeper(fan_out.siblings, branch.id)
        line = Line(attempt, state, above.scopes.over(state), keeper, path, self._turns)
        if row is not None and row.done:
            end = BranchEnd(str(row.state.get("end", BranchEnd.JOINED)))
            return Rest(branch, end, state)
        rest = rest_of(branch, line, self._walked(line, branch, row))
        close(line, rest, fan_out.join)
        return rest

    def _walked(self, line: Line, branch: Branch, row: BranchRow | None) -> Ending | str:
        join = self._fan_out.join
        if row is not None:
            if row.state.get("end") == BranchEnd.FAILED:
                line.state.note(EventType.BRANCH_STARTED, row.node_id)
            return self._walk(line, Place(row.node_id, row.completed, resumed=True), join)
        line.state.note(EventType.BRANCH_STARTED, branch.edge.target)
        follow(line, branch.edge)
        onward = arrive(line, branch.edge)
        return onward if isinstance(onward, Ending) else self._walk(line, Place(onward), join)


def _failed(router: str, failures: list[Rest]) -> Ending:
    """The failure of a join that waits for all: the code that they share, else a plain failure (engine.md 9.4)."""
    codes = {rest.code for rest in failures}
    code = codes.pop() if len(codes) == 1 else str(FailureCode.EXECUTION_FAILED)
    if FailureCode.AMBIGUOUS_EFFECT in codes | {code}:
        code = str(FailureCode.AMBIGUOUS_EFFECT)
    told = "; ".join(f"{rest.branch.id}: {rest.error}" for rest in failures)
    return failed_resumable(router, code, told)


def _paused(line: Line, router: str, rest: Rest) -> Ending:
    """One question at a time: the run waits at the router, the branch at its node."""
    ending = rest.ending
    assert ending is not None
    asked = {"pending_branch_id": rest.branch.id, "pending_node_id": ending.anchor}
    if ending.pending is not None:
        asked["pending_interaction_id"] = ending.pending.interaction_id
    line.state.parallel = {**line.state.parallel, **asked}
    return replace(ending, anchor=router, completed=False)


def _joined(fan_out: FanOut, rests: list[Rest]) -> str | Ending:
    """Merge in the order of the branches and go on at the join, or end where there is none to go on at."""
    line, join = fan_out.line, fan_out.join
    state = line.state
    for rest in rests:
        if rest.over:
            _merge(fan_out, rest)
    state.parallel = {}
    failed: list[dict[str, object]] = [
        {"branch_id": rest.branch.id, "error": rest.error}
        for rest in rests
        if rest.end in (BranchEnd.FAILED, BranchEnd.SKIPPED)
    ]
    if not failed and all(rest.end is BranchEnd.DONE for rest in rests):
        return finished(fan_out.router.name)
    arrived = [index for rest in rests if rest.end is BranchEnd.JOINED for index in rest.state.incoming.get(join, ())]
    state.incoming = {join: tuple(sorted(set(arrived)))}
    data: dict[str, object] = {"strategy": fan_out.strategy}
    if failed:
        data["failed_branches"] = failed
        state.failed = {**state.failed, join: failed}
    state.note(EventType.JOIN_READY, join, **data)
    return join


def _merge(fan_out: FanOut, rest: Rest) -> None:
    state, branch = fan_out.line.state, rest.state
    for node, path in branch.places.items():
        if node in branch.outputs:
            state.outputs[node] = branch.outputs[node]
            state.places[node] = path
            state.hidden -= {node}
        state.histories.pop(node, None)
    for name, version in branch.artifacts.items():
        known = state.artifacts.get(name)
        if known is None or version.version > known.version:
            state.artifacts[name] = version
            state.published[name] = version.data
    state.warned = tuple(dict.fromkeys((*state.warned, *branch.warned)))
    state.heard |= {node: max(count, state.heard.get(node, 0)) for node, count in branch.heard.items()}
