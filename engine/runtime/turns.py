"""How many branches of a fan-out may work at once, and what a branch that only waits gives up meanwhile.

One per fan-out, made by ``fan_out``; a branch holds a turn while it works. A branch parked in a ``wait`` gives its turn
up and takes one again before it goes on (engine.md 9.3). Fan-outs nest: one whose branches are all parked gives up the
turn of the branch that it stands in, so that a sibling of that branch can work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.ports import Clock
from engine.runtime.stop import StopCell

PERIOD = 0.05
"""Seconds between two looks for a free turn."""


class Turns:
    """At most ``most`` branches work at once. ``above`` are the turns of the fan-out around this one, if any."""

    def __init__(self, most: int, above: Turns | None = None) -> None:
        self._most = most
        self._above = above
        self._lock = threading.Lock()
        self._working = 0
        self._parked = 0
        self._unstarted = 0
        self._gave_up = False

    def take(self) -> bool:
        """A turn for a branch that starts; False when none is free."""
        with self._lock:
            free = self._working < self._most
            self._working += free
            return free

    def give_back(self) -> None:
        """A branch rests."""
        with self._lock:
            self._working -= 1
        self._look_up()

    def expect(self, unstarted: int) -> None:
        """So many branches have not started yet."""
        with self._lock:
            self._unstarted = unstarted
        self._look_up()

    @property
    def only_parked(self) -> bool:
        """Whether every branch is under way, and those that do not rest are parked."""
        with self._lock:
            return self._parked > 0 and self._working == 0 and self._unstarted == 0

    @contextmanager
    def parked(self, clock: Clock, stop: StopCell) -> Iterator[None]:
        """Give the turn up for the length of the block, which only waits; a stop ends the wait for another turn."""
        self.park()
        try:
            yield
        finally:
            self.go_on(clock, stop)

    def park(self) -> None:
        """Give a turn up."""
        with self._lock:
            self._working -= 1
            self._parked += 1
        self._look_up()

    def go_on(self, clock: Clock, stop: StopCell) -> None:
        """Take a turn again, as soon as one is free or the run stops."""
        while not self._taken(stop.is_set()):
            clock.wait(stop.event, PERIOD)

    def _taken(self, stopped: bool) -> bool:
        with self._lock:
            if self._working >= self._most and not stopped:
                return False
            if self._above is not None and self._gave_up:
                if not self._above.returned(stopped):
                    return False
                self._gave_up = False
            self._working += 1
            self._parked -= 1
            return True

    def returned(self, stopped: bool) -> bool:
        """Take a turn again for a fan-out inside; False when none is free."""
        return self._taken(stopped)

    def _look_up(self) -> None:
        """Give up the turn of the branch around, once every branch in here only waits."""
        if self._above is None:
            return
        with self._lock:
            idle = self._parked > 0 and not self._working and not self._unstarted and not self._gave_up
            self._gave_up |= idle
        if idle:
            self._above.park()
