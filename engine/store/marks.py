"""Boundaries of workspaces: reading a run's chain, adding a rewind's bank, listing what the pool must keep.

Called through ``Store.marks`` by the runtime. The marks of nodes are written with boundary commits (``writes.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import bindparam, select

from engine.checkpoint import Mark, MarkFile
from engine.ports import Clock
from engine.store import writes
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import PreparedRead
from engine.store.rows import Row

_MARK = table("workspace_mark")
_FILE = table("workspace_file")
_LABELS = PreparedRead(_MARK.columns, _MARK.c.run_id == bindparam("the_run"), order=[_MARK.c.seq], locking=False)


class Marks:
    """The verbs of ``Store.marks``. Each raises RecordUnreadable for a row that cannot be decoded."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def chain(self, run_id: str) -> tuple[Mark, ...]:
        """The boundaries of the run, oldest first, with the files that each changed."""
        with self._database.read() as connection:
            marks = connection.execute(select(_MARK).where(_MARK.c.run_id == run_id).order_by(_MARK.c.seq))
            files = connection.execute(select(_FILE).where(_FILE.c.run_id == run_id))
            changed: defaultdict[int, list[MarkFile]] = defaultdict(list)
            for values in files.mappings():
                row = Row("workspace_file", f"{run_id}/{values['seq']}/{values['path']}", values)
                file = MarkFile(row.text("path"), row.integer("mode"), row.text("hash"), row.text("skipped"))
                changed[row.integer("seq")].append(file)
            rows = [Row("workspace_mark", f"{run_id}/{values['seq']}", values) for values in marks.mappings()]
        return tuple(_read(row, tuple(changed[row.integer("seq")])) for row in rows)

    def labels(self, run_id: str) -> tuple[Mark, ...]:
        """The boundaries of the run, oldest first, without their files."""
        with self._database.read_raw() as cursor:
            found = _LABELS.many(cursor, {"the_run": run_id})
        return tuple(_read(Row("workspace_mark", f"{run_id}/{values['seq']}", values), ()) for values in found)

    def add(self, run_id: str, marks: Sequence[Mark]) -> None:
        """Add boundaries outside a node: a rewind's."""
        with self._database.write_raw() as cursor:
            writes.write_marks(cursor, run_id, marks, self._clock.now())

    def kept_content(self) -> tuple[frozenset[str], frozenset[str]]:
        """Every hash that some boundary of some run names, and every list of files that one names."""
        with self._database.read() as connection:
            hashes = connection.execute(select(_FILE.c.hash).distinct().where(_FILE.c.hash != "")).scalars()
            lists = connection.execute(select(_MARK.c.ref).distinct().where(_MARK.c.ref != "")).scalars()
            return frozenset(hashes), frozenset(lists)


def _read(row: Row, files: tuple[MarkFile, ...]) -> Mark:
    return Mark(
        row.integer("seq"),
        row.text("label"),
        row.text("node_id"),
        row.integer("parent"),
        row.text("ref"),
        files,
    )
