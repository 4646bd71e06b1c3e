"""Circuit breakers: deciders as a table, and what they do to whole ticks (dispatcher.md 15)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from dispatcher.breakers import OPEN, TRIAL, Limit, counted, holding
from dispatcher.ledger.records import CLOSED, Breaker
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, FAILS_FOR_GOOD, Yard, tool

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LIMIT = Limit(3, 60.0, 900.0)


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock, bot=FAILS_FOR_GOOD.replace("`true`", "`sleep 0.1`"))
    yield made
    made.close()


def at(seconds: float, state: str = CLOSED, count: int = 0) -> Breaker:
    return Breaker("board", "native", "X", count, state, NOW + timedelta(seconds=seconds), None)


def test_the_last_of_enough_within_the_window_opens() -> None:
    first = counted(None, at(0), LIMIT)
    second = counted(first, at(10), LIMIT)
    third = counted(second, at(20), LIMIT)
    assert [row.state for row in (first, second, third)] == [CLOSED, CLOSED, OPEN]
    assert third.until == NOW + timedelta(seconds=920)


def test_a_new_window_counts_anew() -> None:
    assert counted(at(0, count=2), at(61), LIMIT).count == 1


def test_a_failed_trial_opens_again_at_once() -> None:
    """D144."""
    row = counted(at(0, TRIAL, 3), at(1000), LIMIT)
    assert (row.state, row.until) == (OPEN, NOW + timedelta(seconds=1900))


def test_an_open_one_holds_until_its_time() -> None:
    row = Breaker("board", "native", "X", 3, OPEN, NOW, NOW + timedelta(seconds=900))
    assert holding(row, NOW, 60.0) == {"n": 3, "window": "60 s", "cause": "X", "until": "2026-11-01T00:15:00Z"}
    assert holding(row, NOW + timedelta(seconds=900), 60.0) is None


def test_a_board_whose_every_run_fails_stops_after_five(yard: Yard, clock: FakeClock) -> None:
    """D143, D144, D145."""
    cards = [yard.make(f"c{n}") for n in range(14)]
    yard.tick(12)
    assert sum(yard.column(card) == "blocked" for card in cards) == 5
    assert yard.reason(cards[-1]) == "board_breaker_open"
    yard.again().tick(3)
    assert sum(yard.column(card) == "blocked" for card in cards) == 5
    runs = len(yard.runs())
    clock.advance(901)
    report = yard.tick()
    assert (report.counts["fresh"], len(yard.runs())) == (1, runs + 1)
    assert yard.reason(cards[5]) == "board_breaker_open", "its outcome waits for how the trial ends"
    yard.tick(2)
    assert sum(yard.column(card) == "blocked" for card in cards) == 6, "the failed trial opened it again"
    yard.bot(tool("true"))
    clock.advance(901)
    yard.tick(12)
    assert yard.column(cards[-1]) == "review"
    board = yard.ledger().breakers.get(("board", "native"))
    assert board is None or board.state == CLOSED


def test_a_board_whose_every_start_is_refused_stops_after_five_cards(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 15: one card with as many refusals is its own matter; the trial's refusal opens it again."""
    more = "hooks: {before_run: {script: 'sleep 0.05; false'}}\nbreakers: {same_cause: 100}\nconcurrency: {max: 2}\n"
    yard = Yard(tmp_path, clock, CONFIG.replace("max_attempts: 3", "max_attempts: 50") + more)
    yard.make()
    for _ in range(6):
        yard.tick()
        clock.advance(40)
    assert yard.ledger().breakers == {}
    others = [yard.make(f"c{n}") for n in range(9)]
    yard.tick(5)
    assert sum(yard.view(card).attempts for card in others) == 4
    assert yard.reason(others[-1]) == "board_breaker_open"
    clock.advance(901)
    assert yard.tick().counts.get("fresh") == 1
    row = yard.ledger().breakers["board", "native"]
    assert (row.state, row.cause) == (OPEN, "start failed: hook_before_run")
    yard.close()


def test_a_card_that_another_bot_flips_is_left_alone(yard: Yard) -> None:
    """D142."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    for _ in range(30):
        yard.move(card, "ready", Mover(MoverKind.BOT, "", "other"))
        yard.tick()
    moves = [event for event in yard.board.history(card) if event.type == "card_moved"]
    ours = [event for event in moves if event.mover.kind is MoverKind.DISPATCHER]
    assert len(ours) <= 7
    assert yard.reason(card) == "card_breaker_open"
