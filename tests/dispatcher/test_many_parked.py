"""A thousand parked cards on a board of a forge: watched through their column's listing (dispatcher.md 11)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import ClaimState, Follows, Key, Park, Settlement
from dispatcher.reasons import Reason
from engine.states import RunStatus
from engine.store.owners import owner_here
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import COLUMNS, ForgeYard, forge_yard
from tests.kit.runs import ended, launched

MANY, CLOSED, TAKEN_OUT = 1000, 10, 10


def parked(yard: ForgeYard, number: int) -> None:
    """A card whose run was paused, as an earlier daemon left it: settled, parked, and seen in its column."""
    card, run_id, now = yard.issue("awaiting_input", title=f"c{number}"), f"r{number}", yard.clock.now()
    key: Key = ("web", card)
    store = yard.wiring.store
    launched(store, run_id, workspace=str(yard.folder))
    ended(store, run_id, RunStatus.PAUSED_OPERATOR)
    outcome = store.runs.get(run_id).outcome_sequence
    settled = Settlement(
        *key, run_id, outcome, Follows.PARKED, RunStatus.PAUSED_OPERATOR, "", "awaiting_input", True, False, True, now
    )
    with yard.wiring.ledger.write() as connection:
        epoch = cards.take(connection, key, int(card), owner_here("earlier"), now)
        begun = cards.Start(key, int(card), run_id, "fresh", "ready", attended=False)
        cards.stamp(connection, begun, epoch, str(yard.folder))
        cards.change_link(connection, key, expected_column="awaiting_input")
        cards.keep_claim(connection, key, ClaimState.PARKED)
        outcomes.open_settlement(connection, settled)
        outcomes.park(
            connection,
            Park(*key, run_id, Reason.WAITING_FOR_PERSON, "awaiting_input", True, outcome, "", '{"why": "x"}', now),
        )


@pytest.mark.slow
def test_a_thousand_parked_cards_cost_one_listing_and_those_that_left_it_one_read_each(
    tmp_path: Path, clock: FakeClock
) -> None:
    """D111: of 1,000, ten were closed and ten lost their label; 980 stay parked, and the board is read to its end."""
    with forge_yard("github", tmp_path, clock) as yard:
        with yard.wiring.ledger.together():
            for number in range(1, MANY + 1):
                parked(yard, number)
        left = range(1, CLOSED + TAKEN_OUT + 1)
        for number in left[:CLOSED]:
            yard.forge.act("close", number=number)
        for number in left[CLOSED:]:
            yard.forge.act("remove_label", number=number, label="awaiting_input")
        report = yard.tick()
        asked = Counter(each["operation"] for each in yard.forge.requests())
        assert asked["issue.get"] == len(left)
        assert asked["issue.list"] <= MANY // 100 + len(COLUMNS)
        assert report.counts == {"release": len(left), "hold": MANY - len(left)}
        assert {int(card) for _, card in yard.ledger().parks} == {*range(len(left) + 1, MANY + 1)}
        assert not report.degraded
