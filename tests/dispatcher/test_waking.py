"""Wake-ups of one card: what counts, when they are no longer heard, what makes them heard again (dispatcher.md 15)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dispatcher.breakers import OPEN
from dispatcher.explaining import explain
from dispatcher.ledger.records import COUNTING, Breaker
from dispatcher.waking import MOST, compared, deaf, heard, woken
from tests.kit.clock import FakeClock
from tests.kit.yard import Yard

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def row(count: int = 0, about: str = "1 a", state: str = COUNTING, until: datetime | None = None) -> Breaker:
    return Breaker("card", "web/7 wakes", "", count, state, NOW, until, about)


@pytest.mark.parametrize(
    ("before", "about", "after", "by_person", "wanted"),
    [
        (row(MOST, about=""), "1 a", 1, False, (COUNTING, 0)),
        (row(MOST), "1 b", 1, False, (COUNTING, 0)),
        (row(MOST), "1 a", 1, False, (COUNTING, MOST)),
        (row(MOST + 1), "1 a", 1, False, (OPEN, MOST + 1)),
        (row(MOST + 1), "1 a", 601, False, None),
        (row(MOST + 1), "1 a", -1, False, None),
        (row(30, state=OPEN, until=NOW + HOUR), "2 b", 1, False, (OPEN, 30)),
        (row(30, state=OPEN, until=NOW + HOUR), "1 b", 1, True, (OPEN, 30)),
        (row(30, state=OPEN, until=NOW + HOUR), "2 b", 1, True, None),
        (row(30, state=OPEN, until=NOW + HOUR), "1 a", 3600, False, None),
    ],
    ids=[
        "the first look only remembers",
        "a change counts anew",
        "as many as may be",
        "one too many opens",
        "the window is over",
        "a clock set back counts anew",
        "no machine's move closes",
        "no person's word closes",
        "a person's move closes",
        "after an hour it counts anew",
    ],
)
def test_what_a_look_makes_of_the_row(
    before: Breaker, about: str, after: int, by_person: bool, wanted: tuple[str, int] | None
) -> None:
    found = compared(before, about, NOW + timedelta(seconds=after), by_person)
    assert (None if found is None else (found.state, found.count)) == wanted


def test_a_window_that_is_over_counts_from_one() -> None:
    assert woken(row(7), "n", NOW + timedelta(seconds=600)).count == 8
    assert woken(row(7), "n", NOW + timedelta(seconds=601)) == replace(
        woken(None, "n", NOW + timedelta(seconds=601)), count=1
    )
    shut = row(30, state=OPEN, until=NOW + HOUR)
    assert [deaf(each, NOW) for each in (None, row(30), shut)] == [False, False, True]
    assert not deaf(shut, NOW + HOUR)


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    made.close()


def test_a_card_that_wakes_for_nothing_is_held_and_no_longer_heard(yard: Yard, clock: FakeClock) -> None:
    """D146: each wake-up gets its tick; the breaker survives a new start, and a person's move ends it."""
    card = yard.make()
    yard.tick(pick=False)
    key = ("native", card)
    assert all(heard(yard.wiring.ledger, key, clock.now()) for _ in range(5))
    assert yard.tick(pick=False).state["breakers"] == []
    assert all(heard(yard.wiring.ledger, key, clock.now()) for _ in range(MOST + 1))
    told: Any = yard.tick(pick=False).state["breakers"]
    assert [(each["scope"], each["state"]) for each in told] == [("card", OPEN)]
    assert not heard(yard.again().wiring.ledger, key, clock.now())
    yard.tick()
    assert (yard.column(card), yard.reason(card)) == ("ready", "card_breaker_open")
    gate = next(each for each in explain(yard.wiring, {}, card).judgement.gates if each.order == 20)
    assert (
        gate.text == f"the same thing happened {MOST + 1} times: a webhook told of it, and nothing about it had changed"
    )
    yard.move(card, "backlog")
    yard.move(card, "ready")
    yard.settled()
    assert yard.column(card) == "review"
    assert heard(yard.wiring.ledger, key, clock.now())
