"""A gesture whose start was broken off behind the move to the running column is owed that start (dispatcher.md 7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import RESUME
from engine.run import Owner
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, DETERMINISTIC, Yard

DEAD = Owner("dead", "host", "another boot", 1, 1)


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    hook = f"hooks: {{before_run: {{script: '[ ! -e {tmp_path}/broken ]'}}}}\n"
    made = Yard(tmp_path, clock, CONFIG + hook, DETERMINISTIC)
    yield made
    made.close()


def resumed(yard: Yard, card: str) -> int:
    return len(yard.events(card, "run_resumed"))


def test_a_hook_that_fails_once_does_not_cost_the_gesture(yard: Yard, tmp_path: Path, clock: FakeClock) -> None:
    """The move asked for a resume that the table does not make by itself; the retry makes it (section 12)."""
    card = yard.make()
    yard.settled()
    (tmp_path / "broken").touch()
    yard.move(card, "ready")
    yard.settled()
    assert (resumed(yard, card), yard.reason(card), yard.column(card)) == (0, "retry_wait", "in_progress")
    (tmp_path / "broken").unlink()
    clock.advance(11)
    yard.settled(2)
    assert (resumed(yard, card), yard.reason(card), yard.column(card)) == (1, "parked_deterministic", "awaiting_input")
    yard.tick(5)
    assert resumed(yard, card) == 1


def test_a_daemon_that_died_behind_the_move_leaves_the_gesture_to_the_next(yard: Yard, clock: FakeClock) -> None:
    """As after SIGKILL at S6 (section 7): claim, intent and pointer of a process that is gone, the card moved."""
    card = yard.make()
    yard.settled()
    yard.move(card, "ready")
    run = yard.run(card)
    key, now = ("native", card), clock.now()
    begun = cards.Start(key, 1, run.id, RESUME, "ready", attended=True, outcome=run.outcome_sequence)
    with yard.wiring.ledger.write() as writing:
        outcomes.release_park(writing, key, "moved_in", now)
        cards.release(writing, key)
        epoch = cards.take(writing, key, 1, DEAD, now)
        cards.open_intent(writing, begun, DEAD, now)
        link = cards.stamp(writing, begun, epoch, run.workspace)
    yard.move(card, "in_progress", Mover(MoverKind.DISPATCHER, "yard"))
    assert link is not None
    yard.again().settled(2)
    assert (resumed(yard, card), yard.column(card)) == (1, "awaiting_input")


@pytest.mark.parametrize("instead", ["moved away", "resumed by hand"])
def test_what_is_owed_ends_with_what_a_person_does_instead(yard: Yard, tmp_path: Path, instead: str) -> None:
    """No gesture counts twice: neither when the card comes back by other hands, nor behind the outcome of a resume."""
    card = yard.make()
    yard.settled()
    (tmp_path / "broken").touch()
    yard.move(card, "ready")
    yard.settled()
    assert list(yard.ledger().intents) == [("native", card)]
    if instead == "moved away":
        yard.move(card, "backlog")
    else:
        yard.resume(card, attended=True)
    yard.settled()
    assert yard.ledger().intents == {}
