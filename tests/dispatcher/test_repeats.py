"""The same thing again and again with no person in between opens the card's breaker (dispatcher.md 15)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from dispatcher.breakers import OPEN, Limit, repeated
from dispatcher.ledger.records import CLOSED, Breaker
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard, tool

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LIMIT = Limit(3, inf, 3600.0)
PATIENT = CONFIG.replace("max_attempts: 3", "max_attempts: 50")
OTHER_BOT = Mover(MoverKind.BOT, "", "other")


@pytest.fixture
def failing(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock, PATIENT + "hooks: {before_run: {script: 'exit 3'}}\n")
    yield made
    made.close()


def came(row: Breaker | None, cause: str, after: float) -> Breaker:
    at = NOW + timedelta(seconds=after)
    return repeated(row, Breaker("card", "native/1", cause, 0, CLOSED, at, None), LIMIT)


def test_another_cause_in_between_begins_anew() -> None:
    row = None
    for number, cause in enumerate(("a", "a", "b", "a", "a")):
        row = came(row, cause, number)
    assert row is not None
    assert (row.cause, row.count, row.state) == ("a", 2, CLOSED)


def test_the_trial_of_an_open_one_opens_it_again_for_the_full_time() -> None:
    row = None
    for number in range(3):
        row = came(row, "a", number)
    assert row is not None
    assert row.state == OPEN
    again = came(row, "a", 4000)
    assert (again.state, again.until) == (OPEN, NOW + timedelta(seconds=7600))
    assert came(row, "b", 4000).state == CLOSED


def starts(yard: Yard, clock: FakeClock, ticks: int) -> None:
    for _ in range(ticks):
        yard.tick()
        clock.advance(301)


def test_five_equal_launch_failures_hold_the_card_until_a_trial(failing: Yard, clock: FakeClock) -> None:
    """Section 15, card scope: five in a row, one trial after an hour, a person's move at once."""
    card = failing.make()
    starts(failing, clock, 8)
    assert failing.ledger().links["native", card].attempts == 5
    idle = failing.view(card).idle
    assert idle is not None
    assert (idle.code, "hook_before_run" in idle.text, "5 times" in idle.text) == ("card_breaker_open", True, True)
    assert [row["scope"] for row in failing.tick().state["breakers"]] == ["card"]  # type: ignore[attr-defined]
    clock.advance(3600)
    starts(failing, clock, 3)
    assert failing.ledger().links["native", card].attempts == 6
    failing.move(card, "backlog")
    failing.tick()
    failing.move(card, "ready")
    starts(failing, clock, 8)
    assert failing.ledger().links["native", card].attempts == 5


def test_a_card_that_another_bot_sends_in_again_after_each_end_is_left_alone(tmp_path: Path, clock: FakeClock) -> None:
    """A loop that no attempt counts: fresh run, same outcome, moved in by a bot; a person's move breaks the row."""
    yard = Yard(tmp_path, clock, PATIENT, tool("true"))
    card = yard.make()
    yard.settled()
    for _ in range(9):
        yard.move(card, "ready", OTHER_BOT)
        yard.settled()
        clock.advance(700)
    assert len(yard.runs()) == 5
    assert yard.reason(card) == "card_breaker_open"
    yard.move(card, "backlog")
    yard.move(card, "ready")
    yard.settled()
    assert (len(yard.runs()), yard.column(card)) == (6, "review")
    yard.close()


def test_a_person_in_between_keeps_the_row_short(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock, PATIENT, tool("true"))
    card = yard.make()
    yard.settled()
    for _ in range(8):
        yard.move(card, "ready")
        yard.settled()
        clock.advance(700)
    assert (len(yard.runs()), yard.column(card)) == (9, "review")
    yard.close()
