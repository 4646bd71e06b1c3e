"""Reading runs: one, many, the running ones, the outcomes since a point. Reading never writes.

The base of ``runs.py``. A run that is not there is *deleted* or *unknown*; neither is ever concluded from a store that
cannot be reached, which raises StoreUnreachable (engine.md 1.6, 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Select, bindparam, select, text

from engine.errors import EngineError, RecordUnreadable, RunDeleted, RunUnknown
from engine.run import RunRecord, check_run_id
from engine.states import RunStatus
from engine.store.changes import Listing, RunFilter, Stop, UnreadableRun
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.names import OPEN, OPEN_STATUSES, table
from engine.store.prepared import Among, PreparedRead
from engine.store.records import read_run

_RUN = table("run")
_TOMBSTONE = table("tombstone")

READ_RUN = PreparedRead(_RUN.c, _RUN.c.id == bindparam("the_run"))
READ_TOMBSTONE = PreparedRead([_TOMBSTONE.c.run_id], _TOMBSTONE.c.run_id == bindparam("the_run"))
_STOP = PreparedRead(
    [_RUN.c.status, _RUN.c.stop_request, _RUN.c.stop_reason, _RUN.c.epoch],
    _RUN.c.id == bindparam("the_run"),
    locking=False,
)
_ONE = PreparedRead(_RUN.c, _RUN.c.id == bindparam("the_run"), locking=False)
_AMONG = Among(_RUN.c, _RUN.c.id)
_GONE = Among([_TOMBSTONE.c.run_id], _TOMBSTONE.c.run_id)
_STATUSES = Among([_RUN.c.id, _RUN.c.status], _RUN.c.id)
_RUNNING = PreparedRead(
    _RUN.c, text(OPEN), text(f"status = '{RunStatus.RUNNING}'"), order=[_RUN.c.claimed_at], locking=False
)
_AFTER = PreparedRead(
    [_RUN.c.id, _RUN.c.outcome_sequence],
    _RUN.c.outcome_sequence > bindparam("seen"),
    text("outcome_sequence > 0"),
    order=[_RUN.c.outcome_sequence],
    locking=False,
    limited=True,
)


def absent(run_id: str, *, deleted: bool) -> EngineError:
    """Why a run is not there."""
    if deleted:
        return RunDeleted(f"run {run_id} was deleted", "its id is not used again; launch a new run")
    return RunUnknown(f"run {run_id} is unknown", "list the runs with: pointsman inspect")


def absent_here(cursor: Cursor, run_id: str) -> EngineError:
    """As ``absent``, looked up inside a write."""
    return absent(run_id, deleted=READ_TOMBSTONE.one(cursor, {"the_run": run_id}) is not None)


class RunReads:
    """The reading verbs of ``Store.runs``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, run_id: str) -> RunRecord:
        """One run. Raises InvalidId, RunUnknown, RunDeleted, RecordUnreadable, StoreUnreachable."""
        return read_run(self._found(_ONE, run_id))

    def stop_request(self, run_id: str) -> Stop:
        """Status and stop request: the cheap look of an owner at its row. Raises as ``get``."""
        found = self._found(_STOP, run_id)
        return Stop(found["status"], found["stop_request"], found["stop_reason"], found["epoch"])

    def status_of(self, run_ids: Iterable[str]) -> dict[str, str]:
        """The statuses of those runs that exist."""
        with self._database.read_raw() as cursor:
            return {row["id"]: row["status"] for row in _STATUSES.many(cursor, run_ids)}

    def get_many(self, run_ids: Iterable[str]) -> Listing:
        """Those of the runs that exist, in no order; unreadable ones are named."""
        with self._database.read_raw() as cursor:
            return _listing(_AMONG.many(cursor, run_ids))

    def deleted_among(self, run_ids: Iterable[str]) -> frozenset[str]:
        """Those of the ids whose run was deleted."""
        with self._database.read_raw() as cursor:
            return frozenset(row["run_id"] for row in _GONE.many(cursor, run_ids))

    def list(self, wanted: RunFilter = RunFilter()) -> Listing:
        """Runs, newest first."""
        query = select(_RUN).order_by(_RUN.c.created_at.desc(), _RUN.c.id.desc())
        if wanted.statuses:
            query = query.where(_RUN.c.status.in_(wanted.statuses))
            if set(wanted.statuses) <= set(OPEN_STATUSES):
                query = query.where(text(OPEN))  # said word for word, so that the index of what is open is used
        if wanted.workflow:
            query = query.where(_RUN.c.workflow == wanted.workflow)
        if wanted.parent_id:
            query = query.where(_RUN.c.parent_id == wanted.parent_id)
        return self._many(query.limit(wanted.limit) if wanted.limit else query)

    def running(self) -> Listing:
        """The runs in status running, the longest claimed first; its cost does not depend on how many have ended."""
        with self._database.read_raw() as cursor:
            return _listing(_RUNNING.many(cursor, {}))

    def outcomes_after(self, sequence: int, most: int) -> tuple[tuple[str, int], ...]:
        """(run, sequence) of the newest outcomes and pauses behind a store sequence, the ``most`` lowest, in order.

        A number that is none, of a damaged row, sorts behind all and is left out: it would end the looking for good.
        """
        with self._database.read_raw() as cursor:
            rows = _AFTER.many(cursor, {"seen": sequence, "most": most})
        return tuple((row["id"], row["outcome_sequence"]) for row in rows if isinstance(row["outcome_sequence"], int))

    def _many(self, query: Select[Any]) -> Listing:
        with self._database.read() as connection:
            return _listing([dict(row) for row in connection.execute(query).mappings()])

    def _found(self, read: PreparedRead, run_id: str) -> Mapping[str, Any]:
        with self._database.read_raw() as cursor:
            found = read.one(cursor, {"the_run": check_run_id(run_id)})
            if found is None:
                raise absent(run_id, deleted=bool(_GONE.many(cursor, [run_id])))
        return found


def _listing(rows: Iterable[Mapping[str, Any]]) -> Listing:
    records: list[RunRecord] = []
    unreadable: list[UnreadableRun] = []
    for row in rows:
        try:
            records.append(read_run(row))
        except RecordUnreadable as error:
            unreadable.append(UnreadableRun(str(row["id"]), error.message))
    return Listing(tuple(records), tuple(unreadable))
