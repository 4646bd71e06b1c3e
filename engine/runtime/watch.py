"""Watches the rows of the runs that execute here, so that a stop from elsewhere is noticed while a node runs.

One thread per engine, there only while something executes; it reads one row per run and sets the run's stop cell. A
store that cannot be read now is read again half a second later. In a shared store the run's lease is kept meanwhile; a
lease that is lost interrupts the run. Implements "the owner notices within one second" of engine.md 1.7, and 12.1.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineError
from engine.runtime.ownership import LeaseKeeper
from engine.runtime.stop import StopCause, StopCell, StopKind, heed
from engine.store.leases import run_lease
from engine.store.store import Store

LEASE_LOST = "lease_lost"
"""The reason of an interruption by a lease that was not renewed in time (dispatcher.md 13)."""

PERIOD = 0.4
"""Seconds of real time between two looks; a clock of tests must not make it spin."""


class Watcher:
    """The attempts of one engine and their stop cells."""

    def __init__(self, store: Store, keeper: LeaseKeeper) -> None:
        self._store = store
        self.keeper = keeper
        self._lock = threading.Lock()
        self._watched: dict[str, tuple[StopCell, int]] = {}
        self._thread: threading.Thread | None = None
        self._nudge = threading.Event()

    @contextmanager
    def watching(self, run_id: str, cell: StopCell, epoch: int) -> Iterator[None]:
        """Watch a run's row, and keep its lease, for the length of the block."""

        def lost(_resource: str) -> None:
            cell.stop(StopCause(StopKind.INTERRUPT, LEASE_LOST))

        with self._lock:
            self._watched[run_id] = (cell, epoch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="run-rows", daemon=True)
                self._thread.start()
        try:
            with self.keeper.keeping(run_lease(run_id), epoch, lost):
                yield
        finally:
            with self._lock:
                self._watched.pop(run_id, None)

    def _look(self) -> None:
        while True:
            self._nudge.wait(PERIOD)
            with self._lock:
                watched = dict(self._watched)
                if not watched:
                    self._thread = None
                    return
            for run_id, (cell, epoch) in watched.items():
                self._look_at(run_id, cell, epoch)

    def _look_at(self, run_id: str, cell: StopCell, epoch: int) -> None:
        try:
            heed(cell, self._store.runs.stop_request(run_id), epoch)
        except EngineError:
            return
