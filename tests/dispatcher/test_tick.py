"""Whole ticks over a real store and board: outcomes, parks, retries, gestures, holds (dispatcher.md 6, 8, 11, 12)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from engine.failures import FailureCode
from engine.run import BudgetAsk
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, DETERMINISTIC, FAILS_FOR_GOOD, Yard, chain, tool, waits


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def test_a_ready_card_gets_a_fresh_run_and_is_settled(yard: Yard) -> None:
    """D001, R299."""
    card = yard.make()
    yard.tick()
    assert yard.column(card) == "in_progress"
    assert yard.ledger().links["native", card].attempts == 1
    yard.tick()
    assert yard.column(card) == "review"
    assert yard.run(card).status == RunStatus.FINISHED
    assert yard.view(card).claim is None


def test_two_ticks_over_an_unchanged_world_write_nothing(yard: Yard) -> None:
    """R461, dispatcher.md 4."""
    yard.make()
    yard.make(column="backlog")
    yard.bot(DETERMINISTIC, "bad")
    yard.make(bot="bad")
    yard.settled()
    yard.tick(2)
    before = sum(1 for _ in yard.board.history()), yard.ledger(), yard.wiring.ledger.idle_reasons()
    total = total_changes(yard)
    yard.tick(5)
    assert total_changes(yard) == total
    assert (sum(1 for _ in yard.board.history()), yard.ledger(), yard.wiring.ledger.idle_reasons()) == before


def total_changes(yard: Yard) -> int:
    with yard.wiring.database.write() as connection:
        return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


def test_a_finished_card_needs_a_move_by_a_person(yard: Yard) -> None:
    """D030, R298, R443."""
    card = yard.make()
    yard.settled()
    yard.tick(5)
    first = yard.view(card).last_run
    assert len(yard.runs()) == 1
    yard.move(card, "ready")
    yard.settled()
    assert yard.column(card) == "review"
    assert yard.view(card).last_run != first


def test_a_role_without_column_moves_nothing_and_nothing_loops(tmp_path: Path, clock: FakeClock) -> None:
    """D031, decision 13."""
    yard = Yard(tmp_path, clock, CONFIG + "columns: {completed: null}\n")
    card = yard.make()
    yard.tick(20)
    assert (len(yard.runs()), yard.reason(card)) == (1, "finished_needs_move")
    yard.close()


def test_the_dispatchers_own_move_is_no_gesture(yard: Yard) -> None:
    """R445."""
    card = yard.make()
    yard.settled()
    yard.move(card, "ready", Mover(MoverKind.DISPATCHER))
    yard.tick(3)
    assert (len(yard.runs()), yard.reason(card)) == (1, "finished_needs_move")


def test_a_move_by_the_runs_own_tool_is_no_gesture(yard: Yard) -> None:
    """D034."""
    card = yard.make()
    yard.settled()
    yard.move(card, "ready", Mover(MoverKind.BOT, "", yard.view(card).last_run))
    yard.tick(3)
    assert len(yard.runs()) == 1


def test_a_failed_run_waits_for_a_person_and_then_starts_anew(yard: Yard) -> None:
    """D032, R300."""
    yard.bot(FAILS_FOR_GOOD)
    card = yard.make()
    yard.settled()
    first = yard.view(card).last_run
    assert yard.column(card) == "blocked"
    yard.tick(5)
    assert len(yard.runs()) == 1
    yard.move(card, "ready")
    yard.settled()
    assert yard.view(card).last_run != first


def test_a_move_before_the_end_is_no_gesture_and_is_settled_from_there(yard: Yard, clock: FakeClock) -> None:
    """D033, D132: recorded order decides, also when the wall clock is set back."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.move(card, "ready")
    yard.until("started")
    clock.step(-3600)
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(3)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


def test_a_transient_failure_resumes_by_the_ladder_on_the_same_id(yard: Yard, clock: FakeClock) -> None:
    """D016, R296, R449."""
    yard.bot(tool(f"echo x >> {yard.folder}/trace; exit 1"))
    card = yard.make()
    yard.settled()
    starts = [1]
    for wait in (9.0, 1.0, 19.0, 1.0):
        clock.advance(wait)
        yard.settled()
        starts.append(len((yard.folder / "trace").read_text().split()))
    assert starts == [1, 1, 2, 2, 3]
    assert len(yard.runs()) == 1
    assert (yard.column(card), yard.run(card).status) == ("blocked", RunStatus.FAILED_RESUMABLE)


def test_a_retry_keeps_its_due_time_over_a_new_start(yard: Yard, clock: FakeClock) -> None:
    """D112, D113."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    due = yard.ledger().retries["native", card].not_before
    clock.advance(5)
    yard.again().tick(3)
    assert yard.ledger().retries["native", card].not_before == due
    assert yard.reason(card) == "retry_wait"
    clock.advance(6)
    yard.settled()
    assert yard.ledger().retries["native", card].attempt == 3


def test_a_used_up_ladder_gives_up_and_a_gesture_begins_anew(yard: Yard, clock: FakeClock) -> None:
    """D114, R450, R017."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    for _ in range(4):
        yard.settled()
        clock.advance(400)
    assert (yard.column(card), yard.view(card).claim) == ("blocked", None)
    yard.tick(10)
    assert yard.run(card).epoch == 3
    yard.move(card, "ready")
    yard.settled()
    assert yard.run(card).epoch == 4
    assert yard.ledger().retries["native", card].attempt == 2


def test_a_deterministic_failure_is_parked_once_and_resumed_by_a_move(yard: Yard) -> None:
    """D017, D018, D106, R302, R446, R447."""
    yard.bot(DETERMINISTIC)
    card = yard.make()
    yard.settled()
    yard.tick(5)
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "parked_deterministic")
    skipped = yard.events(card, "run_retry_skipped")
    assert [(e.data["reason"], e.data["code"]) for e in skipped] == [("deterministic", FailureCode.EXPRESSION_FAILED)]
    yard.again().tick(3)
    assert len(yard.events(card, "run_retry_skipped")) == 1
    yard.move(card, "ready")
    yard.settled()
    assert (len(yard.runs()), yard.run(card).epoch) == (1, 2)
    assert yard.column(card) == "awaiting_input"
    assert yard.ledger().links["native", card].attempts == 1


def test_a_question_parks_and_an_answer_settles(yard: Yard) -> None:
    """D011, D012, D102, R291, R301, R303, R444."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    yard.again().tick(3)
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "waiting_for_answers")
    snapshot = yard.ledger()
    assert not snapshot.retries
    assert snapshot.claims["native", card].state == "parked"
    assert yard.daemon.slots.executing() == ()
    idle = yard.view(card).idle
    assert idle is not None
    assert "ok" in idle.text
    yard.resume(card, answers={"ok": True})
    yard.tick(1)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
    assert yard.view(card).claim is None


def test_a_move_does_not_answer_a_question_and_says_so_once(yard: Yard) -> None:
    """D013."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    said = len(yard.comments(card))
    for _ in range(3):
        yard.move(card, "ready")
        yard.tick(2)
        assert yard.column(card) == "awaiting_input"
    assert len(yard.comments(card)) == said + 1
    assert "--answer" in yard.comments(card)[-1].text
    assert len(yard.runs()) == 1


def test_a_parked_card_that_is_moved_away_is_released_and_its_run_kept(yard: Yard) -> None:
    """D104, D107."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    yard.tick()
    yard.move(card, "backlog")
    yard.tick(3)
    assert (yard.column(card), yard.view(card).claim) == ("backlog", None)
    assert not yard.ledger().parks
    assert yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN
    yard.move(card, "ready")
    yard.tick(3)
    assert (yard.column(card), len(yard.runs())) == ("awaiting_input", 1)
    assert ("native", card) in yard.ledger().parks


def test_a_paused_run_goes_on_by_resume_only(yard: Yard) -> None:
    """D015, R292."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.wiring.engine.pause(yard.view(card).last_run)
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(2)
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "waiting_for_person")
    yard.move(card, "ready")
    yard.tick(2)
    assert (yard.column(card), yard.run(card).status) == ("awaiting_input", RunStatus.PAUSED_OPERATOR)
    yard.resume(card)
    yard.tick(1)
    assert yard.column(card) == "review"


def test_a_cancel_is_settled_first_and_does_not_bounce(yard: Yard) -> None:
    """D027, D028, D029, R297, R305, R451."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.wiring.engine.cancel(yard.view(card).last_run)
    yard.join()
    yard.tick(20)
    assert (yard.column(card), len(yard.runs())) == ("backlog", 1)
    (yard.folder / "go").touch()
    yard.move(card, "ready")
    yard.settled()
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
    assert (yard.folder / "trace").read_text().split() == ["x", "x", "y"]


def test_a_deleted_run_leads_to_a_fresh_one(yard: Yard) -> None:
    """D002, R455."""
    card = yard.make()
    yard.settled()
    first = yard.view(card).last_run
    yard.wiring.engine.delete(first)
    yard.move(card, "ready")
    yard.settled()
    assert yard.view(card).last_run != first
    assert yard.column(card) == "review"


def test_an_unreadable_record_holds_and_other_cards_go_on(yard: Yard) -> None:
    """D003, R454."""
    card = yard.make()
    yard.settled()
    damage(yard, card, "inputs = '{broken'")
    yard.move(card, "ready")
    other = yard.make("other")
    yard.settled()
    assert yard.reason(card) == "run_unreadable"
    assert (yard.column(card), yard.column(other)) == ("ready", "review")


def test_an_unknown_status_holds(yard: Yard) -> None:
    """D005, R453."""
    card = yard.make()
    yard.settled()
    damage(yard, card, "status = 'hibernating'")
    yard.move(card, "ready")
    yard.tick(3)
    assert (yard.reason(card), len(yard.runs())) == ("run_status_unknown", 1)


def test_a_queued_run_holds(yard: Yard) -> None:
    """D006, R295."""
    card = yard.make()
    yard.settled()
    damage(yard, card, "status = 'queued'")
    yard.move(card, "ready")
    yard.tick(3)
    assert yard.reason(card) == "run_queued"


def damage(yard: Yard, card: str, change: str) -> None:
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE run SET {change} WHERE id = '{yard.view(card).last_run}'")


def test_a_changed_source_parks_and_a_forced_resume_settles(yard: Yard, clock: FakeClock) -> None:
    """D025, R459, R022."""
    yard.bot(tool(f"[ -e {yard.folder}/ok ]"))
    card = yard.make()
    yard.settled()
    yard.bot(tool(f"[ -e {yard.folder}/ok ]") + "# edited\n")
    (yard.folder / "ok").touch()
    clock.advance(60)
    yard.tick(3)
    assert (yard.column(card), yard.reason(card)) == ("awaiting_input", "source_changed")
    yard.move(card, "ready")
    yard.tick(3)
    assert (yard.column(card), yard.reason(card), len(yard.runs())) == ("awaiting_input", "source_changed", 1)
    yard.resume(card, force=True)
    yard.tick()
    assert yard.column(card) == "review"


def test_a_missing_workspace_holds_and_is_never_replaced(yard: Yard, clock: FakeClock) -> None:
    """D026, R023."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    Path(yard.run(card).workspace).rmdir()
    clock.advance(60)
    yard.tick(3)
    assert yard.reason(card) == "workspace_missing"
    yard.move(card, "backlog")
    yard.move(card, "ready")
    yard.tick(3)
    assert (yard.reason(card), len(yard.runs())) == ("workspace_missing", 1)


def test_a_used_up_budget_names_its_cap_and_goes_on_after_a_raise(yard: Yard) -> None:
    """D024, R464."""
    yard.bot(chain(12, "max_iterations: 10"))
    card = yard.make()
    yard.settled()
    yard.tick(5)
    idle = yard.view(card).idle
    assert idle is not None, yard.run(card)
    assert (idle.code, "10" in idle.text) == ("parked_needs_cap", True)
    yard.wiring.store.runs.set_ask(yard.run(card).id, BudgetAsk(max_iterations=50))
    yard.settled()
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
