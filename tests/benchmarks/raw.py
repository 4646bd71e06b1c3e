"""The yardstick: what one durable step costs when nothing but SQLite is in the way.

The same two writes that any engine needs (one event, one state), WAL and ``synchronous=FULL``, one commit a step. Every
other number of the benchmarks is judged beside this one, taken in the same run.
"""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SCHEMA = """
CREATE TABLE run(id TEXT PRIMARY KEY, status TEXT, seq INTEGER, head TEXT, updated REAL);
CREATE TABLE event(run_id TEXT, seq INTEGER, data TEXT, at REAL, PRIMARY KEY(run_id, seq)) WITHOUT ROWID;
"""


def seconds_for(folder: Path, steps: int) -> float:
    """Seconds that ``steps`` commits take in a fresh database in ``folder``."""
    with closing(sqlite3.connect(folder / "raw.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(SCHEMA)
        connection.execute("INSERT INTO run VALUES('r', 'running', 0, '{}', 0)")
        began = time.perf_counter()
        for seq in range(1, steps + 1):
            _step(connection, seq)
        return time.perf_counter() - began


def _step(connection: sqlite3.Connection, seq: int) -> None:
    now, data = time.time(), json.dumps({"i": seq})
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO event VALUES('r', ?, ?, ?)", (seq, data, now))
    connection.execute("UPDATE run SET seq=?, head=?, updated=? WHERE id='r'", (seq, data, now))
    connection.execute("COMMIT")


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """One row for each number of steps that the engine is measured with."""
    for steps in (10, 100, 10_000):
        place = folder / f"raw-{steps}"
        place.mkdir()
        yield {"bench": "raw_commit", "steps": steps, "ms_per_step": 1000 * seconds_for(place, steps) / steps}
