"""What the engine needs from its host, as protocols: time, ids, effects, and processes' secrets.

Implemented in ``dispatcher/wiring.py`` and in tests; the engine imports no implementation (house: floors). Intervals
come from ``monotonic``, instants from ``now``; nobody below calls ``datetime.now`` or ``time.sleep`` (engine.md 2.4).
"""

from __future__ import annotations

import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable


class Clock(Protocol):
    """Wall and monotonic time, and a wait that an event can end."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never steps."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set or ``seconds`` passed; True when it was set."""
        ...


class IdMaker(Protocol):
    """Makes identifiers that have never been used."""

    def new(self, prefix: str = "") -> str:
        """A fresh identifier of letters and digits, after ``prefix``."""
        ...


@runtime_checkable
class AmbiguousEffect(Protocol):
    """What an exception offers when it may stand for a performed mutation (engine.md 5.1)."""

    def ambiguous_effect(self) -> bool:
        """True when the mutation may have happened."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of ``time.monotonic``."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait on the event itself."""
        return event.wait(max(0.0, seconds))


class RandomIds:
    """Identifiers from the system's randomness: 26 lower-case characters that sort by creation time."""

    def new(self, prefix: str = "") -> str:
        """A fresh identifier: 12 hex digits of the time in milliseconds, 14 of randomness."""
        return f"{prefix}{time.time_ns() // 1_000_000:012x}{uuid.uuid4().hex[:14]}"
