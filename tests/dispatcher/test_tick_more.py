"""Ticks: capacity, blockers, moves by people, orphans, stops, breakers of starts (dispatcher.md 7, 10, 13 to 22)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.card import Mover, MoverKind
from dispatcher.ledger import daemon_rows
from dispatcher.ledger.records import DesiredState
from dispatcher.station import INTERRUPT_EXTERNAL_MOVE
from engine.failures import FailureCode
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, Yard, tool, waits


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def other(tmp_path: Path, clock: FakeClock, more: str) -> Yard:
    return Yard(tmp_path, clock, CONFIG + more)


def test_cards_beyond_the_slots_say_so_without_alarm(tmp_path: Path, clock: FakeClock) -> None:
    """D042."""
    yard = other(tmp_path, clock, "concurrency: {max: 1}\n")
    yard.bot(waits(yard.folder))
    cards = [yard.make(f"c{n}") for n in range(5)]
    yard.tick(5, wait=False)
    since = {yard.view(card).idle.since for card in cards[1:]}  # type: ignore[union-attr]
    clock.advance(60)
    yard.tick(5, wait=False)
    assert [yard.reason(card) for card in cards[1:]] == ["no_slot"] * 4
    assert {yard.view(card).idle.since for card in cards[1:]} == since  # type: ignore[union-attr]
    (yard.folder / "go").touch()
    yard.close()


def test_a_cap_counts_only_what_it_governs(tmp_path: Path, clock: FakeClock) -> None:
    """D147, D149."""
    yard = other(tmp_path, clock, "concurrency: {max: 9, by_assignee: {ann: 2}, by_bot: {slow: 1}}\n")
    yard.bot(waits(yard.folder))
    yard.bot(waits(yard.folder), "slow")
    bens = [yard.make(assignee="ben") for _ in range(2)]
    anns = [yard.make(assignee="ann") for _ in range(3)]
    slow = [yard.make(bot="slow") for _ in range(2)]
    yard.tick(wait=False)
    assert [yard.reason(card) for card in anns] == ["", "", "cap_assignee"]
    assert [yard.reason(card) for card in slow] == ["", "cap_bot"]
    assert [yard.reason(card) for card in bens] == ["", ""]
    (yard.folder / "go").touch()
    yard.close()


def test_a_full_column_stops_pick_up_until_a_card_leaves(tmp_path: Path, clock: FakeClock) -> None:
    """D148."""
    yard = other(tmp_path, clock, "concurrency: {wip: {review: 1}}\n")
    held, ready = yard.make(column="review"), yard.make()
    yard.tick(3)
    assert yard.reason(ready) == "wip_full"
    yard.move(held, "done")
    yard.tick()
    assert yard.view(ready).last_run


def test_higher_priority_starts_first(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 17."""
    yard = other(tmp_path, clock, "concurrency: {max: 1}\n")
    low, high = yard.make(priority=1), yard.make(priority=9)
    yard.tick()
    assert (yard.view(low).last_run, bool(yard.view(high).last_run)) == ("", True)
    yard.close()


def test_a_card_waits_for_its_blockers_and_waiting_deps_opens_by_itself(yard: Yard) -> None:
    """D108, D162, D165."""
    first = yard.make("first", column="backlog")
    second = yard.make("second", blockers=(first,))
    third = yard.make("third", column="waiting_deps", blockers=(first,))
    yard.tick(2)
    idle = yard.view(second).idle
    assert idle is not None
    assert (idle.code, "#1 in backlog" in idle.text) == ("blocked_by", True)
    yard.move(first, "review")
    yard.tick(2)
    assert (yard.reason(second), yard.column(third)) == ("blocked_by", "waiting_deps")
    yard.move(first, "done")
    yard.settled(2)
    assert (yard.column(second), yard.column(third)) == ("review", "review")


def test_a_card_taken_away_is_interrupted_and_stays_where_it_was_put(yard: Yard) -> None:
    """D131, R226."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.move(card, "backlog")
    yard.tick()
    yard.tick(2)
    run = yard.run(card)
    assert (run.status, run.failure_code) == (RunStatus.FAILED_RESUMABLE, FailureCode.INTERRUPTED)
    interrupted = yard.events(card, "run_interrupted")
    assert [event.data["reason"] for event in interrupted] == [INTERRUPT_EXTERNAL_MOVE]
    assert (yard.column(card), yard.view(card).claim) == ("backlog", None)
    assert not yard.ledger().retries
    assert yard.ledger().links == {}


def test_a_card_moved_within_the_eligible_columns_goes_on(yard: Yard) -> None:
    """D132."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.move(card, "ready")
    yard.tick(3, wait=False)
    assert (yard.column(card), yard.reason(card)) == ("ready", "run_alive")
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(3)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


def test_a_card_that_its_own_bot_moved_is_left_there(yard: Yard) -> None:
    """D133."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.move(card, "done", Mover(MoverKind.BOT, "", yard.view(card).last_run))
    yard.tick(2, wait=False)
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(2)
    assert (yard.column(card), yard.run(card).status) == ("done", RunStatus.FINISHED)


def test_a_settling_after_a_persons_move_moves_nothing(yard: Yard) -> None:
    """D073."""
    cards = [yard.make(), yard.make()]
    yard.tick()
    yard.move(cards[0], "backlog")
    yard.move(cards[1], "ready")
    first = yard.view(cards[1]).last_run
    yard.settled()
    yard.tick(pick=False)
    assert yard.column(cards[0]) == "backlog"
    assert yard.view(cards[1]).last_run != first


def test_a_silent_run_is_interrupted_as_a_stall_and_waits_by_the_ladder(tmp_path: Path, clock: FakeClock) -> None:
    """D121, D125, R304."""
    yard = other(tmp_path, clock, "").again()
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    clock.advance(700)
    yard.tick()
    yard.tick(pick=False)
    assert [event.data["reason"] for event in yard.events(card, "run_interrupted")] == ["stall"]
    row = yard.ledger().retries["native", card]
    assert (row.attempt, row.ladder, (row.not_before - clock.now()).total_seconds()) == (2, "ladder", 10.0)
    yard.close()


def test_a_node_with_its_own_limit_never_stalls(yard: Yard, clock: FakeClock) -> None:
    """D126."""
    yard.bot(waits(yard.folder).replace("tool work:\n", 'tool work:\n  timeout: "1h"\n', 1))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    clock.advance(700)
    yard.tick(2, wait=False)
    assert yard.events(card, "run_interrupted") == []


def test_paused_starts_nothing_and_survives_a_new_start(yard: Yard, clock: FakeClock) -> None:
    """D183."""
    with yard.wiring.ledger.write() as connection:
        daemon_rows.want(connection, DesiredState("paused", "ann", clock.now()))
    card = yard.make()
    yard.again().tick(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, "ann" in idle.text) == ("daemon_paused", True)
    yard.daemon.desire("running", "ann")
    yard.settled()
    assert yard.column(card) == "review"


def test_draining_ends_what_exists_and_starts_nothing_fresh(yard: Yard, clock: FakeClock) -> None:
    """D184."""
    yard.bot(tool(f"[ -e {yard.folder}/ok ]"))
    retrying = yard.make()
    yard.settled()
    yard.daemon.desire("draining", "ann")
    fresh = yard.make()
    (yard.folder / "ok").touch()
    clock.advance(60)
    yard.settled()
    report = yard.tick()
    assert (yard.column(retrying), yard.reason(fresh)) == ("review", "daemon_draining")
    assert report.state["drained"] is True


def test_a_workspace_is_one_per_card_and_hooks_run_around_every_attempt(tmp_path: Path, clock: FakeClock) -> None:
    """D177, D178."""
    hooks = (
        f"hooks:\n  after_create: {{script: 'echo c >> {tmp_path}/log; env > {tmp_path}/env'}}\n"
        f"  before_run: {{script: 'echo b >> {tmp_path}/log'}}\n  after_run: {{script: 'echo a >> {tmp_path}/log'}}\n"
    )
    yard = Yard(
        tmp_path, clock, CONFIG + hooks, tool(f"pwd >> {tmp_path}/where; [ -e {tmp_path}/ok ]"), SECRET_TOKEN="s"
    )
    card = yard.make()
    yard.settled()
    (tmp_path / "ok").touch()
    clock.advance(60)
    yard.settled()
    yard.move(card, "ready")
    yard.settled()
    assert (tmp_path / "log").read_text().split() == ["c", "b", "a", "b", "a", "b", "a"]
    assert len(set((tmp_path / "where").read_text().split())) == 1
    given = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    assert "SECRET_TOKEN" not in given
    assert given["POINTSMAN_CARD_ID"] == card
    assert (given["POINTSMAN_ATTEMPT"], given["POINTSMAN_CARD_NUMBER"]) == ("1", "1")
    yard.close()


def test_a_failing_hook_is_a_launch_failure_with_its_name(tmp_path: Path, clock: FakeClock) -> None:
    """D175: the pointer goes back, the attempt counts, the card waits; used up, it gives up."""
    yard = other(tmp_path, clock, "hooks: {before_run: {script: 'exit 3'}}\n")
    card = yard.make()
    yard.tick(2)
    assert (yard.view(card).last_run, yard.reason(card), yard.runs()) == ("", "retry_wait", ())
    assert yard.ledger().retries["native", card].code == "hook_before_run"
    for _ in range(4):
        clock.advance(400)
        yard.tick()
    yard.tick(5)
    assert (yard.column(card), yard.view(card).claim, yard.runs()) == ("blocked", None, ())
    yard.move(card, "ready")
    yard.tick(2)
    assert yard.ledger().links["native", card].attempts == 1
    yard.close()


def test_a_failing_after_run_changes_nothing(tmp_path: Path, clock: FakeClock) -> None:
    """D176."""
    yard = other(tmp_path, clock, "hooks: {after_run: {script: 'exit 1'}}\n")
    card = yard.make()
    yard.settled()
    assert yard.column(card) == "review"
    yard.close()


def test_an_endless_hook_is_killed_with_its_children(tmp_path: Path, clock: FakeClock) -> None:
    """D175, with a clock that runs: see the command line tests for the limit itself."""
    late = tmp_path / "late"
    yard = other(
        tmp_path, clock, f"hooks: {{before_run: {{script: '(sleep 5; touch {late}) & exit 1', timeout: 1s}}}}\n"
    )
    card = yard.make()
    yard.tick(2)
    assert yard.reason(card) == "retry_wait"
    yard.close()


def test_cleaning_keeps_unsaved_work_and_removes_the_rest(tmp_path: Path, clock: FakeClock) -> None:
    """D172."""
    more = "columns: {completed: done}\nworkspace: {root: workspaces, persist: cleanup_on_done}\n"
    yard = other(tmp_path, clock, more)
    yard.bot(tool("git init -q . && touch file"), "dirty")
    clean, dirty = yard.make(), yard.make(bot="dirty")
    yard.settled()
    assert (yard.column(clean), yard.column(dirty)) == ("done", "done")
    assert not Path(yard.run(clean).workspace).exists()
    assert (Path(yard.run(dirty).workspace) / "file").exists()
    yard.close()


def test_a_workspace_goes_when_a_person_moves_its_card_to_done(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 21: level-triggered. What is unsaved stays, what waits for a retry or a person is left alone."""
    yard = other(tmp_path, clock, "workspace: {root: workspaces, persist: cleanup_on_done}\n")
    yard.bot(tool("git init -q . && touch file"), "dirty")
    yard.bot(ASKS, "asks")
    clean, dirty, waiting, asking = yard.make(), yard.make(bot="dirty"), yard.make(), yard.make(bot="asks")
    yard.settled()
    rooms = {card: Path(yard.run(card).workspace) for card in (clean, dirty, waiting, asking)}
    for card in (clean, dirty):
        yard.move(card, "done")
    yard.tick()
    assert [each.is_dir() for each in rooms.values()] == [True] * 4, "looked for once a minute"
    clock.advance(61)
    yard.tick(2)
    assert [each.is_dir() for each in rooms.values()] == [False, True, True, True]
    yard.move(waiting, "blocked")
    clock.advance(61)
    yard.tick()
    assert rooms[waiting].is_dir()
    shutil.rmtree(rooms[dirty] / ".git")
    clock.advance(61)
    yard.tick()
    assert rooms[dirty].is_dir(), "asked once for each place of the card"
    yard.again().tick()
    assert not rooms[dirty].is_dir()
    yard.close()


def test_a_dry_run_decides_and_writes_nothing(yard: Yard) -> None:
    """D195."""
    card = yard.make()
    yard.bot(ASKS, "asks")
    asking = yard.make(bot="asks")
    yard.tick()
    third = yard.make()
    before = yard.ledger(), yard.runs(), yard.column(card), yard.column(asking)
    report = yard.tick(dry=True)
    actions = {(each.key[1], each.decision.action.value) for each in report.decided}
    assert {(card, "settle"), (asking, "settle"), (third, "fresh")} <= actions
    assert (yard.ledger(), yard.runs(), yard.column(card), yard.column(asking)) == before


def test_a_card_of_its_own_bot_that_does_not_exist_names_it(yard: Yard) -> None:
    """D166, D040."""
    card = yard.make(bot="no-such-bot")
    yard.tick(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, "no-such-bot" in idle.text, yard.view(card).claim) == ("bot_unknown", True, None)


def test_a_bot_with_an_error_names_file_and_line(yard: Yard) -> None:
    """D041."""
    yard.bot("tool work:\n  command: `true`\n\nworkflow w:\n  entry: nowhere\n  work -> done\n")
    card = yard.make()
    yard.tick(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, "work.bot:" in idle.text, yard.runs()) == ("bot_invalid", True, ())


def test_a_bot_without_vars_runs_on_a_board_that_has_some(yard: Yard) -> None:
    """dispatcher.md 20: names that a bot does not declare are left out with a warning, also when it declares none."""
    yard.bot("tool work:\n  command: `true`\n\nworkflow bare:\n  entry: work\n  work -> done\n", "bare")
    card = yard.make(bot="bare", bot_args={"other": "x"})
    yard.settled()
    assert yard.column(card) == "review"


def test_one_cards_fault_is_that_cards_alone(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """D191."""
    bad, good = yard.make(bot_args={"title": "x"}), yard.make()
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql("UPDATE board_card SET labels = '{broken' WHERE id = ?", (bad,))
    yard.settled()
    assert yard.column(good) == "review"
