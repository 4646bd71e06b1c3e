"""The one function that changes a run's status, inside a transaction that its caller opened (engine.md 1.3, 1.4).

Called by ``runs.py`` and ``boundary.py``. It compares and sets: the update names the status and the epoch that it saw,
and the caller's write transaction keeps everybody else out meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, update

from engine.store import writes
from engine.store.changes import Stop, Transition
from engine.store.cursors import Cursor
from engine.store.database import take_sequence
from engine.store.names import table
from engine.store.planning import Plan, StatusColumns, check_allowed, plan_change, reported
from engine.store.prepared import Prepared, PreparedRead
from engine.store.rows import Row
from engine.store.run_reads import absent_here
from engine.store.writes import Advanced, Timed

_RUN = table("run")
_STATUS_COLUMNS = tuple(StatusColumns.__dataclass_fields__)
_SEEN = PreparedRead(
    [*(_RUN.c[name] for name in _STATUS_COLUMNS), _RUN.c.epoch, _RUN.c.outcome_sequence],
    _RUN.c.id == bindparam("the_run"),
)
_SET = Prepared(
    update(_RUN)
    .where(
        _RUN.c.id == bindparam("the_run"),
        _RUN.c.status == bindparam("seen_status"),
        _RUN.c.epoch == bindparam("seen_epoch"),
    )
    .values(
        {
            **{name: bindparam(name + "_", type_=_RUN.c[name].type) for name in _STATUS_COLUMNS},
            "outcome_sequence": bindparam("sequence"),
            "stop_request": "",
            "stop_reason": "",
            "event_seq": _RUN.c.event_seq + bindparam("event_count"),
            "output_seq": _RUN.c.output_seq + bindparam("output_count"),
            "cost_usd_total": _RUN.c.cost_usd_total + bindparam("cost"),
            "version": _RUN.c.version + 1,
            "updated_at": bindparam("at"),
            "last_event_at": bindparam("at"),
        }
    )
    .returning(_RUN.c.event_seq, _RUN.c.output_seq)
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that was made: the status before it."""

    came_from: str


def set_status(
    cursor: Cursor, run_id: str, change: Transition, at: datetime, owed: Sequence[Timed] = ()
) -> Changed | None:
    """Change the status of a run with everything that belongs to it; None when status or epoch is another.

    ``owed`` are rows of refused commits that are written first. Raises ValueError for a step that the table of
    transitions does not allow, RunUnknown, RunDeleted, RecordUnreadable.
    """
    check_allowed(change.to, change.from_statuses)
    seen = _SEEN.one(cursor, {"the_run": run_id})
    if seen is None:
        raise absent_here(cursor, run_id)
    if seen["status"] not in change.from_statuses or change.epoch not in (None, seen["epoch"]):
        return None
    plan = plan_change(_columns(run_id, seen), change, at)
    rows = replace(change.written, events=reported(change, seen["status"]))
    batches = [*owed, Timed(at, rows)]
    after = _update(cursor, run_id, seen, plan, batches)
    if after is None:
        return None
    _write_checkpoint(cursor, run_id, change, plan, at)
    writes.write_rows(cursor, run_id, batches, after)
    return Changed(seen["status"])


def _columns(run_id: str, seen: dict[str, Any]) -> StatusColumns:
    row = Row("run", run_id, seen)
    return StatusColumns(
        status=row.text("status"),
        failure_code=row.text("failure_code"),
        error=row.text("error"),
        end_reason=row.text("end_reason"),
        continuation=row.text("continuation"),
        outcome_seq=row.integer("outcome_seq"),
        finished_at=row.maybe_instant("finished_at"),
        queued_at=row.maybe_instant("queued_at"),
        retry_after_at=row.maybe_instant("retry_after_at"),
        explicit_resume_required=row.truth("explicit_resume_required"),
    )


def _update(cursor: Cursor, run_id: str, seen: dict[str, Any], plan: Plan, batches: Sequence[Timed]) -> Advanced | None:
    values: dict[str, Any] = {name + "_": getattr(plan.columns, name) for name in _STATUS_COLUMNS}
    values |= {
        "the_run": run_id,
        "seen_status": seen["status"],
        "seen_epoch": seen["epoch"],
        "sequence": take_sequence(cursor) if plan.numbered else seen["outcome_sequence"],
        **writes.counted(batches),
        "at": batches[-1].at,
    }
    found = _SET.run(cursor, values).fetchone()
    return None if found is None else Advanced(found[0], found[1], Stop(plan.columns.status, epoch=seen["epoch"]))


def _write_checkpoint(cursor: Cursor, run_id: str, change: Transition, plan: Plan, at: datetime) -> None:
    if change.head is not None:
        head = replace(change.head, pending=None) if plan.drops_question else change.head
        writes.put_head(cursor, run_id, head, at)
    elif plan.drops_question:
        writes.drop_pending(cursor, run_id)
    if change.question is not None:
        writes.put_question(cursor, change.question)
