"""Promoting an orphan: a running run whose owner is dead becomes resumable, or failed where no checkpoint is left.

Called by the dispatcher's reconcile through ``api``, and by ``resume --force-stale``, in both cases under the run's
lock. Implements engine.md 12.3 and 7.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from engine.failures import FailureCode
from engine.run import RunRecord
from engine.runtime.host import Host
from engine.runtime.probing import probe_orphan
from engine.states import RunStatus, is_running
from engine.store.changes import Transition
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
    """Promote the run when its lock is free and its claim is older than ``grace`` seconds.

    UNPROVEN where a free lock does not prove that the owner is gone (engine.md 12.1): on a network file system, and
    for the run of another host in a shared store.
    Raises RunUnknown, RunDeleted.
    """
    record = host.store.runs.get(run_id)
    if not is_running(record.status):
        return Promotion(PromotionKind.NOT_RUNNING, record.status, record.failure_code)
    if not host.settings.locks_prove or elsewhere(host, record):
        return Promotion(PromotionKind.UNPROVEN)
    lock = RunLock(host.store.root, run_id, host.owner)
    if not lock.acquire():
        return Promotion(PromotionKind.HELD)
    try:
        record = host.store.runs.get(run_id)
        if not is_running(record.status):
            return Promotion(PromotionKind.NOT_RUNNING, record.status, record.failure_code)
        age = age_of(record.claimed_at, host.clock.now())
        if age is not None and age < grace:
            return Promotion(PromotionKind.YOUNG)
        return promote_locked(host, record, f"its owner (process {record.owner.pid}) is gone and its lock is free")
    finally:
        lock.release()


def elsewhere(host: Host, record: RunRecord) -> bool:
    """Whether the owner's lock may be one that cannot be seen from here: in a shared store, that of another host, or of
    another process that lives and may keep its files elsewhere."""
    if not host.store.database.driver.shared:
        return False
    owner = record.owner
    return not is_here(owner) or (owner.pid != host.owner.pid and owner_alive(owner))


def promote_locked(host: Host, record: RunRecord, found: str) -> Promotion:
    """Promote under the lock that the caller holds; NOT_RUNNING when the row is another by now.

    Calls in doubt are probed first, with no transaction open.
    """
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
    now = host.store.runs.get(record.id)
    return Promotion(PromotionKind.NOT_RUNNING, now.status, now.failure_code)
