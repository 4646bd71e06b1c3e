"""Watches the rows of the runs that execute here, so that a stop from elsewhere is noticed while a node runs.

One thread per engine, there only while something executes; it reads one row per run and sets the run's stop cell. A
store that cannot be read now is read again half a second later. Implements "the owner notices within one second" of
engine.md 1.7.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineError
from engine.runtime.stop import StopCell, heed
from engine.store.store import Store

PERIOD = 0.4
"""Seconds of real time between two looks; a clock of tests must not make it spin."""


class Watcher:
    """The attempts of one engine and their stop cells."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._watched: dict[str, tuple[StopCell, int]] = {}
        self._thread: threading.Thread | None = None
        self._nudge = threading.Event()

    @contextmanager
    def watching(self, run_id: str, cell: StopCell, epoch: int) -> Iterator[None]:
        """Watch a run's row for the length of the block."""
        with self._lock:
            self._watched[run_id] = (cell, epoch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="run-rows", daemon=True)
                self._thread.start()
        try:
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
