"""The fake forge's own clock: it runs, stands, is moved, and may be skewed against everybody else's.

``Date`` headers, timestamps, limits and the life of tokens come from here (connectors.md 24, ``POST /_fake/clock``).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from connectors.base import Clock


class SystemTime:
    """The machine's time, for a forge that runs as a process of its own."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.fromtimestamp(time.time(), UTC)


class ForgeClock:
    """A clock on top of another: ``moved`` seconds ahead of it, plus a skew; frozen when told so."""

    def __init__(self, below: Clock | None = None) -> None:
        self._below = below or SystemTime()
        self._moved = timedelta()
        self._skew = timedelta()
        self._frozen: datetime | None = None

    def now(self) -> datetime:
        """The forge's present instant, whole microseconds, UTC."""
        return (self._frozen or self._below.now()) + self._moved + self._skew

    def advance(self, seconds: float) -> None:
        """Let time pass on the forge."""
        self._moved += timedelta(seconds=seconds)

    def set(self, instant: datetime) -> None:
        """Go to an instant (aware) and run on from there, or stand there when frozen."""
        self._moved += instant - self.now()

    def skew(self, seconds: float) -> None:
        """Be this many seconds ahead (behind when negative) of the clock below, whatever was said before."""
        self._skew = timedelta(seconds=seconds)

    def freeze(self) -> None:
        """Stand still until ``run``."""
        if self._frozen is None:
            self._frozen = self._below.now()

    def run(self) -> None:
        """Go on from where the clock stands."""
        if self._frozen is not None:
            self._moved += self._frozen - self._below.now()
            self._frozen = None


def stamp(instant: datetime) -> str:
    """RFC 3339 with a Z and whole seconds, as the forges write it."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def http_date(instant: datetime) -> str:
    """The form of the ``Date`` header."""
    return instant.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
