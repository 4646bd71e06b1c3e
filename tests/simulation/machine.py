"""What stands for the engine and its processes: real rows of runs through the store's own verbs, scripted endings.

A run's row, claim, epoch and outcome are the product's; only what happens between claim and end is a script. Locks,
children and processes live here, and die here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from dispatcher import doubts
from dispatcher.candidate import Problem
from dispatcher.ledger.records import Key
from dispatcher.station import Child, LaunchOrder
from engine import states
from engine.checkpoint import Head
from engine.errors import AlreadyRunning, EngineError, LockHeld, WrongStatus
from engine.events import EventType, NewEvent
from engine.failures import Allowance, FailureCode, row_of
from engine.run import NewRun, Owner, RunRecord, SourceFile
from engine.states import RESUMABLE_WITH_ANSWERS, RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import ClaimChange, Launch, Transition, Written
from engine.store.owners import host_id
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.simulation.seams import Crashed, Seams
from tests.simulation.watch import Stop, Watch

if TYPE_CHECKING:
    from tests.simulation.grounds import Ground, Standing

_S, _C = RunStatus, FailureCode
RUNNING = frozenset({_S.RUNNING})
ENDINGS: tuple[tuple[int, RunStatus, str], ...] = (
    (46, _S.FINISHED, ""),
    (12, _S.FAILED_RESUMABLE, _C.TOOL_FAILED_TRANSIENT),
    (3, _S.FAILED_RESUMABLE, _C.SANDBOX_CAPACITY),
    (5, _S.FAILED_RESUMABLE, _C.EXPRESSION_FAILED),
    (4, _S.FAILED_RESUMABLE, "BOT_SAYS_NO"),
    (4, _S.FAILED_RESUMABLE, _C.BUDGET_EXCEEDED),
    (3, _S.FAILED_RESUMABLE, _C.AMBIGUOUS_EFFECT),
    (6, _S.FAILED, _C.FAIL_NODE),
    (9, _S.PAUSED_WAITING_HUMAN, ""),
    (2, _S.PAUSED_OPERATOR, ""),
    (6, _S.RUNNING, ""),
)
"""How often a run ends how; one that ends as running hangs silently until it is stopped."""
LASTS = (0.05, 0.05, 2.0, 2.0, 30.0, 120.0, 500.0)


@dataclass(slots=True)
class Execution:
    """A run that executes in some process. Instants are monotonic seconds."""

    run_id: str
    process: str
    epoch: int
    began: float
    ends: float
    status: RunStatus
    code: str
    stop: str = ""
    lost: float = 0.0
    """Of its time that in which no process ran."""
    key: Key = ("", "")
    again: frozenset[str] = frozenset()
    """The calls in doubt that a person decided to send again."""


class Machine:
    """One host with its processes, runs and locks."""

    def __init__(self, store: Store, clock: FakeClock, seams: Seams, watch: Watch, seed: int) -> None:
        self.store, self.clock, self.seams, self.watch, self.seed = store, clock, seams, watch, seed
        self.ground: Ground
        self.eligible: frozenset[str] = frozenset()
        self.bound = 0
        self.digest = "d1"
        self.raises: set[str] = set()
        self.live: dict[str, Execution] = {}
        self.children: dict[str, float] = {}
        self.causes: dict[str, str] = {}
        self.ended: Callable[[str, str], None] = lambda _process, _run: None
        self.died: Callable[[str], None] = self.kill
        self.processes: set[str] = set()
        self.hangs = True
        self._known: dict[Key, list[str]] = defaultdict(list)
        self._starts: Counter[Key] = Counter()
        self._pids = 0

    def process(self, kind: str) -> Owner:
        """A new process with an identity of its own."""
        self._pids += 1
        name = f"{kind}{self._pids}"
        self.processes.add(name)
        return Owner(name, host_id(), "boot", 5_000_000 + self._pids, self._pids)

    def kill(self, process: str, children_for: float = 0.0) -> None:
        """SIGKILL: its runs stop where they are; their locks are free unless children hold them a while."""
        self.processes.discard(process)
        for run_id in [each.run_id for each in self.live.values() if each.process == process]:
            del self.live[run_id]
            if children_for:
                self.children[run_id] = self.clock.monotonic() + children_for

    def held(self, run_id: str) -> bool:
        """Whether somebody holds the run's lock."""
        return run_id in self.live or self.children.get(run_id, 0.0) > self.clock.monotonic()

    def works(self, key: Key) -> bool:
        """Whether a run of the card executes somewhere."""
        return any(self.held(run_id) for run_id in self._known[key])

    def runs_of(self, key: Key) -> list[RunRecord]:
        """The card's runs that were ever stored, oldest first."""
        found = {record.id: record for record in self.store.runs.get_many(self._known[key]).records}
        return [found[run_id] for run_id in self._known[key] if run_id in found]

    def cards(self) -> Iterator[Standing]:
        """Every card of the board, as it is and not as anybody reads it."""
        return self.ground.cards()

    def may_go_on(self, record: RunRecord) -> bool:
        """Whether somebody raised the cap that stopped the run, or the calls that stopped it are settled."""
        allowance = row_of(record.failure_code).unattended
        raised = allowance is Allowance.IF_RAISED and record.id in self.raises
        return raised or (
            allowance is Allowance.IF_SETTLED and doubts.settled(self.store.effects.stopping([record.id]))
        )

    # -- executing -----------------------------------------------------------------------------------------------------
    def launch(self, key: Key, order: LaunchOrder, owner: Owner, claimed: Callable[[], None]) -> None:
        """Store a fresh run, running and owned."""
        self.watch.launching(key, order.run_id)
        self._known[key].append(order.run_id)
        new = NewRun(order.run_id, order.name, "work", str(order.bot), str(order.workspace), self.digest)
        written = Written(events=(NewEvent(EventType.RUN_STARTED),))
        launch = Launch(owner, Head("entry"), (SourceFile("work.bot", "x"),), written)
        self.store.runs.insert_claimed(new, launch)
        self._begin(key, order.run_id, owner, 1, claimed)

    def resume(
        self,
        key: Key,
        run_id: str,
        owner: Owner,
        change: ClaimChange,
        claimed: Callable[[], None],
        *,
        attended: bool = False,
    ) -> None:
        """Claim a run that stopped. Raises ``LockHeld``, ``WrongStatus``, ``AlreadyRunning``, ``AmbiguousUnread``."""
        record = self.store.runs.get(run_id)
        answered = states.requires_answers(record.status)
        wanted = RESUMABLE_WITH_ANSWERS if answered else RESUMABLE_WITHOUT_ANSWERS
        if self.held(run_id):
            raise LockHeld("the run's lock is held")
        if record.status not in wanted:
            raise WrongStatus(f"the run is {record.status}")
        again = self.ground.decided(owner.instance, record, attended=attended)
        claim = self.store.runs.claim(run_id, frozenset({RunStatus(record.status)}), owner, change)
        if claim is None:
            raise AlreadyRunning("somebody else claimed it")
        if record.failure_code == _C.AMBIGUOUS_EFFECT:
            self.store.effects.release(run_id)
        self._begin(key, run_id, owner, claim.epoch, claimed, again)

    def _begin(
        self,
        key: Key,
        run_id: str,
        owner: Owner,
        epoch: int,
        claimed: Callable[[], None],
        again: frozenset[str] = frozenset(),
    ) -> None:
        self._starts[key] += 1
        random = Random(f"{self.seed} {key[1]} {self._starts[key]}")
        _, status, code = random.choices(ENDINGS, [each[0] for each in ENDINGS])[0]
        if status is _S.RUNNING and not self.hangs:
            status = _S.FINISHED
        now = self.clock.monotonic()
        ends = now + random.choice(LASTS) if status is not _S.RUNNING else float("inf")
        self.live[run_id] = Execution(run_id, owner.instance, epoch, now, ends, status, code, key=key, again=again)
        try:
            claimed()
        except EngineError:
            self.live.pop(run_id, None)
            raise

    def calm(self) -> None:
        """From now on nothing hangs."""
        self.hangs = False
        for each in self.live.values():
            if each.status is _S.RUNNING:
                each.status, each.ends = _S.FINISHED, self.clock.monotonic() + 50.0

    def advance(self) -> None:
        """End every run whose time has come."""
        now = self.clock.monotonic()
        for each in [each for each in self.live.values() if each.ends <= now]:
            if self.ground.free(each.process) and each is self.live.get(each.run_id):
                self._end(each)

    def _end(self, each: Execution) -> None:
        if not each.stop and not self._called(each):
            return
        del self.live[each.run_id]
        change = Transition(each.status, RUNNING, each.epoch, each.code, each.code and "said so")
        with self.seams.paused():
            self.store.runs.transition(each.run_id, change)
        if each.status is _S.FAILED_RESUMABLE and each.code == _C.INTERRUPTED:
            self.causes[each.run_id] = each.stop
        self.watch.note(f"    run {each.run_id} ended {each.status} {each.code}")
        self.ended(each.process, each.run_id)

    def _called(self, each: Execution) -> bool:
        """Make the calls of the run before its end; False when its process died over them."""
        try:
            code = self.ground.call(each)
        except Crashed:
            self.seams.dying = False
            self.died(each.process)
            return False
        if code:
            each.status, each.code = _S.FAILED_RESUMABLE, code
        return each is self.live.get(each.run_id)

    def stop(self, run_id: str, cause: str) -> bool:
        """Tell an executing run to stop; it obeys after a while, or ends by itself before."""
        each = self.live.get(run_id)
        if each is None or each.stop:
            return False
        each.stop = cause
        obeys = self.clock.monotonic() + Random(f"{self.seed} {run_id} {cause}").choice((0.0, 1.0, 7.0, 90.0))
        if obeys < each.ends:
            cancelled = cause == "cancel"
            each.ends, each.status = obeys, _S.CANCELLED if cancelled else _S.FAILED_RESUMABLE
            each.code = _C.CANCELLED if cancelled else _C.INTERRUPTED
        return True

    def promote(self, run_id: str, process: str = "") -> bool:
        """Judge an orphan dead, under its lock; the forge is asked about the calls that it may have made."""
        record = self.store.runs.get(run_id)
        self.watch.promoting(record)
        code = _C.AMBIGUOUS_EFFECT if self.ground.doubtful(process, run_id) else _C.PROCESS_ORPHANED
        change = Transition(_S.FAILED_RESUMABLE, RUNNING, failure_code=code, error="the owner is gone")
        return states.is_running(record.status) and self.store.runs.transition(run_id, change)


class Door:
    """``station.EngineDoor`` of one process. Variants of it are how the simulation is tried out (``mutants``)."""

    def __init__(self, machine: Machine, owner: Owner, stall: float) -> None:
        self.machine, self.owner, self.stall = machine, owner, stall
        self.keys: dict[str, Key] = {}

    def launch(self, order: LaunchOrder, claimed: Callable[[], None]) -> None:
        self.machine.launch(self.keys[order.run_id], order, self.owner, claimed)

    def resume(self, run_id: str, attended: bool, claimed: Callable[[], None], outcome: int = -1, by: str = "") -> None:
        record = self.machine.store.runs.get(run_id)
        if record.status == _S.CANCELLED and not attended:
            raise WrongStatus("it was cancelled by a person; no machine resumes it")
        if outcome not in (-1, record.outcome_sequence):
            raise WrongStatus(f"it stopped anew meanwhile and is {record.status}")
        if not self.machine.held(run_id) and states.can_person_resume(record.status):
            self.machine.watch.resuming(self.keys[run_id], record, attended)
        self.machine.resume(self.keys[run_id], run_id, self.owner, ClaimChange(), claimed, attended=attended)

    def promote(self, run_id: str, *, from_ahead: bool = False) -> bool:
        return not self.machine.held(run_id) and self.machine.promote(run_id, self.owner.instance)

    def interrupt(self, run_id: str, cause: str) -> bool:
        each = self.machine.live.get(run_id)
        if each is not None:
            silent = self.machine.clock.monotonic() - each.began - each.lost
            self.machine.watch.interrupting(run_id, Stop(cause, silent, self.stall))
        return self.machine.stop(run_id, cause)

    def probe_effect(self, effect_id: str) -> object:
        return self.machine.ground.probe(self.owner.instance, effect_id)

    def executing(self) -> Collection[str]:
        return [each.run_id for each in self.machine.live.values() if each.process == self.owner.instance]

    def isolated(self) -> bool:
        return False

    def kill(self, run_id: str) -> bool:
        return False

    def at_node(self, run_id: str) -> str:
        return "work"

    def silent_for(self, run_id: str) -> float:
        each = self.machine.live.get(run_id)
        hangs = each is not None and each.status is _S.RUNNING
        return self.machine.clock.monotonic() - each.began if hangs and each is not None else 0.0

    def lock_held(self, run_id: str) -> bool:
        return self.machine.held(run_id)

    def owner_alive(self, owner: Owner) -> bool:
        return owner.instance in self.machine.processes

    def source_changed(self, path: str, digest: str) -> bool:
        return digest != self.machine.digest

    def problem(self, bot: Path, values: Mapping[str, object]) -> Problem | None:
        return None

    def declared(self, bot: Path) -> frozenset[str] | None:
        return frozenset({"title"})

    def children(self, run_id: str) -> tuple[Child, ...]:
        return (Child(99, "make", True),) if self.machine.children.get(run_id, 0.0) else ()

    def stop_children(self, run_id: str) -> int:
        return int(self.machine.children.pop(run_id, None) is not None)

    def question(self, run_id: str) -> str:
        return "ask: ok (bool)"

    def answered(self, run_id: str) -> bool:
        return False

    def interrupt_cause(self, run_id: str) -> str:
        return self.machine.causes.get(run_id, "")

    def pause_reason(self, run_id: str) -> str:
        return "by a person"

    def budget_stop(self, run_id: str) -> Mapping[str, object]:
        return {"axis": "tokens", "used": 10, "limit": 10}
