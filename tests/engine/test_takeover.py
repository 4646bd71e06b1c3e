"""Taking over a run while something else happens to it, and where a free lock proves nothing (engine.md 7.10, 12.1)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

import pytest

from engine.checkpoint import Head
from engine.errors import LockHeld, Refusal, WrongStatus
from engine.runtime.promote import PromotionKind
from engine.states import RunStatus
from engine.store.changes import ClaimChange, Transition
from engine.store.checkpoints import Checkpoints
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.runs import OWNER, open_store

ONE = "tool a:\n  command: `echo a >> trace; test -e ok`\nworkflow w:\n  entry: a\n  a -> done\n"


class Once:
    """Something that happens at the first look."""

    def __init__(self) -> None:
        self.then: Callable[[], object] | None = None
        self.happened = False

    def happen(self) -> None:
        """Let it happen, if it is due and did not yet."""
        then, self.then = self.then, None
        if then is not None:
            self.happened = True
            then()


class Watched(FakeClock):
    """A clock: the age of a run is read before its lock is taken."""

    once = Once()

    def now(self) -> datetime:
        """The present instant."""
        self.once.happen()
        return super().now()


class Looked(Checkpoints):
    """Checkpoints: the head of an orphan is read under the lock, before it is promoted."""

    once = Once()

    def head(self, run_id: str) -> Head | None:
        """The head of the run."""
        self.once.happen()
        return super().head(run_id)


def stale(rig: Rig) -> None:
    """A run whose owner died while its node ran."""
    rig.run(ONE)
    claim = rig.store.runs.claim("r1", frozenset({RunStatus.FAILED_RESUMABLE}), OWNER, ClaimChange())
    assert claim is not None
    rig.write("ok")


@pytest.mark.parametrize("place", [Watched, Looked], ids=["before the lock", "under the lock"])
@pytest.mark.parametrize("to", [RunStatus.CANCELLED, RunStatus.FINISHED])
def test_a_status_that_changes_meanwhile_is_acted_on(
    tmp_path: Path, place: type[Watched | Looked], to: RunStatus
) -> None:
    """R013: the run is read again; a cancelled one is resumed as such, a finished one is refused."""
    clock = Watched()
    rig = Rig(open_store(tmp_path, clock), clock, tmp_path)
    rig.store.checkpoints = Looked(rig.store.database)
    stale(rig)
    clock.advance(61)
    running = frozenset({RunStatus.RUNNING})
    place.once.then = lambda: rig.store.runs.transition("r1", Transition(to, running))
    with pytest.raises(WrongStatus, match="finished") if to is RunStatus.FINISHED else nullcontext():
        rig.resume(force_stale=True)
    assert place.once.happened
    assert rig.store.runs.get("r1").status == RunStatus.FINISHED
    assert len(rig.trace()) == (1 if to is RunStatus.FINISHED else 2)
    assert "PROCESS_ORPHANED" not in {event.data.get("code") for event in rig.events("run_failed")}
    rig.store.database.close()


def test_where_a_lock_proves_nothing_nothing_is_promoted(engine: Rig, clock: FakeClock) -> None:
    """R020: neither by reconcile nor by --force-stale; the run stays as it is."""
    stale(engine)
    clock.advance(1000)
    rig = engine.other(locks_prove=False)
    before = rig.store.runs.get("r1")
    assert rig.engine.promote("r1", 120).kind is PromotionKind.UNPROVEN
    with pytest.raises(LockHeld, match="network file system"):
        rig.resume(force_stale=True)
    assert rig.store.runs.get("r1") == before
    assert engine.engine.promote("r1", 120).kind is PromotionKind.PROMOTED


@pytest.mark.parametrize("late", [False, True], ids=["before the look", "between look and claim"])
def test_a_resume_for_one_outcome_undoes_no_cancel(tmp_path: Path, clock: FakeClock, late: bool) -> None:
    """engine.md 7.3: decided about a failed run, it holds for no cancelled one, although a person may resume that."""
    rig = Rig(open_store(tmp_path, clock), clock, tmp_path)
    rig.store.checkpoints = Looked(rig.store.database)
    rig.run(ONE)
    failed = rig.store.runs.get("r1").outcome_sequence
    rig.write("ok")
    if late:
        Looked.once.then = lambda: rig.engine.cancel("r1", "enough")
    else:
        rig.engine.cancel("r1", "enough")
    with pytest.raises(Refusal if late else WrongStatus):
        rig.resume(only=failed)
    cancelled = rig.store.runs.get("r1")
    assert (cancelled.status, len(rig.trace())) == (RunStatus.CANCELLED, 1)
    assert rig.resume(only=cancelled.outcome_sequence).status == RunStatus.FINISHED
    rig.store.database.close()


def test_a_resume_for_one_outcome_starts_nothing_behind_a_later_one(tmp_path: Path, clock: FakeClock) -> None:
    """engine.md 7.3: between decision and claim a person resumed it, and it stopped again in the same status."""
    rig = Rig(open_store(tmp_path, clock), clock, tmp_path)
    first = rig.run(ONE).outcome_sequence
    second = rig.resume()
    assert second.status == RunStatus.FAILED_RESUMABLE
    with pytest.raises(WrongStatus, match="stopped anew meanwhile"):
        rig.resume(only=first)
    assert rig.store.runs.get("r1") == second
    assert rig.resume(only=second.outcome_sequence).epoch == second.epoch + 1
    rig.store.database.close()
