"""The faults, each at every write transaction in turn: the process is killed, the disk is full, the database is locked.

All are real: SIGKILL, a limit of the kernel on the size of files, a write lock of another connection.
"""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.ports import Clock, SystemClock
from tests.engine.harness.watched import AFTER, BEFORE, WatchedDatabase, killing
from tests.kit.clock import FakeClock

KILL, FULL, BUSY = "kill", "full", "busy"
ONCE, ON = "once", "on"
UNLIMITED = resource.RLIM_INFINITY


@dataclass(frozen=True)
class Strike:
    """One fault: what, at which transaction, and ``when``: before or behind its commit, or once or from there on."""

    fault: str
    number: int
    when: str = ""

    @property
    def name(self) -> str:
        """As a folder is called."""
        return f"{self.fault}-{self.when}-{self.number:02}"

    @property
    def patience(self) -> float:
        """Seconds that a write waits for another writer."""
        return 0.01 if self.fault == BUSY else 30.0

    def clock(self) -> Clock:
        """A store that refuses is tried again for five seconds, which a clock of tests lets pass at once."""
        return SystemClock() if self.fault == KILL else FakeClock()

    def hits(self, number: int) -> bool:
        """Whether the transaction meets the fault."""
        return number == self.number or (self.when == ON and number > self.number)

    def aim(self, database: WatchedDatabase) -> None:
        """Set it up; transactions count from here."""
        database.count = 0
        if self.fault == KILL:
            database.told = killing(self.when, self.number)
            return
        path = Path(database.driver.path)  # type: ignore[attr-defined]
        trouble = full_disk if self.fault == FULL else another_writer

        @contextmanager
        def around(number: int) -> Iterator[None]:
            if self.hits(number):
                with trouble(path):
                    yield
            else:
                yield

        database.around = around


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """No file of this process grows beyond what the log of the database has now: the commit cannot be appended."""
    log = path.with_name(path.name + "-wal")
    before, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size if log.exists() else 0, UNLIMITED))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, UNLIMITED))


@contextmanager
def another_writer(path: Path) -> Iterator[None]:
    """Somebody else is inside a write and stays there."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def _kills(count: int) -> list[Strike]:
    return [Strike(KILL, number, when) for number in range(1, count + 1) for when in (BEFORE, AFTER)]


def _refusals(fault: str) -> Callable[[int], list[Strike]]:
    return lambda count: [Strike(fault, number, when) for number in range(1, count + 1) for when in (ONCE, ON)]


FAULTS: Mapping[str, Callable[[int], list[Strike]]] = {KILL: _kills, FULL: _refusals(FULL), BUSY: _refusals(BUSY)}
