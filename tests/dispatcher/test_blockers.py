"""Cards that wait for each other: cycles that came in from outside, chains across columns (dispatcher.md 19)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from connectors.card import PERSON
from connectors.drafts import CardPatch
from dispatcher.explaining import explain
from tests.kit.clock import FakeClock
from tests.kit.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    made.close()


def imported(yard: Yard, **columns: str) -> dict[str, str]:
    """Cards whose blockers go round, as a document from elsewhere names them; their columns by id."""
    ids = list(columns)
    documents = [
        {"id": name, "title": name, "column": columns[name], "blockers": [ids[(at + 1) % len(ids)]]}
        for at, name in enumerate(ids)
    ]
    yard.board.import_cards(documents, (), PERSON)
    return {name: str(yard.card(name).number) for name in ids}


def test_a_cycle_that_came_from_outside_holds_all_its_members_and_names_the_chain(yard: Yard) -> None:
    """dispatcher.md 19: also where two of three lie in columns that no tick lists."""
    numbers = imported(yard, first="ready", second="backlog", third="inbox")
    last = yard.make("waits for the first", blockers=("first",))
    yard.tick(2)
    assert (yard.reason("first"), yard.reason(last)) == ("blockers_cycle", "blocked_by")
    idle = yard.view("first").idle
    assert idle is not None
    chain = [numbers[name] for name in ("first", "second", "third", "first")]
    assert idle.text == f"the card waits for itself through {' → '.join(f'#{each}' for each in chain)}"
    told = explain(yard.wiring, yard.environment, "first").judgement.decision
    assert (told.reason, told.text) == (idle.code, idle.text)


def test_a_cycle_ends_with_one_link_and_the_cards_go_in_their_order(yard: Yard) -> None:
    imported(yard, first="ready", second="ready")
    yard.tick(2)
    assert [yard.reason(each) for each in ("first", "second")] == ["blockers_cycle"] * 2
    yard.board.update("second", CardPatch(blockers=()), PERSON)
    yard.settled()
    assert (yard.column("second"), yard.reason("first")) == ("review", "blocked_by")
    yard.move("second", "done")
    yard.settled()
    assert yard.column("first") == "review"


def test_a_done_card_closes_no_circle(yard: Yard) -> None:
    imported(yard, first="ready", second="done")
    yard.settled()
    assert yard.column("first") == "review"


def test_a_blocker_that_cannot_be_read_is_not_done_and_a_deleted_one_says_so(yard: Yard) -> None:
    """dispatcher.md 19, principle 5: doubt holds; and the way out is named."""
    damaged, deleted = yard.make("damaged", column="done"), yard.make("deleted", column="done")
    held = yard.make("held", blockers=(damaged,))
    waits = yard.make("waits", column="waiting_deps", blockers=(damaged,))
    orphaned = yard.make("orphaned", blockers=(deleted,))
    with yard.wiring.database.write() as connection:
        connection.execute(text("UPDATE board_card SET labels = '[bro' WHERE id = :id"), {"id": damaged})
    yard.board.delete(deleted, PERSON)
    yard.tick(2)
    assert (yard.reason(held), yard.column(waits), yard.runs()) == ("blockers_unreadable", "waiting_deps", ())
    idle = yard.view(orphaned).idle
    assert idle is not None
    assert (idle.code, "(deleted)" in idle.text, "card update" in idle.unblock) == ("blocked_by", True, True)
