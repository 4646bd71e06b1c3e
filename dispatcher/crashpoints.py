"""Where a test may kill the daemon: ``POINTSMAN_CRASH_AT=<point>[#n]`` (dispatcher.md 7).

``wiring`` makes one ``CrashPoints`` from the environment that ``config.load`` read; starts and settlements announce
each point to it. Without ``POINTSMAN_TESTING=1``, or under systemd, it never does anything.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping

POINTS = tuple(f"S{n}" for n in range(11)) + tuple(f"E{n}" for n in range(1, 10)) + tuple(f"X{n}" for n in range(1, 6))
"""The points of starting a card, of settling an outcome, and of a remote change (connectors.md 9)."""


class CrashPoints:
    """Counts the passes of one point and kills the process right behind the n-th."""

    def __init__(self, point: str = "", number: int = 1) -> None:
        self._point = point
        self._left = number
        self._lock = threading.Lock()

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> CrashPoints:
        """The point that ``environment`` names, none when testing is not declared or systemd is the parent."""
        wanted = environment.get("POINTSMAN_CRASH_AT", "")
        if not wanted or environment.get("POINTSMAN_TESTING") != "1" or environment.get("NOTIFY_SOCKET"):
            return cls()
        point, _, number = wanted.partition("#")
        return cls(point, int(number) if number.isdigit() else 1)

    def passed(self, point: str) -> None:
        """Say that ``point`` lies behind us; does not return when it is the one to die at."""
        if point != self._point:
            return
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
