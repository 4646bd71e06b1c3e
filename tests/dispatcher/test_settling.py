"""What is left of settlements when cards go and runs go on meanwhile (dispatcher.md 8); the simulation found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.card import PERSON
from dispatcher.ledger import outcomes
from dispatcher.ledger.records import Follows, Settlement
from dispatcher.policy import Action
from dispatcher.settle import PAGE
from engine.checkpoint import Head
from engine.run import NewRun
from engine.states import RunStatus
from engine.store.changes import Launch, Transition, Written
from tests.kit.clock import FakeClock
from tests.kit.runs import OWNER
from tests.kit.yard import Yard, tool

NATIVE = "native"


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    made.close()


def half_settled(yard: Yard, card: str, older: int = 0) -> None:
    """As a crash behind E4 leaves it."""
    run = yard.run(card)
    made = Settlement(
        board=NATIVE,
        card_id=card,
        run_id=run.id,
        outcome=run.outcome_sequence - older,
        follows=Follows.RETRY,
        status=run.status,
        code=run.failure_code,
        to_column="",
        moved=False,
        commented=False,
        closed=False,
        opened_at=yard.clock.now(),
    )
    with yard.wiring.ledger.write() as connection:
        outcomes.open_settlement(connection, made)


def test_the_outcome_of_a_deleted_card_is_settled_once_and_leaves_nothing(yard: Yard) -> None:
    """Section 11: a card that is gone releases its claim; nothing is settled again in every tick."""
    card = yard.make()
    yard.tick()
    half_settled(yard, card)
    yard.board.delete(card, PERSON)
    first = yard.again().tick(pick=False)
    assert Action.SETTLE in [each.decision.action for each in first.decided]
    then = yard.tick(3)
    assert [each.decision.action for each in then.decided] == []
    assert (yard.ledger().claims, yard.ledger().settlements) == ({}, {})


def test_a_settlement_that_a_later_outcome_overtook_is_closed_and_the_later_one_is_settled(yard: Yard) -> None:
    yard.bot(tool("exit 75"))
    card = yard.make()
    yard.tick()
    half_settled(yard, card, older=1)
    yard.again().tick(2, pick=False)
    assert yard.ledger().settlements == {}
    assert yard.view(card).attempts == 1
    assert [retry.run_id for retry in yard.ledger().retries.values()] == [yard.run(card).id]


def test_an_outcome_behind_a_thousand_others_is_settled_by_the_first_tick_of_a_daemon(yard: Yard) -> None:
    """Section 8: runs that no card points at, and outcomes that were carried, are passed a page at a time."""
    store, running = yard.wiring.store, frozenset({RunStatus.RUNNING})
    with yard.wiring.database.together():
        for number in range(PAGE + 1):
            new = NewRun(f"byhand{number:06}", "by hand", "work", "work.bot", "", "d1")
            store.runs.insert_claimed(new, Launch(OWNER, Head("entry"), (), Written()))
            store.runs.transition(new.id, Transition(RunStatus.FINISHED, running))
    card = yard.make()
    yard.tick()
    assert yard.column(card) == "in_progress"
    report = yard.again().tick(pick=False)
    assert [each.decision.action for each in report.decided] == [Action.SETTLE]
    assert yard.column(card) == "review"
    assert yard.tick(pick=False).decided == ()
