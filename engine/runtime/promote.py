"""Promoting an orphan: a running run whose owner is dead becomes resumable, or failed where no checkpoint is left.

Called by the dispatcher's reconcile through ``api``, and by ``resume --force-stale``, in both cases under the run's
lock. Implements engine.md 12.3 and 7.10.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from engine.errors import LockHeld
from engine.failures import FailureCode
from engine.run import RunRecord
from engine.runtime.host import Host
from engine.runtime.ownership import unheard
from engine.runtime.probing import probe_orphan
from engine.states import RunStatus, is_running
from engine.store.changes import Transition
from engine.store.leases import leased, run_lease
from engine.store.locks import RunLock
from engine.store.owners import is_here, owner_alive


class PromotionKind(StrEnum):
    """What became of a run that looked like an orphan."""

    PROMOTED = "promoted"
    NOT_RUNNING = "not_running"
    HELD = "held"
    YOUNG = "young"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The answer, with the status and the code that the run has now when it was promoted."""

    kind: PromotionKind
    status: str = ""
    code: str = ""


def age_of(moment: datetime | None, now: datetime) -> float | None:
    """Seconds since ``moment``, never negative: a clock that stepped back makes things look young. None for none."""
    return None if moment is None else max(0.0, (now - moment).total_seconds())


def promote(host: Host, run_id: str, grace: float) -> Promotion:
    """Promote the run when its lock is free, its lease has ended, and its claim is older than ``grace`` seconds.

    UNPROVEN where a free lock does not prove that the owner is gone: on a network file system, unless the store is a
    shared one, whose leases prove it (engine.md 12.1). Raises RunUnknown, RunDeleted.
    """
    record = host.store.runs.get(run_id)
    if not is_running(record.status):
        return Promotion(PromotionKind.NOT_RUNNING, record.status, record.failure_code)
    if not host.store.leases.used and not host.settings.locks_prove:
        return Promotion(PromotionKind.UNPROVEN)
    lock = RunLock(host.store.root, run_id, host.owner)
    if holder_elsewhere(host, record) or not lock.acquire():
        return Promotion(PromotionKind.HELD)
    try:
        record = host.store.runs.get(run_id)
        if not is_running(record.status):
            return Promotion(PromotionKind.NOT_RUNNING, record.status, record.failure_code)
        age = age_of(record.claimed_at, host.clock.now())
        if age is not None and age < grace:
            return Promotion(PromotionKind.YOUNG)
        return promote_locked(host, record, f"its owner (process {record.owner.pid}) is gone and {_free(host)}")
    except LockHeld:
        return Promotion(PromotionKind.HELD)
    finally:
        lock.release()


def _free(host: Host) -> str:
    return "its lease has ended" if host.store.leases.used else "its lock is free"


def holder_elsewhere(host: Host, record: RunRecord) -> LockHeld | None:
    """In a shared store: who may still own the run though its lock is not seen here, as the refusal says it.

    A live lease, wherever its holder is; behind it a process of this host that lives and keeps its files elsewhere.
    """
    if not host.store.leases.used:
        return None
    lease = host.store.leases.look_at(run_lease(record.id))
    if lease is not None and lease.live:
        return leased(record.id, lease.holder, lease.left)
    owner = record.owner
    if is_here(owner) and owner.pid != host.owner.pid and owner_alive(owner):
        return LockHeld(
            f"the lease of run {record.id} has ended, but process {owner.pid}, its owner, lives on this host",
            "stop that process, or wait until it has ended",
        )
    return None


def promote_locked(host: Host, record: RunRecord, found: str) -> Promotion:
    """Promote under the lock that the caller holds; NOT_RUNNING when the row is another by now.

    In a shared store the run is taken over first, so that nothing of its old owner is written behind what is decided
    here. Calls in doubt are probed then, with no transaction open. Raises LockHeld for a lease that is live.
    """
    if not host.store.leases.used:
        return _promote_owned(host, record, found)
    epoch = host.store.leases.take_run(record.id, record.epoch, host.owner)
    if not epoch:
        return _as_it_is(host, record.id)
    with host.watcher.keeper.keeping(run_lease(record.id), epoch, unheard):
        return _promote_owned(host, replace(record, epoch=epoch), found)


def _as_it_is(host: Host, run_id: str) -> Promotion:
    now = host.store.runs.get(run_id)
    return Promotion(PromotionKind.NOT_RUNNING, now.status, now.failure_code)


def _promote_owned(host: Host, record: RunRecord, found: str) -> Promotion:
    head = host.store.checkpoints.head(record.id)
    doubtful = probe_orphan(host, record.id)
    to = RunStatus.FAILED_RESUMABLE if head else RunStatus.FAILED
    code = FailureCode.AMBIGUOUS_EFFECT if head and doubtful else FailureCode.PROCESS_ORPHANED
    text = f"the run was orphaned: {found}"
    if doubtful:
        names = ", ".join(f"{each.operation} ({each.id})" for each in doubtful)
        text += f"; these calls may have been made: {names}"
    change = Transition(to, frozenset({RunStatus.RUNNING}), record.epoch, failure_code=str(code), error=text)
    if host.store.runs.transition(record.id, change):
        return Promotion(PromotionKind.PROMOTED, str(to), str(code))
    return _as_it_is(host, record.id)
