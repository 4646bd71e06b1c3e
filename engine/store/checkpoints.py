"""Reading where a run stands: its head, its outputs, its fan-out branches.

Called through ``Store.checkpoints`` by resume and inspect. What comes out is shared with nobody (engine.md 3.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import bindparam, func, select, text

from engine.checkpoint import BranchRow, Head, OutputRow, StoredOutput
from engine.store.database import Database
from engine.store.heads import read_head
from engine.store.names import table
from engine.store.prepared import PreparedRead
from engine.store.rows import Row

_CHECKPOINT = table("checkpoint")
_OUTPUT = table("node_output")
_BRANCH = table("branch")
READ_HEAD = PreparedRead(_CHECKPOINT.c, _CHECKPOINT.c.run_id == bindparam("the_run"))
_HEAD = PreparedRead(_CHECKPOINT.c, _CHECKPOINT.c.run_id == bindparam("the_run"), locking=False)
_LATEST_OF_EACH = (
    select(func.max(_OUTPUT.c.seq))
    .where(_OUTPUT.c.run_id == bindparam("the_run"), text("dropped_by = 0"))
    .group_by(_OUTPUT.c.branch_path, _OUTPUT.c.node_id)
)
_NEWEST = PreparedRead(
    _OUTPUT.c,
    _OUTPUT.c.run_id == bindparam("the_run"),
    _OUTPUT.c.seq.in_(_LATEST_OF_EACH),
    order=[_OUTPUT.c.seq],
    locking=False,
)


class Checkpoints:
    """The verbs of ``Store.checkpoints``. Each raises RecordUnreadable for a row that cannot be decoded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def head(self, run_id: str) -> Head | None:
        """The head, None when the run has no checkpoint row."""
        with self._database.read_raw() as cursor:
            found = _HEAD.one(cursor, {"the_run": run_id})
        return None if found is None else read_head(run_id, found)

    def outputs(self, run_id: str) -> tuple[StoredOutput, ...]:
        """The output of each node on each branch path: its newest row that no rewind dropped, oldest first."""
        with self._database.read_raw() as cursor:
            return _read_outputs(_NEWEST.many(cursor, {"the_run": run_id}))

    def history(self, run_id: str, node_id: str = "") -> tuple[StoredOutput, ...]:
        """Every recorded execution of a node, or of all, oldest first; dropped ones are marked."""
        query = select(_OUTPUT).where(_OUTPUT.c.run_id == run_id).order_by(_OUTPUT.c.seq)
        if node_id:
            query = query.where(_OUTPUT.c.node_id == node_id)
        with self._database.read() as connection:
            return _read_outputs(connection.execute(query).mappings())

    def branches(self, run_id: str, invocation_key: str) -> tuple[BranchRow, ...]:
        """The branches of one fan-out, by id."""
        query = select(_BRANCH).where(_BRANCH.c.run_id == run_id, _BRANCH.c.invocation_key == invocation_key)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_BRANCH.c.branch_id)).mappings()
            return tuple(_read_branch(row) for row in rows)


def _read_outputs(rows: Iterable[Mapping[Any, Any]]) -> tuple[StoredOutput, ...]:
    return tuple(_read_output(Row("node_output", f"{row['run_id']}/{row['seq']}", row)) for row in rows)


def _read_output(row: Row) -> StoredOutput:
    output = OutputRow(
        node_id=row.text("node_id"),
        output=row.mapping("output"),
        branch_path=row.text("branch_path"),
        iteration_path=row.text("iteration_path"),
        iteration=row.integer("iteration"),
        tokens=row.integer("tokens"),
        cost_usd=row.number("cost_usd"),
        duration_ms=row.integer("duration_ms"),
    )
    return StoredOutput(row.integer("seq"), output, row.instant("time"), row.integer("dropped_by"))


def _read_branch(values: Mapping[Any, Any]) -> BranchRow:
    row = Row("branch", f"{values['run_id']}/{values['invocation_key']}/{values['branch_id']}", values)
    return BranchRow(
        invocation_key=row.text("invocation_key"),
        branch_id=row.text("branch_id"),
        node_id=row.text("node_id"),
        completed=row.truth("completed"),
        done=row.truth("done"),
        state=row.mapping("state"),
    )
