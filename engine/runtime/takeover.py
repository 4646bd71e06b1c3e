"""``--force-stale``: taking over a running run whose owner is dead (engine.md 7.10).

Called by ``resume`` before anything else when a person asks for it.
"""

from __future__ import annotations

from engine.errors import LockHeld, TooRecent
from engine.failures import FailureCode
from engine.run import RunRecord
from engine.runtime.host import Host
from engine.runtime.promote import age_of, holder_elsewhere, promote_locked
from engine.runtime.runlog import LOGGER
from engine.states import is_running
from engine.store.locks import RunLock


def take_over(host: Host, run_id: str) -> RunRecord | None:
    """Promote the run if it is running and dead; the record when the command has to stop there for an ambiguous call.

    A run that is not running is left to the resume. Raises TooRecent with the age, LockHeld with the holder, or where a
    free lock proves nothing.
    """
    record = host.store.runs.get(run_id)
    if not is_running(record.status):
        return None
    age = age_of(record.last_event_at, host.clock.now())
    limit = host.settings.force_stale_after
    if age is not None and age < limit:
        raise TooRecent(
            f"run {run_id} showed a sign of life {age:.0f} s ago",
            f"look with: pointsman inspect --run-id {run_id}; it counts as stale after {limit:g} s",
        )
    _check_proof(host, record)
    lock = RunLock(host.store.root, run_id, host.owner)
    if not lock.acquire():
        raise held(run_id, lock)
    try:
        record = host.store.runs.get(run_id)
        if not is_running(record.status):
            return None
        shown = "no event" if age is None else f"no sign of life for {age:.0f} s"
        promotion = promote_locked(host, record, f"{shown}, taken over with --force-stale")
    finally:
        lock.release()
    if promotion.code != FailureCode.AMBIGUOUS_EFFECT:
        return None
    stopped = host.store.runs.get(run_id)
    LOGGER.warning(stopped.error)
    return stopped


def _check_proof(host: Host, record: RunRecord) -> None:
    """Raise LockHeld where a free lock would not prove that the owner is gone."""
    if not host.store.leases.used and not host.settings.locks_prove:
        raise LockHeld(
            f"nothing proves that process {record.owner.pid}, the owner of run {record.id}, is gone: its lock file "
            "lies on a network file system",
            "move the store to a local disk, or set store.allow_network: true and know why",
        )
    if (refusal := holder_elsewhere(host, record)) is not None:
        raise refusal


def held(run_id: str, lock: RunLock) -> LockHeld:
    """The refusal for a run whose lock somebody holds."""
    return LockHeld(
        f"the lock of run {run_id} is held by {lock.holder_text()} or a process that it started",
        f"wait until it has ended; look with: pointsman inspect --run-id {run_id}",
    )
