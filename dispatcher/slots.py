"""The threads in which runs execute: the only place of the dispatcher that starts one (dispatcher.md 16).

A slot is used from ``submit`` until the thread has returned. What a thread did is not told here: the next tick reads
the store. ``on_end`` only hurries that tick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dispatcher.ledger.records import Key


@dataclass(frozen=True, slots=True)
class Work:
    """What a slot is used for: the card, its run, and what the caps count it under. ``since`` is monotonic seconds."""

    key: Key
    run_id: str
    column: str
    bot: str
    assignees: tuple[str, ...] = ()
    attempt: int = 1
    since: float = 0.0


@dataclass(slots=True)
class _Slot:
    work: Work
    adopted: bool = False
    thread: threading.Thread | None = None
    stop: tuple[str, float] | None = None
    overdue: bool = False


class Slots:
    """Runs under way in this process. Thread-safe."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._lock = threading.Lock()
        self._used: dict[Key, _Slot] = {}

    def submit(self, work: Work, run: Callable[[], None]) -> bool:
        """Execute ``run`` in a thread of its own; False when the card has a slot already."""
        slot = _Slot(work)
        with self._lock:
            if work.key in self._used:
                return False
            self._used[work.key] = slot
        slot.thread = threading.Thread(target=self._work, args=(slot, run), name=f"run {work.run_id}", daemon=True)
        slot.thread.start()
        return True

    def adopt(self, found: Mapping[Key, Work]) -> None:
        """Count these runs, which processes of an earlier daemon execute; adopted ones not among them have ended."""
        with self._lock:
            for key in [key for key, slot in self._used.items() if slot.adopted and key not in found]:
                del self._used[key]
            for key, work in found.items():
                self._used.setdefault(key, _Slot(work, adopted=True))

    def here(self) -> tuple[Work, ...]:
        """What threads of this process work on: all that a stop has to wait for."""
        with self._lock:
            return tuple(slot.work for slot in self._used.values() if not slot.adopted)

    def executing(self) -> tuple[Work, ...]:
        """Everything under way, in the order in which it began."""
        with self._lock:
            return tuple(slot.work for slot in self._used.values())

    def used(self) -> int:
        """How many slots are in use."""
        return len(self._used)

    def has(self, key: Key) -> bool:
        """Whether a thread of ours works for that card."""
        return key in self._used

    def stop_asked(self, key: Key, cause: str, monotonic: float) -> bool:
        """Note that the work was told to stop, and since when; False when it was told before, or is not here."""
        with self._lock:
            slot = self._used.get(key)
            if slot is None or slot.stop is not None:
                return False
            slot.stop = (cause, monotonic)
            return True

    def stopping(self, key: Key) -> tuple[str, float] | None:
        """By what the work was told to stop and when (monotonic seconds); None when it was not."""
        with self._lock:
            slot = self._used.get(key)
            return slot.stop if slot is not None else None

    def overdue(self, key: Key) -> bool:
        """Whether a stop of that work took longer than its grace."""
        with self._lock:
            slot = self._used.get(key)
            return slot is not None and slot.overdue

    def mark_overdue(self, key: Key) -> bool:
        """Its stop takes longer than its grace; True the first time that this is said."""
        with self._lock:
            slot = self._used.get(key)
            if slot is None or slot.overdue:
                return False
            slot.overdue = True
            return True

    def _work(self, slot: _Slot, run: Callable[[], None]) -> None:
        try:
            run()
        finally:
            with self._lock:
                self._used.pop(slot.work.key, None)
            self._on_end()
