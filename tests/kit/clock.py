"""A clock that moves only when it is told to. No test sleeps."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Implements ``engine.ports.Clock``; wall and monotonic time move together unless ``step`` moves the wall alone."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 1000.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that never step."""
        return self._monotonic

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let the time pass at once, unless the event is set already."""
        if event.is_set():
            return True
        self.advance(seconds)
        return event.is_set()

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        with self._lock:
            self._now += timedelta(seconds=seconds)
            self._monotonic += seconds

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or back; the monotonic clock does not notice."""
        with self._lock:
            self._now += timedelta(seconds=seconds)
