"""Deleting a run: its rows go, a tombstone stays, then its folder goes (engine.md 1.6).

Called by ``runs.py``. What is not the run's own stays: the day's spend, and whatever other rooms remember about it.
"""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from sqlalchemy import bindparam, delete, exists

from engine.errors import WrongStatus
from engine.states import can_be_deleted
from engine.store.cursors import Cursor
from engine.store.leases import run_lease
from engine.store.names import TABLES, table
from engine.store.prepared import Prepared, inserting
from engine.store.run_reads import READ_RUN, READ_TOMBSTONE, absent

_KEPT = frozenset({"run", "tombstone", "spend_day"})
OWNED_BY_RUNS = frozenset(name for name, one in TABLES.items() if "run_id" in one.c and name not in _KEPT)
"""The tables whose rows go with their run."""
_OWNED = tuple(
    Prepared(delete(table(name)).where(table(name).c.run_id == bindparam("the_run"))) for name in sorted(OWNED_BY_RUNS)
)
_RUN, _TEXT, _SOURCE = table("run"), table("source_text"), table("run_source")
_DROP_TEXTS = Prepared(delete(_TEXT).where(~exists().where(_SOURCE.c.digest == _TEXT.c.digest)))
"""Texts of programs that no run names any more."""
_DROP_RUN = Prepared(delete(_RUN).where(_RUN.c.id == bindparam("the_run")))
_LEASE = table("lease")
_DROP_LEASE = Prepared(delete(_LEASE).where(_LEASE.c.resource == bindparam("what")))
_BURY = inserting(table("tombstone"))


def remove_rows(cursor: Cursor, run_id: str, at: datetime) -> None:
    """Replace the run by its tombstone. Raises RunUnknown, RunDeleted, WrongStatus."""
    key = {"the_run": run_id}
    found = READ_RUN.one(cursor, key)
    if found is None:
        raise absent(run_id, deleted=READ_TOMBSTONE.one(cursor, key) is not None)
    if not can_be_deleted(str(found["status"])):
        message = f"run {run_id} is {found['status']} and cannot be deleted"
        raise WrongStatus(message, "cancel it first, or wait until it has ended")
    for statement in (*_OWNED, _DROP_RUN):
        statement.run(cursor, key)
    _DROP_TEXTS.run(cursor, {})
    _DROP_LEASE.run(cursor, {"what": run_lease(run_id)})
    _BURY.run(cursor, {"run_id": run_id, "deleted_at": at})


def remove_files(root: Path, run_id: str) -> None:
    """Remove the run's folder, lock file included; what cannot be removed stays without harm."""
    shutil.rmtree(root / "runs" / run_id, ignore_errors=True)
