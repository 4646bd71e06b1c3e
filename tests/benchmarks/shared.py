"""A boundary commit over PostgreSQL beside the bare driver, which sends an insert, an update and a commit.

Both flush to the disk and take turns in the same minute; judge the ratio and the difference.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import psycopg

from engine.checkpoint import Head, Spent
from engine.ports import SystemClock
from engine.store.database import Database
from engine.store.store import Store
from tests.kit.postgres import Missing, Server, running
from tests.kit.runs import launched, step

STEPS, ROUNDS = 200, 5


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """Medians of the rounds; one row that says why when no server can be started."""
    try:
        with running(durable=True) as server:
            yield from _rows(server, folder)
    except Missing as reason:
        yield {"bench": "postgres_boundary", "missing": str(reason)}


def _rows(server: Server, folder: Path) -> Iterator[dict[str, object]]:
    url = server.fresh()
    ours: list[float] = []
    bare: list[float] = []
    with Database.open(url) as database, psycopg.connect(url.replace("+psycopg", "")) as raw:
        store = Store(database, SystemClock(), folder)
        launched(store)
        writer = store.boundary("r1", 1)
        raw.execute("CREATE TABLE entry (n bigint, said text)")
        raw.execute("CREATE TABLE standing (id bigint PRIMARY KEY, said text)")
        raw.execute("INSERT INTO standing VALUES (1, '')")
        raw.commit()

        def boundary(number: int) -> None:
            head = Head("n", completed=True, loop_counters={"l": number}, spent=Spent(number, number, 0.1, 1000))
            writer.commit(head, step("n", {"number": number}))

        def plain(number: int) -> None:
            raw.execute("INSERT INTO entry VALUES (%s, %s)", (number, "x" * 100))
            raw.execute("UPDATE standing SET said = %s WHERE id = 1", (str(number),))
            raw.commit()

        for _ in range(ROUNDS):
            ours.append(_milliseconds(boundary))
            bare.append(_milliseconds(plain))
    yield {"bench": "postgres_boundary", "ms": median(ours), "goal": 1.7}
    yield {"bench": "postgres_raw", "ms": median(bare)}
    yield {
        "bench": "postgres_boundary/raw",
        "ratio": median(one / other for one, other in zip(ours, bare, strict=True)),
    }


def _milliseconds(work: Callable[[int], None]) -> float:
    began = time.perf_counter()
    for number in range(STEPS):
        work(number)
    return 1000 * (time.perf_counter() - began) / STEPS
