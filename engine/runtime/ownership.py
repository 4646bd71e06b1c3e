"""Keeps the leases of this process alive, and says when one was lost (engine.md 12.1, dispatcher.md 9).

One per engine; its thread is there only while something is held in a shared store, and renews apart from nodes and
ticks. A lease is lost when the store refuses its renewal, and when no renewal was made for the length of a lease: the
process was stopped, the machine slept, or the store could not be reached. Then whoever holds it is told, once. It does
not decide what is done about that, and it proves nothing: the store refuses late writes by their epoch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.errors import StoreError
from engine.run import Owner
from engine.runtime.runlog import LOGGER
from engine.store.leases import Leases, leased, run_lease

AGAIN = 1.0
"""Seconds until a renewal that the store did not take is tried again, when the heartbeat is longer."""

Lost = Callable[[str], None]
"""Told the resource that was lost; called from the thread that renews, so it must be short."""


def unheard(_resource: str) -> None:
    """Nobody wants to know."""


def boot_seconds() -> float:
    """Seconds since the machine started, those in which it slept or the process was stopped included."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(slots=True)
class _Held:
    epoch: int
    lost: Lost
    renewed: float


class LeaseKeeper:
    """The leases that this process holds. Thread-safe."""

    def __init__(self, leases: Leases, owner: Owner) -> None:
        self.leases = leases
        self.owner = owner
        self.renewals = 0
        """How many renewals the store took."""
        self.failures = 0
        """How many it did not take."""
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._thread: threading.Thread | None = None
        self._nudge = threading.Event()

    def keep(self, resource: str, epoch: int, lost: Lost) -> None:
        """Renew a lease that was just taken, until ``drop``; ``lost`` is called at most once."""
        with self._lock:
            self._held[resource] = _Held(epoch, lost, boot_seconds())
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="leases", daemon=True)
                self._thread.start()

    def drop(self, resource: str) -> None:
        """Give a lease up; one that was lost, or is not held, is none of ours. A refused release ends by itself."""
        with self._lock:
            held = self._held.pop(resource, None)
        if held is None:
            return
        try:
            self.leases.release(resource, held.epoch, self.owner)
        except StoreError as problem:
            LOGGER.warning("the lease %s was not given up, it ends by itself: %s", resource, problem.message)

    def held(self) -> dict[str, int]:
        """What is held now, with its epochs."""
        self._notice_lapse()
        with self._lock:
            return {resource: each.epoch for resource, each in self._held.items()}

    @contextmanager
    def keeping(self, resource: str, epoch: int, lost: Lost) -> Iterator[None]:
        """Hold a lease for the length of the block, where leases are used."""
        if not self.leases.used:
            yield
            return
        self.keep(resource, epoch, lost)
        try:
            yield
        finally:
            self.drop(resource)

    @contextmanager
    def borrowing(self, run_id: str) -> Iterator[None]:
        """Hold the lease of a run that nobody executes, for the length of the block. Raises LockHeld, StoreError."""
        if not self.leases.used:
            yield
            return
        resource = run_lease(run_id)
        epoch = self.leases.hold(resource, self.owner)
        if not epoch:
            seen = self.leases.look_at(resource)
            raise leased(run_id, seen.holder if seen else "another process", seen.left if seen else 0.0)
        with self.keeping(resource, epoch, unheard):
            yield

    def _work(self) -> None:
        wait = self.leases.heartbeat
        while True:
            self._nudge.wait(wait)
            self._notice_lapse()
            with self._lock:
                held = {resource: each.epoch for resource, each in self._held.items()}
                if not held:
                    self._thread = None
                    return
            wait = self.leases.heartbeat if self._renew(held) else min(AGAIN, self.leases.heartbeat)

    def _renew(self, held: dict[str, int]) -> bool:
        began = boot_seconds()
        try:
            lost = self.leases.renew(held, self.owner)
        except StoreError as problem:
            self.failures += 1
            LOGGER.warning("the leases of this process were not renewed: %s", problem.message)
            return False
        self.renewals += 1
        with self._lock:
            for resource, epoch in held.items():
                each = self._held.get(resource)
                if each is not None and each.epoch == epoch and resource not in lost:
                    each.renewed = began
        self._tell(lost, held)
        return True

    def _notice_lapse(self) -> None:
        """Everything that was not renewed for the length of a lease counts as lost before anything is written."""
        now = boot_seconds()
        with self._lock:
            late = {name: each.epoch for name, each in self._held.items() if now - each.renewed >= self.leases.seconds}
        self._tell(frozenset(late), late)

    def _tell(self, lost: frozenset[str], epochs: dict[str, int]) -> None:
        for resource in sorted(lost):
            with self._lock:
                each = self._held.get(resource)
                if each is None or each.epoch != epochs[resource]:
                    continue  # given up meanwhile, or taken anew: no loss
                del self._held[resource]
            each.lost(resource)
