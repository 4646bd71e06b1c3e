"""The state document of the last tick (dispatcher.md 25)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.base import Listing
from connectors.errors import ConnectorError
from connectors.native.board import NativeBoard
from dispatcher.reasons import PARK_CAUSES, Reason, park_cause
from dispatcher.troubles import Trouble, next_trouble
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, Yard, waits

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def state(yard: Yard) -> Any:
    return yard.daemon.state()


def test_what_runs_says_where_it_is_and_full_caps_since_when(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 16: a cap that keeps cards waiting is listed with the time since when it is full."""
    yard = Yard(tmp_path, clock, CONFIG + "concurrency: {by_bot: {work: 1}, wip: {review: 5}}\n")
    yard.bot(waits(yard.folder))
    yard.make()
    yard.make()
    yard.tick(wait=False)
    yard.until("started")
    begun = clock.now()
    clock.advance(60)
    yard.tick(wait=False)
    clock.advance(60)
    yard.tick(wait=False)
    told = state(yard)
    caps = {each["name"]: each for each in told["caps"]}
    assert told["running"][0]["node"] == "work"
    assert (caps["by_bot:work"]["used"], caps["by_bot:work"]["limit"]) == (1, 1)
    assert begun <= datetime.fromisoformat(caps["by_bot:work"]["full_since"]) < clock.now()
    assert caps["wip:review"] == {"name": "wip:review", "used": 0, "limit": 5, "full_since": None}
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(pick=False)
    assert {each["name"]: each["full_since"] for each in state(yard)["caps"]}["by_bot:work"] is None
    yard.close()


def test_a_parked_card_names_its_cause_in_one_word(tmp_path: Path, clock: FakeClock) -> None:
    """In the order of section 17: the urgent one first, whatever its id."""
    yard = Yard(tmp_path, clock, bot=ASKS)
    cards = [yard.make(priority=priority) for priority in (0, 2, 1)]
    yard.settled()
    assert [each["cause"] for each in state(yard)["parked"]] == ["answers"] * 3
    assert [each["card"] for each in state(yard)["parked"]] == [cards[1], cards[2], cards[0]]
    yard.close()


def test_every_reason_that_parks_has_a_cause() -> None:
    """dispatcher.md 11: a pause of the daily cap is told apart from a person's."""
    assert park_cause(Reason.WAITING_FOR_PERSON, {"why": "cost_cap_daily"}) == "daily_cap"
    causes = {park_cause(reason, {}) for reason in PARK_CAUSES} | {"daily_cap"}
    assert causes == {
        *("answers", "operator_pause", "daily_cap", "deterministic", "ambiguous", "deliberate", "needs_cap"),
        "source_changed",
    }


@pytest.mark.parametrize(
    ("known", "found", "told"),
    [
        (None, {}, None),
        (None, {"web": "502"}, Trouble(LATER, "web", "502")),
        (Trouble(NOW, "web", "502"), {"web": "502"}, Trouble(NOW, "web", "502")),
        (Trouble(NOW, "web", "502"), {"web": "404"}, Trouble(LATER, "web", "404")),
        (Trouble(NOW, "web", "502"), {}, Trouble(NOW, "web", "502", LATER)),
        (Trouble(NOW, "web", "502", NOW), {}, Trouble(NOW, "web", "502", NOW)),
        (Trouble(NOW, "web", "502", NOW), {"web": "502"}, Trouble(LATER, "web", "502")),
        (Trouble(NOW, "web", "502"), {"store": "full"}, Trouble(LATER, "store", "full")),
    ],
)
def test_the_last_error_stays_until_a_success_of_its_place(
    known: Trouble | None, found: dict[str, str], told: Trouble | None
) -> None:
    assert next_trouble(known, found, LATER) == told


class Flaky(NativeBoard):
    """A board whose listing fails while it is told to."""

    fails = False

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        if self.fails:
            raise ConnectorError("the answer was no JSON", "Try again.")
        return super().list_cards(columns)


def test_a_board_that_cannot_be_read_is_the_last_error_until_it_can(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock)
    board = Flaky("native", yard.wiring.database, clock, yard.wiring.ids)
    yard.wiring.boards = {"native": board}
    (tmp_path / "pointsman.yaml").write_text(CONFIG.replace("name: yard", "name: other"))
    assert yard.daemon.reload()
    yard.tick()
    assert state(yard)["last_error"] is None
    board.fails = True
    yard.make()
    yard.tick()
    last = state(yard)["last_error"]
    assert (last["where"], last["text"], last["cleared_at"]) == ("native", "the answer was no JSON", None)
    assert [each["code"] for each in state(yard)["degraded"]] == ["board_unreadable"]
    board.fails = False
    clock.advance(5)
    yard.settled()
    assert state(yard)["last_error"]["cleared_at"] is not None
    assert state(yard)["degraded"] == []
    yard.close()
