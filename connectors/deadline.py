"""The end of a call on a clock that never steps. Made by the transport and the effect guard; decides nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self


class Timekeeper(Protocol):
    """Wall and monotonic time, and a wait that an event can end; the engine's clock satisfies it."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never steps."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set or ``seconds`` passed; True when it was set."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a call ends at the latest, from name resolution to the last byte."""

    clock: Timekeeper
    at: float

    @classmethod
    def after(cls, clock: Timekeeper, seconds: float) -> Self:
        """``seconds`` from now."""
        return cls(clock, clock.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - self.clock.monotonic())

    def passed(self) -> bool:
        """Whether none are left."""
        return self.remaining() <= 0.0

    def bounded(self) -> Deadline:
        """This, or the end of the time that the caller has in all, whichever comes first."""
        bound = _BOUND.get()
        return self if bound is None or bound.at >= self.at else bound


_BOUND: ContextVar[Deadline | None] = ContextVar("bound", default=None)


@contextmanager
def within(bound: Deadline) -> Iterator[None]:
    """All reads of this thread inside the block end by then, whatever their own deadlines are, and never later than
    a block around it says."""
    before = _BOUND.set(bound.bounded())
    try:
        yield
    finally:
        _BOUND.reset(before)
