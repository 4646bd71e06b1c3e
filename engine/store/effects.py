"""Remote mutations as they were written down (engine.md 5.3). Reading only, so far.

Called through ``Store.effects`` by promotion and by ``pointsman effects``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, select

from engine.run import EffectRecord
from engine.store.database import Database
from engine.store.rows import Row
from engine.store.tables import table

_EFFECT = table("effect")
IN_DOUBT = ("sent", "ambiguous")
"""States of a row whose call may have been made without an answer, once its run has no owner."""


class Effects:
    """The verbs of ``Store.effects``. Each raises RecordUnreadable for a row that cannot be decoded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, effect_id: str) -> EffectRecord | None:
        """One row, None when there is none."""
        found = self._many(select(_EFFECT).where(_EFFECT.c.id == effect_id))
        return found[0] if found else None

    def list(self, run_id: str = "", states: tuple[str, ...] = ()) -> tuple[EffectRecord, ...]:
        """Rows, oldest first; empty values do not filter."""
        query = select(_EFFECT).order_by(_EFFECT.c.created_at, _EFFECT.c.id)
        if run_id:
            query = query.where(_EFFECT.c.run_id == run_id)
        if states:
            query = query.where(_EFFECT.c.state.in_(states))
        return self._many(query)

    def in_doubt(self, run_id: str) -> tuple[EffectRecord, ...]:
        """The rows of a run without an owner that nobody can answer for."""
        return self.list(run_id, IN_DOUBT)

    def _many(self, query: Select[Any]) -> tuple[EffectRecord, ...]:
        with self._database.read() as connection:
            return tuple(_read(row) for row in connection.execute(query).mappings())


def _read(values: Mapping[Any, Any]) -> EffectRecord:
    row = Row("effect", str(values["id"]), values)
    return EffectRecord(
        id=row.text("id"),
        run_id=row.text("run_id"),
        node_id=row.text("node_id"),
        branch_path=row.text("branch_path"),
        iteration_path=row.text("iteration_path"),
        attempt=row.integer("attempt"),
        connection=row.text("connection"),
        operation=row.text("operation"),
        fingerprint=row.text("fingerprint"),
        marker=row.text("marker"),
        state=row.text("state"),
        stopped_run=row.truth("stopped_run"),
        response=row.mapping("response"),
        note=row.text("note"),
        created_at=row.instant("created_at"),
        settled_at=row.maybe_instant("settled_at"),
    )
