"""Signs of life of an attempt's processes, and their groups, so that a second Ctrl-C can end them at once.

One per attempt, handed to ``engine/process.py`` as its watcher; read by the dispatcher for the stall limit
(engine.md 13.4) and by ``StopCell.kill``. The groups are recorded with the run as well, for whoever finds it orphaned.
"""

from __future__ import annotations

import signal
import threading

from engine.ports import Clock
from engine.process import signal_group
from engine.store.groups import Groups


class Signs:
    """Implements ``engine.process.Watcher``."""

    def __init__(self, clock: Clock, recorded: Groups) -> None:
        self._clock = clock
        self._recorded = recorded
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self.last = clock.monotonic()
        """Monotonic second of the newest sign."""

    def seen(self) -> None:
        """Something happened just now."""
        self.last = self._clock.monotonic()

    def started(self, pid: int) -> None:
        """A process group exists."""
        with self._lock:
            self._groups.add(pid)
        self._recorded.started(pid)
        self.seen()

    def output(self) -> None:
        """Something was printed."""
        self.seen()

    def ended(self, pid: int) -> None:
        """A group's leader has ended."""
        with self._lock:
            self._groups.discard(pid)
        self._recorded.ended(pid)
        self.seen()

    def kill(self) -> None:
        """SIGKILL to every group that still works."""
        with self._lock:
            groups = tuple(self._groups)
        for leader in groups:
            signal_group(leader, signal.SIGKILL)
