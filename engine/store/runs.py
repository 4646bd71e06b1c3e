"""Runs: the exclusive insert, the claim, changes of status, stop requests, notes.

Called by the runtime and the dispatcher through ``Store.runs``. Every verb is one transaction. A lost race is an answer
(None or False), not an exception. Nothing here looks at locks: the caller holds the one it needs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import bindparam, update

from engine.errors import RunConflict, StoreBusy, StoreFull
from engine.events import NewEvent
from engine.ports import Clock
from engine.run import BudgetAsk, NewRun, Owner, check_run_id
from engine.states import RunStatus
from engine.store import questions, writes
from engine.store.changes import Claim, ClaimChange, Launch, StopKind, Transition, Written
from engine.store.checkpoints import READ_HEAD
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.heads import read_head
from engine.store.leases import Leases
from engine.store.names import table
from engine.store.prepared import Prepared, inserting_new
from engine.store.records import new_run_values, plain, read_run
from engine.store.removal import remove_files, remove_rows
from engine.store.run_reads import READ_RUN, READ_TOMBSTONE, RunReads, absent, absent_here
from engine.store.setter import set_status
from engine.store.writes import Timed

_log = logging.getLogger(__name__)
_RUN = table("run")
_INSERT = inserting_new(_RUN)
_BLANK: Mapping[str, object] = {
    **{column.name: None for column in _RUN.columns if column.nullable},
    **dict.fromkeys(("outcome_seq", "outcome_sequence", "version", "event_seq", "output_seq", "cost_usd_total"), 0),
    **dict.fromkeys(("failure_code", "error", "end_reason", "continuation", "stop_request", "stop_reason"), ""),
    "skip_noted": -1,
    "explicit_resume_required": False,
}
_THIS_RUN = _RUN.c.id == bindparam("the_run")
_OWN = Prepared(
    update(_RUN)
    .where(_THIS_RUN)
    .values(
        epoch=_RUN.c.epoch + 1,
        owner=bindparam("the_owner", type_=_RUN.c.owner.type),
        claimed_at=bindparam("at", type_=_RUN.c.claimed_at.type),
        digest=bindparam("the_digest"),
        file_path=bindparam("the_file"),
        bundle_path=bindparam("the_bundle"),
        ask=bindparam("the_ask", type_=_RUN.c.ask.type),
    )
)
_ASK_STOP = Prepared(
    update(_RUN)
    .where(
        _THIS_RUN,
        _RUN.c.status == RunStatus.RUNNING,
        _RUN.c.stop_request.in_([bindparam(f"weaker_{place}") for place in range(4)]),
    )
    .values(stop_request=bindparam("kind"), stop_reason=bindparam("reason"))
)
_SET_ASK = Prepared(update(_RUN).where(_THIS_RUN).values(ask=bindparam("the_ask", type_=_RUN.c.ask.type)))
_SET_CHILDREN = Prepared(
    update(_RUN).where(_THIS_RUN).values(children=bindparam("the_children", type_=_RUN.c.children.type))
)
_NOTE_SKIP = Prepared(
    update(_RUN)
    .where(_THIS_RUN, _RUN.c.outcome_seq == bindparam("outcome"), _RUN.c.skip_noted < bindparam("outcome"))
    .values(skip_noted=bindparam("outcome"))
)
_KINDS = tuple(StopKind)


class Runs(RunReads):
    """The verbs of ``Store.runs``."""

    def __init__(self, database: Database, clock: Clock, root: Path, leases: Leases) -> None:
        super().__init__(database)
        self._clock = clock
        self._root = root
        self._leases = leases

    def insert_claimed(self, new: NewRun, launch: Launch) -> int:
        """Store a new run, already running and owned, with its head and program, in one commit; its epoch is 1.

        In a shared store its lease is in the same commit. Raises InvalidId, RunConflict for a used id, RunDeleted for a
        deleted one (engine.md 1.3).
        """
        check_run_id(new.id)
        at = self._clock.now()
        with self._database.write_raw() as cursor:
            self._insert(cursor, new, launch, at)
            if self._leases.used:
                self._leases.grant(cursor, new.id, launch.owner, 1)
            if READ_TOMBSTONE.one(cursor, {"the_run": new.id}):
                raise absent(new.id, deleted=True)
        return 1

    def _insert(self, cursor: Cursor, new: NewRun, launch: Launch, at: datetime) -> None:
        values = {
            **_BLANK,
            **new_run_values(new),
            "status": RunStatus.RUNNING,
            "owner": plain(launch.owner),
            "epoch": 1,
        }
        times = {"created_at": at, "updated_at": at, "claimed_at": at, "last_event_at": at}
        if _INSERT.run(cursor, {**values, **times}).rowcount != 1:
            raise RunConflict(f"run {new.id} already exists", "choose another id, or resume that run")
        writes.put_head(cursor, new.id, launch.head, at)
        writes.put_sources(cursor, new.id, launch.sources)
        batches = [Timed(at, launch.written)]
        after = writes.advance(cursor, new.id, batches, at, epoch=1)
        assert after is not None
        writes.write_rows(cursor, new.id, batches, after)

    def claim(
        self, run_id: str, from_statuses: frozenset[RunStatus], owner: Owner, change: ClaimChange = ClaimChange()
    ) -> Claim | None:
        """The one door: become the owner of a run that is in one of ``from_statuses``; None when the race was lost.

        Status, epoch, answers, head, outputs, events and, in a shared store, the lease are one commit. The pending
        question is consumed in it. Raises LockHeld while the lease of an earlier owner is live, RunUnknown, RunDeleted,
        RecordUnreadable.
        """
        at = self._clock.now()
        door = Transition(RunStatus.RUNNING, from_statuses, head=change.head, written=change.written)
        with self._database.write_raw() as cursor:
            before = READ_HEAD.one(cursor, {"the_run": run_id})
            head = None if before is None else read_head(run_id, before)
            changed = set_status(cursor, run_id, door, at)
            if changed is None:
                return None
            pending = head.pending if head else None
            if change.answers:
                questions.record_answers(cursor, run_id, change.answers, pending, at)
            self._take_over(cursor, run_id, owner, change, at)
            found = READ_RUN.one(cursor, {"the_run": run_id})
            assert found is not None
            record = read_run(found)
            if self._leases.used:
                self._leases.grant(cursor, run_id, owner, record.epoch)
        now = change.head or head
        return Claim(record.epoch, record, replace(now, pending=None) if now else None, changed.came_from, pending)

    def _take_over(self, cursor: Cursor, run_id: str, owner: Owner, change: ClaimChange, at: datetime) -> None:
        found = READ_RUN.one(cursor, {"the_run": run_id})
        assert found is not None
        stored = read_run(found)
        values = {
            "the_run": run_id,
            "the_owner": plain(owner),
            "at": at,
            "the_digest": stored.digest if change.digest is None else change.digest,
            "the_file": stored.file_path if change.file_path is None else change.file_path,
            "the_bundle": stored.bundle_path if change.file_path is None else change.bundle_path,
            "the_ask": plain(stored.ask if change.ask is None else change.ask),
        }
        _OWN.run(cursor, values)
        if change.sources is not None:
            writes.put_sources(cursor, run_id, change.sources)

    def transition(self, run_id: str, change: Transition) -> bool:
        """Change the status with everything of engine.md 1.4; False when status or epoch is another by now.

        Raises ValueError for a step that no row of ``TRANSITIONS`` allows, RunUnknown, RunDeleted, RecordUnreadable.
        """
        with self._database.write_raw() as cursor:
            return set_status(cursor, run_id, change, self._clock.now()) is not None

    def request_stop(self, run_id: str, kind: StopKind, reason: str = "") -> bool:
        """Ask the owner of a running run to stop; False when it does not run or was asked for more already."""
        weaker = ["", *_KINDS[: _KINDS.index(kind) + 1]]
        padded = (weaker + [""] * 3)[:4]
        values = {f"weaker_{place}": weak for place, weak in enumerate(padded)}
        with self._database.write_raw() as cursor:
            changed = _ASK_STOP.run(cursor, {**values, "the_run": run_id, "kind": kind, "reason": reason})
            return changed.rowcount == 1

    def set_ask(self, run_id: str, ask: BudgetAsk) -> None:
        """Store the merged budget ask (engine.md 7.7)."""
        self._change(run_id, _SET_ASK, {"the_ask": plain(ask)})

    def set_children(self, run_id: str, children: Mapping[str, str]) -> None:
        """Store the pointers to child runs: node, or node and iteration, to run id (engine.md 9.6)."""
        self._change(run_id, _SET_CHILDREN, {"the_children": dict(children)})

    def note(self, run_id: str, event: NewEvent, epoch: int | None = None) -> bool:
        """Write an event that reports no change of state. It may be lost: False, and the gap is logged."""
        batches = [Timed(self._clock.now(), Written(events=(event,)))]
        try:
            with self._database.write_raw() as cursor:
                after = writes.advance(cursor, run_id, batches, batches[0].at, epoch)
                if after is not None:
                    writes.write_rows(cursor, run_id, batches, after)
                return after is not None
        except (StoreFull, StoreBusy) as error:
            _log.warning("run.event_lost", extra={"run_id": run_id, "type": event.type, "error": error.message})
            return False

    def retry_skipped_once(self, run_id: str, outcome_seq: int, event: NewEvent) -> bool:
        """Write ``run_retry_skipped`` unless this stop has one already (engine.md 4.5)."""
        batches = [Timed(self._clock.now(), Written(events=(event,)))]
        with self._database.write_raw() as cursor:
            if _NOTE_SKIP.run(cursor, {"the_run": run_id, "outcome": outcome_seq}).rowcount != 1:
                return False
            after = writes.advance(cursor, run_id, batches, batches[0].at, None)
            assert after is not None
            writes.write_rows(cursor, run_id, batches, after)
            return True

    def delete(self, run_id: str) -> None:
        """Delete an ended run for good; the caller holds its lock. Raises WrongStatus, RunUnknown, RunDeleted."""
        with self._database.write_raw() as cursor:
            remove_rows(cursor, check_run_id(run_id), self._clock.now())
        remove_files(self._root, run_id)

    def _change(self, run_id: str, statement: Prepared, values: Mapping[str, object]) -> None:
        with self._database.write_raw() as cursor:
            if statement.run(cursor, {"the_run": run_id, **values}).rowcount != 1:
                raise absent_here(cursor, run_id)
