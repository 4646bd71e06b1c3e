"""Many cards that are gone at once are one fault more often than many decisions (dispatcher.md 14)."""

from __future__ import annotations

from pathlib import Path

from connectors.card import PERSON
from dispatcher.policy import Action
from dispatcher.tick import TickReport
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard, waits


def interrupted(report: TickReport) -> int:
    return sum(each.decision.action is Action.INTERRUPT for each in report.decided)


def test_when_most_cards_are_gone_at_once_a_second_complete_read_must_say_the_same(
    tmp_path: Path, clock: FakeClock
) -> None:
    """D139: nothing in the first tick, the interrupts in the second."""
    yard = Yard(tmp_path, clock, CONFIG + "concurrency: {max: 8}\n", waits(tmp_path))
    cards = [yard.make(f"c{number}") for number in range(8)]
    yard.tick(wait=False)
    assert len(yard.daemon.slots.executing()) == 8
    for card in cards[:5]:
        yard.board.delete(card, PERSON)
    assert interrupted(yard.tick(wait=False)) == 0
    assert interrupted(yard.tick(wait=False)) == 5
    (tmp_path / "go").touch()
    yard.close()
