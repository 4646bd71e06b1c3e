"""Rows of the ``last_run`` table and of recovery over whole ticks: orphans, owners, graces, answers (6, 9, 10).

A run is made to look as a dead process left it by changing its row, as a crash would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dispatcher.ledger import cards
from dispatcher.ledger.records import ClaimState
from dispatcher.pointing import point
from dispatcher.refusals import Refused
from engine.api import LaunchRequest
from engine.errors import RunUnknown, StoreBusy
from engine.events import EventType
from engine.failures import FailureCode
from engine.states import RunStatus
from engine.store.changes import AnswersAccepted, Listing
from engine.store.locks import RunLock
from engine.store.owners import owner_here
from engine.store.runs import Runs
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, DETERMINISTIC, Yard, tool, waits

NATIVE = "native"
FLAKY = "[ -e FOLDER/ok ]"


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def write(yard: Yard, statement: str) -> None:
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(statement)


def orphaned(yard: Yard, clock: FakeClock, age: float) -> str:
    """A card whose run failed and was then left ``running`` by a process that is gone, claimed ``age`` seconds ago."""
    yard.bot(tool(FLAKY.replace("FOLDER", str(yard.folder))))
    card = yard.make()
    yard.tick()
    run = yard.view(card).last_run
    claimed = (clock.now() - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    owner = "json_set(owner, '$.pid', 999999, '$.instance', 'gone')"
    left = f"status = 'running', failure_code = '', error = '', owner = {owner}, claimed_at = '{claimed}'"
    write(yard, f"UPDATE run SET {left} WHERE id = '{run}'")
    return card


class Busy(Runs):
    """The runs of a store that is busy whenever records are asked for by their ids."""

    def get_many(self, run_ids: Iterable[str]) -> Listing:
        raise StoreBusy("the store is busy: another process writes", "try again")


def test_a_locked_record_is_no_absent_record(yard: Yard) -> None:
    """D004: the store says "busy" for the record, so nothing is proved and nothing starts."""
    card = yard.make()
    yard.settled()
    yard.move(card, "ready")
    store = yard.wiring.store
    well, store.runs = store.runs, Busy(store.database, yard.clock, store.root, store.leases)
    yard.tick(3)
    store.runs = well
    assert (yard.reason(card), len(yard.runs())) == ("run_unreadable", 1)


def test_a_young_record_without_a_lock_is_held(yard: Yard, clock: FakeClock) -> None:
    """D008."""
    card = orphaned(yard, clock, 1)
    yard.tick()
    assert (yard.reason(card), yard.run(card).status) == ("run_young", RunStatus.RUNNING)


def test_an_orphan_is_promoted_and_scheduled_in_one_tick_and_resumes_on_the_same_id(
    yard: Yard, clock: FakeClock
) -> None:
    """D009."""
    card = orphaned(yard, clock, 60)
    run = yard.view(card).last_run
    yard.tick()
    assert (yard.run(card).status, yard.run(card).failure_code) == (
        RunStatus.FAILED_RESUMABLE,
        FailureCode.PROCESS_ORPHANED,
    )
    assert yard.ledger().retries[NATIVE, card].code == FailureCode.PROCESS_ORPHANED
    (yard.folder / "ok").touch()
    clock.advance(60)
    yard.settled()
    assert (yard.view(card).last_run, yard.column(card)) == (run, "review")


def test_the_owner_of_a_host_that_is_called_otherwise_now_is_judged_by_its_lock(yard: Yard, clock: FakeClock) -> None:
    """A container that was made again has another name; over a local store its lock still proves everything."""
    card = orphaned(yard, clock, 60)
    run = yard.view(card).last_run
    write(yard, f"UPDATE run SET owner = json_set(owner, '$.host', 'the-container-before') WHERE id = '{run}'")
    named = "instance = 'gone', host = 'the-container-before', pid = 1, start_ticks = 1"
    write(yard, f"UPDATE claim SET state = 'live', {named}")
    lock = RunLock(yard.wiring.store_dir, run)
    assert lock.acquire()
    yard.tick()
    assert yard.run(card).status == RunStatus.RUNNING
    lock.release()
    (yard.folder / "ok").touch()
    yard.tick()
    assert yard.run(card).failure_code == FailureCode.PROCESS_ORPHANED
    clock.advance(60)
    yard.settled()
    assert (yard.view(card).last_run, yard.column(card)) == (run, "review")


def test_an_orphan_without_checkpoint_failed_and_starts_nothing(yard: Yard, clock: FakeClock) -> None:
    """D010."""
    card = orphaned(yard, clock, 60)
    write(yard, f"DELETE FROM checkpoint WHERE run_id = '{yard.view(card).last_run}'")
    yard.tick(5)
    assert (yard.run(card).status, yard.column(card)) == (RunStatus.FAILED, "blocked")
    assert len(yard.runs()) == 1


def test_a_code_of_the_bot_parks_with_code_and_message(yard: Yard) -> None:
    """D023."""
    refuses = 'fail end:\n  code: TOO_DEAR\n  message: "ask the boss"\n  resumable: true\n\n'
    yard.bot(refuses + tool("true").replace("work -> done", "work -> end"))
    card = yard.make()
    yard.settled()
    yard.tick(5)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, "TOO_DEAR" in idle.text, "ask the boss" in idle.text) == ("parked_deliberate", True, True)
    assert (len(yard.runs()), yard.run(card).epoch, yard.column(card)) == (1, 1, "awaiting_input")


def test_a_card_held_for_an_hour_is_written_once(yard: Yard, clock: FakeClock) -> None:
    """D043."""
    card = yard.make(bot="nobody")
    yard.tick()
    since = yard.view(card).idle
    before = changes(yard)
    for _ in range(240):
        clock.advance(15)
        yard.daemon.tick()
    assert changes(yard) == before
    assert yard.view(card).idle == since


def changes(yard: Yard) -> int:
    with yard.wiring.database.write() as connection:
        return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


def test_a_negative_age_is_young_for_two_graces_at_most(yard: Yard, clock: FakeClock) -> None:
    """D089."""
    card = orphaned(yard, clock, -3600)
    yard.again().tick()
    assert yard.reason(card) == "run_young"
    clock.advance(3)
    yard.tick()
    assert yard.run(card).status == RunStatus.RUNNING
    clock.advance(2)
    yard.tick()
    assert yard.run(card).failure_code == FailureCode.PROCESS_ORPHANED


def stuck_claim(yard: Yard, owner_changes: dict[str, object]) -> str:
    card = yard.make()
    owner = replace(owner_here("another"), **owner_changes)  # type: ignore[arg-type]
    with yard.wiring.ledger.write() as connection:
        cards.take(connection, (NATIVE, card), 1, owner, yard.clock.now())
    return card


def test_a_claim_of_a_stuck_owner_is_released_after_two_leases(yard: Yard, clock: FakeClock) -> None:
    """D092: the owner lives (our parent process), never stamped a run, and holds the card for two minutes."""
    from engine.store.owners import start_ticks

    parent = os.getppid()
    card = stuck_claim(yard, {"pid": parent, "start_ticks": start_ticks(parent)})
    yard.tick(3)
    assert (yard.view(card).claim is not None, yard.runs()) == (True, ())
    assert yard.reason(card) == "claimed_elsewhere"
    clock.advance(121)
    yard.settled(2)
    assert yard.column(card) == "review"


def test_a_reused_pid_is_not_its_owner(yard: Yard) -> None:
    """D093: the pid lives, but started at another time."""
    card = stuck_claim(yard, {"pid": os.getppid(), "start_ticks": 1})
    yard.settled(2)
    assert yard.column(card) == "review"


def test_nothing_is_promoted_when_somebody_resumed_it_first(yard: Yard, clock: FakeClock) -> None:
    """D096: under the lock the record is no longer running."""
    card = orphaned(yard, clock, 60)
    run = yard.run(card)
    write(yard, f"UPDATE run SET status = 'paused_operator' WHERE id = '{run.id}'")
    before = yard.run(card)
    yard.wiring.engine.promote(run.id, 2.0)
    assert yard.run(card) == before


def test_a_run_that_starts_while_recovery_scans_is_left_alone(yard: Yard, clock: FakeClock) -> None:
    """D097: claimed in this very millisecond, its lock not taken yet."""
    card = orphaned(yard, clock, 0)
    yard.again().tick(3)
    assert (yard.run(card).status, yard.reason(card)) == (RunStatus.RUNNING, "run_young")


def test_only_one_of_two_reconcilers_promotes(yard: Yard, clock: FakeClock) -> None:
    """D094."""
    card = orphaned(yard, clock, 60)
    run = yard.view(card).last_run
    with_lock = RunLock(yard.wiring.store.root, run)
    assert with_lock.acquire()
    assert yard.wiring.engine.promote(run, 2.0).kind.value == "held"
    with_lock.release()
    first, second = (yard.wiring.engine.promote(run, 2.0).kind.value for _ in range(2))
    assert (first, second) == ("promoted", "not_running")
    orphans = [event for event in yard.wiring.store.timeline.events(run) if "orphan" in event.type]
    assert len(orphans) <= 1


def test_recorded_answers_are_handed_over_unattended(yard: Yard) -> None:
    """R13, D014: a transport recorded valid answers in the paused row; the tick resumes with them, nobody is asked."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    head = yard.wiring.store.checkpoints.head(yard.view(card).last_run)
    assert head is not None
    assert head.pending is not None
    accepted = AnswersAccepted(head.pending.interaction_id, head.pending.node_id, {"ok": True})
    yard.wiring.store.interactions.answer(yard.view(card).last_run, accepted)
    yard.settled(2)
    assert (yard.column(card), len(yard.runs()), yard.run(card).epoch) == ("review", 1, 2)
    assert yard.events(card, EventType.HUMAN_ANSWERS_RECORDED)[-1].data["answers"] == {"ok": True}


def test_a_park_without_a_column_takes_the_first_look_as_its_own(tmp_path: Path, clock: FakeClock) -> None:
    """D105."""
    yard = Yard(tmp_path, clock, CONFIG, ASKS)
    card = yard.make()
    yard.settled()
    write(yard, "UPDATE park SET \"column\" = '', seen = 0")
    yard.tick()
    park = yard.ledger().parks[NATIVE, card]
    assert (park.column, park.seen) == ("awaiting_input", True)
    yard.tick(3)
    assert (NATIVE, card) in yard.ledger().parks
    assert yard.view(card).claim is not None
    claim = yard.view(card).claim
    assert claim is not None
    assert claim.state is ClaimState.PARKED
    yard.close()


def test_the_next_question_after_force_parks_the_same_card_again(yard: Yard) -> None:
    """D109."""
    two = ASKS.replace("  after -> done", "  after -> again\n  again -> done").replace(
        "tool after:", 'human again:\n  instructions: "sure?"\n  output: answer\n\ntool after:'
    )
    yard.bot(two.replace("`true`", f"`[ -e {yard.folder}/ok ]`"))
    card = yard.make()
    yard.settled()
    yard.resume(card, answers={"ok": True})
    yard.tick()
    yard.bot(two.replace("`true`", "`true `"))
    run = yard.view(card).last_run
    yard.resume(card, force=True)
    yard.tick(2)
    idle = yard.view(card).idle
    assert idle is not None
    assert (yard.view(card).last_run, yard.column(card), "again" in idle.text) == (run, "awaiting_input", True)


def test_a_cancel_between_decision_and_claim_is_not_undone_by_the_gesture(yard: Yard) -> None:
    """Section 35, 9: a person moves a failed card in and cancels its run while the start is under way."""
    yard.bot(DETERMINISTIC)
    card = yard.make()
    yard.settled()
    run = yard.view(card).last_run
    cancel = f"{sys.executable} -m dispatcher.cli --store-dir {yard.folder}/store cancel --run-id {run}"
    root = Path(__file__).parents[2]
    hook = f"hooks:\n  before_run: {{script: 'cd {yard.folder} && PYTHONPATH={root} {cancel}'}}\n"
    (yard.folder / "pointsman.yaml").write_text(CONFIG + hook)
    yard.again()
    yard.move(card, "ready")
    yard.tick()
    assert (yard.run(card).status, yard.run(card).epoch) == (RunStatus.CANCELLED, 1)
    (yard.folder / "pointsman.yaml").write_text(CONFIG)
    yard.again().tick(2)
    assert (yard.column(card), yard.run(card).epoch, len(yard.runs())) == ("backlog", 1, 1)


def test_a_person_ran_it_to_the_end_while_no_daemon_was_there(yard: Yard) -> None:
    """D072, acceptance rule 14 of section 35."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    yard.daemon.close()
    yard.resume(card, answers={"ok": True})
    yard.daemon.open()
    yard.tick(pick=False)
    assert yard.column(card) == "review"


def test_a_card_pointed_at_somebody_elses_run_is_settled_by_it(yard: Yard) -> None:
    """Section 6: it is settled like any other, also when its outcome was passed long ago."""
    card = yard.make()
    yard.wiring.engine.launch(LaunchRequest(yard.folder / "bots" / "work.bot", yard.folder, {}, {}, run_id="mine"))
    yard.tick(3, pick=False)
    point(yard.wiring, yard.card(card), "mine")
    yard.tick(3)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
    with pytest.raises(RunUnknown):
        point(yard.wiring, yard.card(card), "nothing")


def test_the_pointer_of_a_living_run_stays(yard: Yard) -> None:
    """Section 29."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    with pytest.raises(Refused, match="is alive"):
        point(yard.wiring, yard.card(card), "")
