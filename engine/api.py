"""The engine: launch, resume, stop, inspect, promote, delete. It delegates and decides nothing.

Made in ``dispatcher/wiring.py``, called by the command line, the dispatcher and the web side. Thread-safe: each launch
and resume executes in the thread that calls it. It reads no configuration and no environment (house: floors).
"""

from __future__ import annotations

from dataclasses import replace

from engine.checkpoint import Interaction
from engine.documents import RunView, read_view
from engine.errors import LockHeld, WrongStatus
from engine.nodes.kinds import NODE_KINDS
from engine.ports import Clock, IdMaker
from engine.run import EffectRecord, RunRecord, check_run_id
from engine.runtime.admission import Admitted, admit
from engine.runtime.async_questions import AnswerRequest, answer
from engine.runtime.auto_resume import AutoResume, auto_resume
from engine.runtime.host import Doors, Host
from engine.runtime.launch import Prepared, launch, prepare_launch
from engine.runtime.ownership import LeaseKeeper
from engine.runtime.probing import in_doubt, may_send_again, probe, settle_by_hand
from engine.runtime.promote import Promotion, PromotionKind, promote
from engine.runtime.pruning import prune_pool
from engine.runtime.requests import LaunchRequest, ResumeRequest, RewindRequest
from engine.runtime.resume import resume
from engine.runtime.rewinding import Rewound, rewind
from engine.runtime.settings import EngineSettings
from engine.runtime.stop import StopCause, StopKind
from engine.runtime.watch import Watcher
from engine.runtime.worktrees import CommitList, commits_of, give_up
from engine.states import RunStatus, can_be_cancelled, is_running
from engine.store.changes import StopKind as Request
from engine.store.changes import Transition
from engine.store.effects import Settling, unknown
from engine.store.locks import RunLock
from engine.store.owners import owner_here
from engine.store.store import Store

__all__ = [
    "AnswerRequest",
    "AutoResume",
    "Engine",
    "EngineSettings",
    "LaunchRequest",
    "Promotion",
    "PromotionKind",
    "ResumeRequest",
    "RewindRequest",
    "Rewound",
]


class Engine:
    """The durable engine over one store. ``instance`` is the random id of a daemon, empty for a command."""

    def __init__(
        self, store: Store, settings: EngineSettings, clock: Clock, ids: IdMaker, *, instance: str = ""
    ) -> None:
        self.store = store
        nodes = {**NODE_KINDS, **settings.nodes}
        doors, owner = Doors(launch, resume, promote), owner_here(instance)
        self.leases = LeaseKeeper(store.leases, owner)
        self._host = Host(store, clock, ids, settings, owner, Watcher(store, self.leases), doors, nodes=nodes)

    def use(self, settings: EngineSettings) -> None:
        """Other settings for every attempt that begins from now on; what executes keeps those that it began with."""
        self._host = replace(self._host, settings=settings, nodes={**NODE_KINDS, **settings.nodes})

    def check_launch(self, request: LaunchRequest) -> Prepared:
        """Compile and check the values; nothing is written. Raises SourceMissing, SourceInvalid, InvalidVars."""
        return prepare_launch(self._host, request)

    def launch(self, request: LaunchRequest) -> RunRecord:
        """Execute a fresh run until it stops. Raises as ``check_launch``, and RunConflict, RunDeleted, StoreError."""
        return launch(self._host, request)

    def admit_resume(self, request: ResumeRequest) -> Admitted:
        """Every refusal of engine.md 7.3 and 5.5 without executing anything; a forge in doubt is asked."""
        admitted = admit(self._host, request)
        may_send_again(self._host, request, admitted.record)
        return admitted

    def resume(self, request: ResumeRequest) -> RunRecord:
        """Execute the next attempt of a run until it stops. Raises every refusal of engine.md 7.3, StoreError."""
        return resume(self._host, request)

    def auto_resume(self, record: RunRecord, asked: AutoResume) -> RunRecord:
        """The ``--auto-resume`` loop over a run that has just stopped (engine.md 7.9)."""
        return auto_resume(self._host, record, asked)

    def answer(self, request: AnswerRequest) -> Interaction:
        """Answer a question that does not stop its run. Raises the refusals of ``runtime/async_questions.py``."""
        return answer(self._host, request)

    def rewind(self, request: RewindRequest) -> Rewound:
        """Move a stopped run back to a node (engine.md 8). Raises the refusals of ``runtime/rewinding.py``."""
        return rewind(self._host, request)

    def cancel(self, run_id: str, reason: str = "", by: str = "person") -> RunRecord:
        """A person's cancel: the status is written at once, a running node ends within a second.

        Raises WrongStatus for a run that has ended for good or was cancelled, RunUnknown, RunDeleted.
        """
        record = self.store.runs.get(run_id)
        text = reason or "cancelled by a person"
        expected = frozenset(status for status in RunStatus if can_be_cancelled(status))
        change = Transition(RunStatus.CANCELLED, expected, error=text, end_reason=by)
        if not can_be_cancelled(record.status) or not self.store.runs.transition(run_id, change):
            now = self.store.runs.get(run_id)
            raise WrongStatus(f"run {run_id} cannot be cancelled (status: {now.status})", "it has ended already")
        cell = self._host.executing.cell(run_id)
        if cell is not None:
            cell.stop(StopCause(StopKind.CANCEL, text, recorded=True))
        return self.store.runs.get(run_id)

    def pause(self, run_id: str) -> None:
        """Ask a running run to pause at its next node boundary. Raises WrongStatus for any other status."""
        record = self.store.runs.get(run_id)
        if not is_running(record.status) or not self.store.runs.request_stop(run_id, Request.PAUSE):
            raise WrongStatus(
                f"run {run_id} cannot be paused (status: {record.status})", "only a running run can be paused"
            )
        cell = self._host.executing.cell(run_id)
        if cell is not None:
            cell.pause()

    def interrupt(self, run_id: str, cause: str) -> bool:
        """A machine's stop of a run that executes here; False when it does not (engine.md 1.7)."""
        cell = self._host.executing.cell(run_id)
        return cell.stop(StopCause(StopKind.INTERRUPT, cause)) if cell is not None else False

    def interrupt_all(self, cause: str) -> int:
        """Interrupt every run that executes here; how many there are."""
        return self._host.executing.stop_all(StopCause(StopKind.INTERRUPT, cause))

    def drain_all(self, cause: str) -> int:
        """Interrupt every run that executes here at its next node boundary, also each that begins from now on."""
        return self._host.executing.drain_all(StopCause(StopKind.INTERRUPT, cause))

    def cancel_all(self, reason: str) -> int:
        """Ctrl-C: stop every run that executes here; each writes its head, then its status; how many there are."""
        return self._host.executing.stop_all(StopCause(StopKind.CANCEL, reason))

    def kill_all(self) -> None:
        """The second Ctrl-C: the processes of every run here get no more time."""
        self._host.executing.kill_all()

    def executing(self) -> tuple[str, ...]:
        """The runs that execute in this process."""
        return self._host.executing.ids()

    def last_sign(self, run_id: str) -> float | None:
        """Monotonic second of the last sign of life of a run that executes here, None for any other."""
        cell = self._host.executing.cell(run_id)
        return cell.signs.last if cell is not None else None

    def inspect(self, run_id: str) -> RunView:
        """One reading of a run. Raises InvalidId, RunUnknown, RunDeleted, RecordUnreadable, StoreUnreachable."""
        return read_view(self.store, run_id)

    def commits(self, run_id: str) -> CommitList | None:
        """What the run committed; None where it has no commit to compare with. Raises RunUnknown, WorktreeFailed."""
        return commits_of(self._host, self.store.runs.get(run_id))

    def promote(self, run_id: str, grace: float) -> Promotion:
        """Promote an orphan under its lock (engine.md 12.3). Raises RunUnknown, RunDeleted."""
        return promote(self._host, run_id, grace)

    def probe_effect(self, effect_id: str) -> EffectRecord:
        """Ask the forge about a call in doubt; its row as it is then. Raises EffectUnknown, EffectSettled."""
        probe(self._host, in_doubt(self._host, effect_id))
        return self.effect(effect_id)

    def settle_effect(self, effect_id: str, settling: Settling) -> EffectRecord:
        """A person says what became of a call in doubt. Raises EffectUnknown, EffectSettled."""
        return settle_by_hand(self._host, effect_id, settling)

    def effect(self, effect_id: str) -> EffectRecord:
        """The row of a remote call. Raises EffectUnknown."""
        found = self.store.effects.get(effect_id)
        if found is None:
            raise unknown(effect_id)
        return found

    def delete(self, run_id: str) -> None:
        """Delete an ended run whose lock is free. Raises WrongStatus, LockHeld, RunUnknown, RunDeleted."""
        self.store.runs.get(check_run_id(run_id))
        lock = RunLock(self.store.root, run_id, self._host.owner)
        if not lock.acquire():
            raise LockHeld(
                f"run {run_id} is being executed by {lock.holder_text()}", "cancel it, or wait until it ends"
            )
        try:
            with self.leases.borrowing(run_id):
                give_up(self._host, self.store.runs.get(run_id))
                self.store.runs.delete(run_id)
        finally:
            lock.release()
        prune_pool(self.store)
