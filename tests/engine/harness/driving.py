"""Bringing a run to its end as its people would: launch, answer, mend, resume, whatever state it is found in."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.api import Engine, EngineSettings, LaunchRequest, ResumeRequest
from engine.dsl.graph import NodeKind
from engine.failures import FailureCode
from engine.nodes.base import Execute
from engine.ports import Clock, RandomIds, SystemClock
from engine.run import RunRecord
from engine.states import RunStatus, is_final, is_running
from engine.store.store import Store
from tests.engine.harness.watched import WatchedDatabase
from tests.kit.engine import PATH

RUN = "r1"
MOST_ATTEMPTS = 12
"""A run that needs more is one that does not get on."""


def opened(folder: Path, *, busy_timeout: float = 30.0) -> WatchedDatabase:
    """The folder's database, made when it is missing. Commits do not wait for the disk: no fault is a power cut."""
    url = f"sqlite:///{folder / '.pointsman' / 'pointsman.db'}"
    database = WatchedDatabase.open(url, synchronous="OFF", busy_timeout=busy_timeout)
    assert isinstance(database, WatchedDatabase)
    return database


@dataclass
class Driver:
    """Whoever looks after one run in ``folder``, over one database."""

    folder: Path
    database: WatchedDatabase
    answers: Mapping[str, object]
    clock: Clock
    nodes: Mapping[NodeKind, Execute]
    mend: Callable[[], None]
    more: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """An engine with nothing that takes its time."""
        root = self.folder / ".pointsman"
        settings = EngineSettings(environment={"PATH": PATH}, force_stale_after=0.0, nodes=self.nodes, **self.more)
        self.store = Store(self.database, self.clock, root)
        self.engine = Engine(self.store, settings, self.clock, RandomIds())

    def reconcile(self) -> None:
        """Promote every orphan, child runs included, as a daemon's tick does."""
        wait_for_free(self.folder)
        for each in self.store.runs.list().records:
            self.engine.promote(each.id, 0.0)

    def bring_to_end(self) -> RunRecord:
        """The record of the run when it is final. Raises whatever an attempt raises."""
        for _ in range(MOST_ATTEMPTS):
            record = self.record()
            if record is not None and is_final(record.status):
                return record
            self.attempt(record)
        raise AssertionError(f"after {MOST_ATTEMPTS} attempts the run is still {self.record()}")

    def record(self) -> RunRecord | None:
        """The stored record, None where nothing was stored yet."""
        return next((each for each in self.store.runs.list().records if each.id == RUN), None)

    def attempt(self, record: RunRecord | None) -> None:
        """One launch or resume, as the record calls for it."""
        if record is None:
            self.engine.launch(LaunchRequest(self.folder / "main.bot", self.folder / "work", run_id=RUN))
            return
        wait_for_free(self.folder)
        if is_running(record.status):
            self.engine.resume(ResumeRequest(RUN, force_stale=True))
        elif record.status == RunStatus.PAUSED_WAITING_HUMAN:
            self.engine.resume(ResumeRequest(RUN, answers=self.answers))
        else:
            if record.failure_code != FailureCode.PROCESS_ORPHANED:
                self.mend()
            self.engine.resume(ResumeRequest(RUN))


def driver(
    folder: Path, answers: Mapping[str, object], database: WatchedDatabase, clock: Clock | None = None
) -> Driver:
    """The usual one: real tools, and a file that mends the flaky ones."""
    mended = folder / "work" / "mended"
    return Driver(folder, database, answers, clock or SystemClock(), {}, mended.touch)


def wait_for_free(folder: Path) -> None:
    """Wait until no process of an earlier attempt, a tool that outlived it included, holds a run's lock."""
    for lock in (folder / ".pointsman" / "runs").glob("*/.lock"):
        with lock.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)


def trace_of(folder: Path) -> list[str]:
    """What tools left behind."""
    path = folder / "work" / "trace"
    return path.read_text().splitlines() if path.exists() else []
