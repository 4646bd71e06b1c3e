"""The floor: one event and one state in one transaction of the bare driver."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

from tests.benchmarks.peers.peer import body

SCHEMA = """
CREATE TABLE IF NOT EXISTS run(id TEXT PRIMARY KEY, status TEXT, seq INTEGER, checkpoint TEXT, updated REAL);
CREATE TABLE IF NOT EXISTS event(run_id TEXT, seq INTEGER, data TEXT, at REAL, PRIMARY KEY(run_id, seq)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_open ON run(status) WHERE status <> 'finished';
"""


class Raw:
    """SQLite in WAL mode, ``synchronous=FULL``."""

    def __init__(self, folder: Path, store: str, *, again: bool) -> None:
        assert not store, "the floor is measured on SQLite"
        self._connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(SCHEMA)

    def run(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        self._begin(run_id)
        self._steps(run_id, 0, steps)

    def recover(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        (done,) = self._connection.execute("SELECT seq FROM run WHERE id=?", (run_id,)).fetchone()
        self._steps(run_id, done, steps)

    def unfinished(self) -> list[str]:
        """As the protocol says."""
        return [row[0] for row in self._connection.execute("SELECT id FROM run WHERE status <> 'finished'")]

    def pause(self, run_id: str) -> None:
        """As the protocol says."""
        self._begin(run_id)
        self._commit(run_id, 1, "paused", {"question": 1})

    def answer(self, run_id: str, value: int) -> None:
        """As the protocol says."""
        self._commit(run_id, 2, "running", {"answer": value})
        self._commit(run_id, 3, "finished", body(0))

    def close(self) -> None:
        """As the protocol says."""
        self._connection.close()

    def _begin(self, run_id: str) -> None:
        self._connection.execute("INSERT INTO run VALUES(?, 'running', 0, '{}', ?)", (run_id, time.time()))

    def _steps(self, run_id: str, done: int, steps: int) -> None:
        for number in range(done, steps):
            status = "finished" if number == steps - 1 else "running"
            self._commit(run_id, number + 1, status, body(number))

    def _commit(self, run_id: str, seq: int, status: str, state: dict[str, int]) -> None:
        now, text, connection = time.time(), json.dumps(state), self._connection
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO event VALUES(?, ?, ?, ?)", (run_id, seq, text, now))
        change = "UPDATE run SET status=?, seq=?, checkpoint=?, updated=? WHERE id=?"
        connection.execute(change, (status, seq, text, now, run_id))
        connection.execute("COMMIT")
