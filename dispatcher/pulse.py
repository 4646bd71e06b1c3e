"""How long this process did not run: stopped by a signal or frozen, time in which nothing could happen (section 13).

The main thread of the daemon beats several times a second; a tick looks before it judges. Whoever comes first after a
long gap writes the gap down. Without beats (a bounded dispatch, a test) nothing counts as missed. Thread-safe.
"""

from __future__ import annotations

import threading

from dispatcher import log

_log = log.get(__name__)
GAP = 5.0
"""Seconds between two beats from which on the process was not running."""
REMEMBERED = 16
"""So many gaps are kept; older ones are further back than anything that is judged."""


class Pulse:
    """The beats of one process; instants are monotonic seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: float | None = None
        self._gaps: list[tuple[float, float]] = []

    def beat(self, now: float) -> None:
        """The process runs."""
        with self._lock:
            gap = self._notice(now)
            self._last = now
        if gap:
            _log.warning("clock.resumed_after_sleep", seconds=round(gap, 1))

    def look(self, now: float) -> None:
        """As ``beat``, but only where something beats at all."""
        if self._last is not None:
            self.beat(now)

    def missed(self, since: float) -> float:
        """Seconds after ``since`` in which the process did not run."""
        with self._lock:
            return sum(max(0.0, end - max(begin, since)) for begin, end in self._gaps)

    def _notice(self, now: float) -> float:
        if self._last is None or now - self._last <= GAP:
            return 0.0
        self._gaps = [*self._gaps, (self._last, now)][-REMEMBERED:]
        return now - self._last
