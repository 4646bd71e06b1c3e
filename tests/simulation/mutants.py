"""Faulty parts, to try the simulation out: each breaks one law, and the simulation must find it and make it short.

A variant takes the place of one part of a station through the door that the product itself has for it; nothing of the
product is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from dispatcher.ledger import Ledger, Transaction, cards
from dispatcher.ledger.records import Key, Link
from dispatcher.slots import Work
from engine.store.changes import ClaimChange
from tests.simulation.machine import Door
from tests.simulation.parts import ScriptedSlots
from tests.simulation.play import Parts


class ForgetsFailedRuns(Ledger):
    """A ledger that forgets a card's run once its claim is gone: a sibling starts of a run that may go on."""

    def links(self, keys: Collection[Key]) -> dict[Key, Link]:
        claimed, known = self.snapshot().claims, super().links(keys)
        lost = [key for key, link in known.items() if link.last_run and key not in claimed]
        if lost:
            with self.write() as cursor:
                for key in lost:
                    cards.change_link(cursor, key, last_run="")
        return super().links(keys)


class SeesNoLocks(Door):
    """A reconciler that takes every lock for free: what lives is judged dead."""

    def lock_held(self, run_id: str) -> bool:
        return False

    def promote(self, run_id: str, *, from_ahead: bool = False) -> bool:
        return self.machine.promote(run_id, self.owner.instance)


class ResumesAnything(Door):
    """A dispatcher that takes every resume for a person's, and every question for answered."""

    def answered(self, run_id: str) -> bool:
        return True

    def resume(self, run_id: str, attended: bool, claimed: Callable[[], None], outcome: int = -1, by: str = "") -> None:
        record = self.machine.store.runs.get(run_id)
        self.machine.watch.resuming(self.keys[run_id], record, attended)
        self.machine.resume(self.keys[run_id], run_id, self.owner, ClaimChange(), claimed)


class CountsNoSlots(ScriptedSlots):
    """Slots that are never used up."""

    def executing(self) -> tuple[Work, ...]:
        return ()

    def used(self) -> int:
        return 0


class KeepsNothing(Ledger):
    """A ledger that says yes and forgets every third write."""

    _writes = 0

    def write(self) -> AbstractContextManager[Transaction]:
        self._writes += 1
        return self._lost() if self._writes % 3 == 0 else super().write()

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def _lost(self) -> Iterator[Transaction]:
        with super().write() as cursor:
            cursor.execute("SAVEPOINT forgotten")
            yield cursor
            cursor.execute("ROLLBACK TO forgotten")
            cursor.execute("RELEASE forgotten")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A faulty part and the laws of which it must break one."""

    parts: Parts
    laws: frozenset[str]


MUTANTS: Mapping[str, Mutant] = {
    "starts a sibling": Mutant(
        Parts(ledger=ForgetsFailedRuns), frozenset({"no sibling of a resumable run", "one live run per card"})
    ),
    "sees no locks": Mutant(Parts(door=SeesNoLocks), frozenset({"a live run is not judged dead"})),
    "resumes anything": Mutant(Parts(door=ResumesAnything), frozenset({"a paused run waits for people"})),
    "counts no slots": Mutant(Parts(slots=CountsNoSlots), frozenset({"slots are bounded"})),
    "keeps nothing": Mutant(
        Parts(ledger=KeepsNothing),
        frozenset(
            {
                "no card is lost",
                "nothing stays half-done",
                "no claim for ever",
                "every outcome reaches its card",
                "the system comes to rest",
                "each effect of a finish once",
                "no sibling of a resumable run",
                "attempts are counted",
                "every idle card can say why",
            }
        ),
    ),
}
