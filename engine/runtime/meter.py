"""What all lines of one attempt share: consumption, and the next versions of artifacts.

Charged by every line, branches included, each under the meter's own lock. Active time grows with the monotonic clock
and never backwards (engine.md 2.4, 10.1).
"""

from __future__ import annotations

import threading

from engine.checkpoint import Spent
from engine.ports import Clock


class Meter:
    """``base`` was consumed before the attempt began; what is charged is added to it."""

    def __init__(self, clock: Clock, base: Spent = Spent()) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._lock = threading.Lock()
        self._versions: dict[str, int] = {}
        self.base = base

    def spent(self) -> Spent:
        """Consumption up to now."""
        base = self.base
        return Spent(base.iterations, base.tokens, base.cost_usd, base.elapsed_ns + self._active_ns())

    def active_ms(self) -> int:
        """Active milliseconds of the run up to now."""
        return (self.base.elapsed_ns + self._active_ns()) // 1_000_000

    def charge(self, tokens: int, cost_usd: float, *, executions: int = 1) -> None:
        """Book one recorded execution, or the spend of a try that was recorded as none."""
        with self._lock:
            base = self.base
            self.base = Spent(
                base.iterations + executions, base.tokens + tokens, base.cost_usd + cost_usd, base.elapsed_ns
            )

    def next_version(self, name: str, known: int) -> int:
        """The next version of an artifact: above ``known`` and above every one given out before; the first is 0."""
        with self._lock:
            version = max(known, self._versions.get(name, -1)) + 1
            self._versions[name] = version
            return version

    def _active_ns(self) -> int:
        return max(0, int((self._clock.monotonic() - self._started) * 1_000_000_000))
