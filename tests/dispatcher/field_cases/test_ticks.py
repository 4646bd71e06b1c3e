"""Public field cases of boards and daemons over whole ticks: each test rebuilds a fault that users of comparable tools
reported, and says what must be true afterwards. Real store, board and engine; the clock moves by hand."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from connectors.card import PERSON
from connectors.drafts import CardPatch
from dispatcher.checkup import Patient, check_locks, check_store, store_readable
from dispatcher.findings import Level
from dispatcher.ledger import cards as card_rows
from dispatcher.refusals import Refused, meaning_of
from engine.states import RunStatus
from engine.store.locks import MOUNTS, RunLock
from engine.store.owners import owner_here
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, Yard, tool, waits

NATIVE = "native"
Configured = Callable[..., Yard]


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


@pytest.fixture
def configured(tmp_path: Path, clock: FakeClock) -> Iterator[Configured]:
    made: list[Yard] = []

    def configure(more: str = "", bot: str = "") -> Yard:
        made.append(Yard(tmp_path, clock, CONFIG + more, bot))
        return made[-1]

    yield configure
    (tmp_path / "go").touch()
    for each in made:
        each.close()


def events_of(yard: Yard) -> int:
    with sqlite3.connect(yard.folder / "store" / "pointsman.db") as store:
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return sum(store.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)


def test_f04_work_longer_than_every_configured_time_is_executed_once(
    configured: Configured, tmp_path: Path, clock: FakeClock
) -> None:
    """F04: longer than lease, heartbeat, grace, interval and cap, silent, with a limit of its own."""
    bot = waits(tmp_path).replace("tool work:\n", 'tool work:\n  timeout: "20h"\n', 1)
    yard = configured("", bot)
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    for _ in range(15):
        clock.advance(3600)
        yard.tick(wait=False)
    assert (len(yard.runs()), yard.run(card).epoch) == (1, 1)
    (tmp_path / "go").touch()
    yard.join()
    yard.settled()
    assert (yard.column(card), (tmp_path / "trace").read_text().split()) == ("review", ["x", "y"])


@pytest.mark.parametrize("pid", ["gone", "of another program"])
def test_f05_a_dead_owners_claim_is_dropped_in_the_first_tick(yard: Yard, pid: str) -> None:
    """F05: the process died behind its claim; boot id, pid and start time decide, not the pid alone."""
    card = yard.make()
    dead = {"pid": 2**22 - 1} if pid == "gone" else {"pid": os.getppid(), "start_ticks": 1}
    with yard.wiring.ledger.write() as connection:
        card_rows.take(connection, (NATIVE, card), 1, replace(owner_here("dead"), **dead), yard.clock.now())  # type: ignore[arg-type]
    yard.tick(wait=False)
    claim = yard.view(card).claim
    assert claim is None or claim.epoch == 2
    yard.join()
    yard.settled()
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


def test_f03_a_start_between_record_and_lock_is_young_not_dead(yard: Yard, clock: FakeClock) -> None:
    """F03: a second reconciler looks between the record and the lock."""
    card = yard.make()
    yard.settled()
    run = yard.view(card).last_run
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(
            f"UPDATE run SET status = 'running', claimed_at = '{now}', owner = json_set(owner, '$.pid', 999999, "
            f"'$.instance', 'other') WHERE id = '{run}'"
        )
    yard.move(card, "ready")
    yard.again().tick(3)
    assert (yard.reason(card), yard.run(card).status, len(yard.runs())) == ("run_young", RunStatus.RUNNING, 1)


def test_f08_a_hold_that_cannot_see_says_so_and_ends(yard: Yard, clock: FakeClock) -> None:
    """F08: the lock of a dead owner's run cannot be opened; the hold names it, and it ends when the file is gone."""
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    (yard.folder / "go").touch()
    yard.join()
    run = yard.view(card).last_run
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(
            f"UPDATE run SET status = 'running', owner = json_set(owner, '$.pid', 999999, '$.instance', 'gone') "
            f"WHERE id = '{run}'"
        )
    lock = RunLock(yard.wiring.store.root, run).path
    lock.unlink(missing_ok=True)
    lock.mkdir()
    clock.advance(60)
    yard.again().tick(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert yard.run(card).status == RunStatus.RUNNING
    assert str(lock) in idle.text or lock.name in idle.text, idle
    lock.rmdir()
    clock.advance(60)
    yard.tick(3)
    assert yard.run(card).status != RunStatus.RUNNING


def network(folder: Path, on: Path) -> Path:
    """A table of mounts that says that ``on`` is another host's."""
    table = folder / "mounts"
    table.write_text(f"22 1 254:0 / / rw - ext4 /dev/vda rw\n40 22 0:44 / {on} rw shared:8 - nfs4 host:/team rw\n")
    return table


def test_a_free_lock_on_another_hosts_disk_proves_no_death(yard: Yard, clock: FakeClock) -> None:
    """D101: nothing is promoted, the hold and ``doctor`` say the same sentence; on a local disk the run goes on."""
    card = yard.make()
    yard.settled()
    run = yard.view(card).last_run
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql(
            f"UPDATE run SET status = 'running', owner = json_set(owner, '$.pid', 999999, '$.instance', 'gone') "
            f"WHERE id = '{run}'"
        )
    yard.move(card, "ready")
    clock.advance(3600)
    yard.mounts = network(yard.folder, yard.wiring.store_dir / "runs")
    report = yard.again().tick(5)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, yard.run(card).status, len(yard.runs())) == ("run_unreadable", RunStatus.RUNNING, 1)
    assert report.counts == {"hold": 1}
    doubt = f"{yard.wiring.store_dir / 'runs'} lies on a network file system (nfs4), where locks prove nothing"
    assert doubt in idle.text
    patient = Patient(yard.wiring.settings, yard.wiring.store_dir, yard.wiring.store_url, yard.wiring)
    assert (Level.FAIL, doubt) in [(each.level, each.text) for each in check_locks(patient)]
    yard.mounts = MOUNTS
    yard.again().tick()
    assert (yard.run(card).id, yard.run(card).status) == (run, RunStatus.FAILED_RESUMABLE)


def test_a_store_on_another_hosts_disk_is_opened_only_when_the_configuration_says_so(
    configured: Configured, tmp_path: Path
) -> None:
    """dispatcher.md 31: SQLite there is refused before it is opened, and ``doctor`` says why."""
    yard = configured()
    yard.mounts = network(tmp_path, tmp_path)
    with pytest.raises(Refused, match=r"lies on a network file system \(nfs4\), where locks prove nothing") as refused:
        yard.again()
    assert (meaning_of(refused.value.code).exit_code, "store.allow_network" in refused.value.hint) == (2, True)
    patient = Patient(yard.wiring.settings, yard.wiring.store_dir, yard.wiring.store_url, yard.wiring)
    assert Level.FAIL in [each.level for each in check_store(patient)]
    assert not store_readable(patient)
    (tmp_path / "pointsman.yaml").write_text(CONFIG + "store: {allow_network: true}\n")
    card = yard.again().make()
    yard.settled()
    assert (yard.column(card), yard.wiring.lock_doubt) == ("review", "")


def test_f09_a_breaker_a_park_and_a_wait_outlive_a_new_start(yard: Yard, clock: FakeClock) -> None:
    """F09: nothing in memory decides; each is tried again at the time that its row says."""
    yard.bot(ASKS, "asks")
    yard.bot(tool("[ -e FOLDER/ok ]".replace("FOLDER", str(yard.folder))), "flaky")
    asks, flaky = yard.make(bot="asks"), yard.make(bot="flaky")
    yard.settled()
    due = yard.ledger().retries[NATIVE, flaky].not_before
    before = (yard.reason(asks), yard.reason(flaky))
    (yard.folder / "ok").touch()
    yard.again().tick(3)
    assert (yard.reason(asks), yard.reason(flaky)) == before
    assert yard.ledger().retries[NATIVE, flaky].not_before == due
    clock.advance((due - clock.now()).total_seconds() + 1)
    yard.again().settled()
    assert (yard.column(flaky), yard.column(asks)) == ("review", "awaiting_input")


def test_f13_busy_is_no_alarm(configured: Configured, tmp_path: Path, clock: FakeClock) -> None:
    """F13: one slot, five cards, ten minutes."""
    yard = configured("concurrency: {max: 1}\n")
    yard.bot(waits(tmp_path).replace("tool work:\n", 'tool work:\n  timeout: "1h"\n', 1))
    cards = [yard.make(f"c{n}") for n in range(5)]
    for _ in range(40):
        report = yard.tick(wait=False)
        clock.advance(15)
    assert [yard.reason(card) for card in cards[1:]] == ["no_slot"] * 4
    assert yard.daemon.not_ready() == []
    assert (report.state["degraded"], dict(yard.ledger().breakers)) == ([], {})
    (tmp_path / "go").touch()


def test_f14_a_cap_counts_its_own_and_names_itself(configured: Configured, tmp_path: Path, clock: FakeClock) -> None:
    """F14: two of Ben's run; Ana's cap of two lets two of hers start and counts two."""
    yard = configured("concurrency: {max: 9, by_assignee: {ana: 2}, by_column: {ready: 5}}\n")
    yard.bot(waits(tmp_path))
    for _ in range(2):
        yard.make(assignee="ben")
    anas = [yard.make(assignee="ana") for _ in range(3)]
    yard.tick(wait=False)
    idle = yard.view(anas[2]).idle
    assert idle is not None
    assert [yard.reason(card) for card in anas] == ["", "", "cap_assignee"]
    assert ("ana" in idle.text, "2" in idle.text) == (True, True)
    (tmp_path / "go").touch()


def test_f15_what_dies_before_its_first_sign_of_life_is_counted(yard: Yard, clock: FakeClock) -> None:
    """F15: the first node fails at once, retryably; after the last attempt a hundred ticks start nothing."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    waits_seen = []
    for _ in range(4):
        yard.settled()
        row = yard.ledger().retries.get((NATIVE, card))
        if row is not None:
            waits_seen.append((row.not_before - clock.now()).total_seconds())
        clock.advance(400)
    assert waits_seen == sorted(waits_seen)
    assert len(waits_seen) == 2
    assert (yard.column(card), yard.run(card).epoch) == ("blocked", 3)
    for _ in range(100):
        clock.advance(15)
        yard.daemon.tick()
    yard.join()
    assert (len(yard.runs()), yard.run(card).epoch) == (1, 3)


def test_f16_a_card_that_stays_eligible_is_worked_once_per_gesture(
    configured: Configured, tmp_path: Path, clock: FakeClock
) -> None:
    """F16: no column for what is completed; fifty ticks; a move out and in starts the second run."""
    yard = configured("columns: {completed: null}\n")
    card = yard.make()
    for _ in range(50):
        clock.advance(15)
        yard.tick()
    assert (len(yard.runs()), yard.reason(card)) == (1, "finished_needs_move")
    yard.move(card, "backlog")
    yard.tick()
    yard.move(card, "ready")
    yard.tick(2)
    assert len(yard.runs()) == 2


def test_f18_only_a_gesture_ends_a_park(yard: Yard, clock: FakeClock) -> None:
    """F18: the blocker ends, the priority changes, a scheduled start passes, labels change."""
    blocker = yard.make("first", column="backlog")
    yard.bot(ASKS, "asks")
    card = yard.make(bot="asks")
    yard.settled()
    assert yard.column(card) == "awaiting_input"
    for patch in (
        CardPatch(blockers=(blocker,)),
        CardPatch(priority=9),
        CardPatch(labels=("urgent", "now")),
        CardPatch(not_before="2026-01-01T01:00:00Z"),
    ):
        yard.board.update(card, patch, PERSON)
        yard.tick()
    yard.move(blocker, "done")
    clock.advance(7200)
    yard.tick(5)
    assert (yard.column(card), yard.run(card).epoch, len(yard.runs())) == ("awaiting_input", 1, 1)


def test_f21_reading_changes_nothing(yard: Yard) -> None:
    """F21: every reading verb and an idle tick, twice: no event, no row."""
    yard.bot(ASKS)
    card = yard.make()
    yard.settled()
    yard.tick(2)
    run = yard.view(card).last_run
    reading = (
        ("card", "list"),
        ("card", "show", "1"),
        ("card", "history", "1"),
        ("explain", "1"),
        ("explain",),
        ("board", "show"),
        ("inspect",),
        ("inspect", "--run-id", run),
        ("events", "--run-id", run),
        ("effects", "list"),
    )
    seen = []
    for _ in range(2):
        for verb in reading:
            answer = pointsman(yard.folder, *verb, "--json", "--store-dir", str(yard.folder / "store"))
            assert answer.code in (0, 2), (verb, answer.err)
        yard.tick()
        seen.append((events_of(yard), len([*yard.board.history()]), yard.run(card).event_seq))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("change", "code"),
    [("blocker", "blocked_by"), ("cap", "cap_bot")],
)
def test_f24_a_due_retry_is_only_a_candidate(
    configured: Configured, tmp_path: Path, clock: FakeClock, change: str, code: str
) -> None:
    """F24: while it waited a blocker was added, or the cap of its bot was lowered."""
    yard = configured("", tool("exit 1"))
    card = yard.make()
    yard.settled()
    if change == "blocker":
        blocker = yard.make("first", column="backlog")
        yard.board.update(card, CardPatch(blockers=(blocker,)), PERSON)
    else:
        (tmp_path / "pointsman.yaml").write_text(CONFIG + "concurrency: {by_bot: {work: 0}}\n")
        yard.again()
    clock.advance(60)
    yard.tick(3)
    assert (yard.reason(card), yard.run(card).epoch) == (code, 1)


def test_f28_of_two_movers_one_wins_and_the_other_is_told(yard: Yard) -> None:
    """F28: a hundred rounds of two moves that expect the same; one column, one move in the history each round."""
    yard.make(column="backlog")
    folder, store = yard.folder, str(yard.folder / "store")
    here, there = "backlog", "ready"
    for _ in range(10):
        moves = [("card", "move", "1", "--to", there, "--expect", here, "--store-dir", store) for _ in range(2)]
        codes = sorted(pointsman(folder, *move).code for move in moves)
        assert codes in ([0, 5], [0, 0]), codes
        here, there = there, here
    moved = [event for event in yard.board.history() if event.type == "card_moved"]
    assert len(moved) == 10


def test_f48_a_clock_set_back_makes_nobody_old(yard: Yard, clock: FakeClock) -> None:
    """F48: one hour back between claim and look, then three hours forth with a waiting retry."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    clock.step(-3600)
    yard.tick(3)
    assert yard.run(card).epoch == 1
    clock.step(3600 + 3 * 3600)
    yard.tick(3)
    assert (yard.run(card).epoch, yard.reason(card)) == (1, "retry_wait")
    clock.advance(11)
    yard.settled()
    assert yard.run(card).epoch == 2


def test_f50_what_fell_due_while_the_machine_slept_is_done_once(yard: Yard, clock: FakeClock) -> None:
    """F50: two hours over 480 intervals; scheduled starts and retries fall into the gap."""
    yard.bot(tool("[ -e FOLDER/ok ]".replace("FOLDER", str(yard.folder))))
    retry = yard.make("retry")
    yard.settled()
    starts = [yard.make(f"s{n}", not_before=(clock.now() + timedelta(minutes=10 * n)).isoformat()) for n in range(1, 4)]
    yard.tick()
    assert {yard.reason(card) for card in starts} == {"not_before"}
    (yard.folder / "ok").touch()
    clock.advance(7200)
    yard.settled()
    assert {yard.column(card) for card in (retry, *starts)} == {"review"}
    assert [yard.run(card).epoch for card in (retry, *starts)] == [2, 1, 1, 1]
    assert yard.events(retry, "run_interrupted") == []


def test_f54_two_names_never_share_a_folder(configured: Configured, tmp_path: Path, clock: FakeClock) -> None:
    """F54: titles that reduce to one path, and titles that differ in Unicode form only."""
    yard = configured("", tool("pwd >> FOLDER/where".replace("FOLDER", str(tmp_path))))
    for title in ("A/B-1", "A_B-1", "caf\u00e9", "cafe\u0301"):
        yard.make(title)
    yard.settled(2)
    folders = (tmp_path / "where").read_text().split()
    assert len(set(folders)) == 4
    assert all(Path(each).resolve().parent == (tmp_path / "workspaces").resolve() for each in folders)


def test_f17_giving_up_is_a_stored_gate(yard: Yard, clock: FakeClock) -> None:
    """F17: the attempts are used up; neither time, ticks nor a new start make the card a new one."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    for _ in range(4):
        yard.settled()
        clock.advance(400)
    assert yard.run(card).epoch == 3
    for _ in range(3):
        clock.advance(4000)
        yard.again().tick(5)
    assert (yard.run(card).epoch, len(yard.runs()), yard.column(card)) == (3, 1, "blocked")
