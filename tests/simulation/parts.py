"""Parts of a station that cost time or threads in the product: slots without threads, workspaces without a disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from dispatcher.ledger.records import Key
from dispatcher.slots import Slots, Work, _Slot
from dispatcher.workspaces import Found, Mark, Place, Removal, Workspace, Workspaces
from engine.errors import EngineError
from engine.ports import IdMaker
from engine.run import Owner
from engine.runtime.ownership import LeaseKeeper, Lost
from engine.store.leases import Leases, holder_of
from tests.kit.clock import FakeClock
from tests.simulation.machine import Door
from tests.simulation.seams import STORE_TIME, SimulatedDatabase


class WaitingClock(FakeClock):
    """The clock of a history; ``waited`` is told the monotonic second since which somebody waited on it."""

    def __init__(self, waited: Callable[[float], None]) -> None:
        super().__init__()
        self._waited = waited

    def wait(self, event: threading.Event, seconds: float) -> bool:
        since = self.monotonic()
        found = super().wait(event, seconds)
        self._waited(since)
        return found


class ScriptedSlots(Slots):
    """Slots whose threads run when the history lets them; one is used until its run has ended."""

    def __init__(self, door: Door) -> None:
        super().__init__(lambda: None)
        self._door = door
        self._begun: list[tuple[Work, Callable[[], None]]] = []

    def submit(self, work: Work, run: Callable[[], None]) -> bool:
        """Use a slot; its work waits for ``run_threads``."""
        if work.key in self._used:
            return False
        self._used[work.key] = _Slot(work)
        self._door.keys[work.run_id] = work.key
        self._begun.append((work, run))
        return True

    def taken(self) -> int:
        """How many are used, whatever the dispatcher is told."""
        return len(self._used)

    def run_threads(self) -> None:
        """Let the threads that were begun get as far as the engine's door."""
        while self._begun:
            work, run = self._begun.pop(0)
            try:
                run()
            except EngineError as error:
                self._door.machine.watch.note(f"    the thread of {work.run_id} ended: {error}")
            if work.run_id not in self._door.executing():
                self.free(work.key)

    def ended(self, run_id: str) -> None:
        """The thread of that run has returned."""
        for key, slot in list(self._used.items()):
            if slot.work.run_id == run_id and not any(work.run_id == run_id for work, _ in self._begun):
                self.free(key)

    def free(self, key: Key) -> None:
        """Give the slot back."""
        self._used.pop(key, None)


class MemoryWorkspaces(Workspaces):
    """The marks in a dictionary that outlives the processes; every card shares one real folder."""

    def __init__(self, root: Path, ids: IdMaker, marks: dict[str, Mark]) -> None:
        super().__init__(root, "sim", ids)
        self._marks = marks

    def look(self, key: str, card_id: str) -> Found:
        mark = self._marks.get(key)
        if mark is None:
            return Found.NOTHING
        return Found.OURS if mark.card_id == card_id else Found.FOREIGN

    def mark(self, key: str) -> Mark | None:
        return self._marks.get(key)

    def prepare(self, key: str, place: Place, run_id: str, now: datetime) -> Workspace:
        known = self._marks.get(key)
        made = known is None
        mark = known or Mark(place.board, place.card_id, self._store, now.isoformat())
        self._marks[key] = replace(mark, runs=(*mark.runs, run_id))
        path = self.path_of(key)
        if made and not os.path.isdir(path):  # noqa: PTH112 - the hot path of thousands of starts
            path.mkdir(parents=True)
        return Workspace(path, self._marks[key], made)

    def write_mark(self, key: str, mark: Mark) -> None:
        self._marks[key] = mark

    def counts(self) -> dict[str, int]:
        return {"present": len(self._marks)}

    def remove(self, key: str, card_id: str, unsaved: Callable[[Path], str]) -> tuple[Removal, str]:
        why = unsaved(self.path_of(key))
        if why:
            return Removal.KEPT_DIRTY, why
        return (Removal.REMOVED, "") if self._marks.pop(key, None) else (Removal.ABSENT, "")


class SimulatedLeases(Leases):
    """The product's leases by a clock of the store that never steps; ``shared`` says whether several daemons share."""

    def __init__(self, database: SimulatedDatabase, clock: FakeClock, shared: bool) -> None:
        self._shared = shared
        super().__init__(database)
        self._clock = f"SELECT {STORE_TIME}()"
        database.time = lambda: self.instant(clock.monotonic())

    @property
    def used(self) -> bool:
        return self._shared

    @staticmethod
    def instant(monotonic: float) -> str:
        """A monotonic second as the store tells it."""
        return (datetime(2026, 1, 1) + timedelta(seconds=monotonic)).isoformat(timespec="microseconds")  # noqa: DTZ001


class SimulatedKeeper(LeaseKeeper):
    """The leases of one daemon, renewed while it is not stopped; ``renew_all`` stands for its thread."""

    def __init__(self, leases: SimulatedLeases, owner: Owner) -> None:
        super().__init__(leases, owner)
        self.mine: dict[str, tuple[int, Lost]] = {}
        self.stopped_until = 0.0
        self._renewed = 0.0

    def keep(self, resource: str, epoch: int, lost: Lost) -> None:
        self.mine[resource] = (epoch, lost)

    def drop(self, resource: str) -> None:
        held = self.mine.pop(resource, None)
        if held is not None:
            self.leases.release(resource, held[0], self.owner)

    def held(self) -> dict[str, int]:
        return {resource: epoch for resource, (epoch, _) in self.mine.items()}

    def renew_all(self, database: SimulatedDatabase, since: float, now: float) -> None:
        """What the thread did between these monotonic seconds: everything that had not ended before is renewed.

        As in the product it is not renewed in every moment, but long before it ends.
        """
        if not self.mine or now < self.stopped_until or now - self._renewed < self.leases.heartbeat / 2:
            return
        self._renewed = now
        began, ends = SimulatedLeases.instant(max(since, self.stopped_until)), SimulatedLeases.instant(now + 60.0)
        with database.exclusive() as raw, database.unseen():
            kept = raw.execute(
                "UPDATE lease SET expires_at = ? WHERE holder = ? AND expires_at > ? RETURNING resource, epoch",
                (f"{ends}Z", holder_of(self.owner), f"{began}Z"),
            ).fetchall()
        if self.held().items() <= set(kept):
            return
        with database.unseen():
            lost = self.leases.renew(self.held(), self.owner)
        for resource in sorted(lost):
            self.mine.pop(resource)[1](resource)
