"""The timeline of a run, as it was written with its changes. Reading only; nothing rebuilds state from it.

Called through ``Store.timeline`` (engine.md 11.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select

from engine.events import Event
from engine.store.database import Database
from engine.store.names import table
from engine.store.rows import Row

_EVENT = table("event")
_PAGE = 1000


class Timeline:
    """The verbs of ``Store.timeline``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def events(self, run_id: str, since: int = 0, limit: int = 0) -> Iterator[Event]:
        """Events with a ``seq`` above ``since``, oldest first, at most ``limit`` unless 0.

        Read page by page: no transaction stays open between two events. Raises RecordUnreadable.
        """
        left = limit or None
        while left is None or left > 0:
            size = _PAGE if left is None else min(_PAGE, left)
            page = self._page(run_id, since, size)
            yield from page
            if len(page) < size:
                return
            since = page[-1].seq
            left = None if left is None else left - len(page)

    def _page(self, run_id: str, since: int, size: int) -> list[Event]:
        query = select(_EVENT).where(_EVENT.c.run_id == run_id, _EVENT.c.seq > since)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(_EVENT.c.seq).limit(size)).mappings()
            return [_read(row) for row in rows]


def _read(values: Mapping[Any, Any]) -> Event:
    row = Row("event", f"{values['run_id']}/{values['seq']}", values)
    return Event(
        run_id=row.text("run_id"),
        seq=row.integer("seq"),
        time=row.instant("time"),
        type=row.text("type"),
        node_id=row.text("node_id"),
        branch_id=row.text("branch_id"),
        data=row.mapping("data"),
        active_ms=row.integer("active_ms"),
        log_offset=row.integer("log_offset"),
    )
