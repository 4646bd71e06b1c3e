"""Leases over each database: one holder, the store's clock, an epoch that fences whoever lost one (engine.md 12.1)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.checkpoint import Head
from engine.errors import LeaseLost, LockHeld, OwnershipLost
from engine.events import EventType, NewEvent
from engine.run import Owner
from engine.runtime.ownership import LeaseKeeper
from engine.states import RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import Transition
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.leases import Leases, run_lease
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.engine import Rig
from tests.kit.postgres import Server
from tests.kit.runs import OWNER, RUNNING, given_up, lapsed, launched, step

OTHER = Owner("instance-2", "other-host", "boot", 12, 34)
BOARD = "board:native"


def address(store: Store) -> str:
    """The address under which another process opens the same database."""
    return store.database.driver.name


def test_a_lease_has_one_holder_and_its_epoch_grows_with_each_fresh_acquisition(store: Store) -> None:
    leases = store.leases
    assert (leases.hold(BOARD, OWNER), leases.hold(BOARD, OTHER)) == (1, 0)
    assert leases.hold(BOARD, OWNER) == 1, "held already: no new epoch"
    assert leases.renew({BOARD: 1}, OWNER) == frozenset()
    assert leases.renew({BOARD: 1}, OTHER) == {BOARD}, "a renewal makes nobody an owner"
    seen = leases.look_at(BOARD)
    assert seen is not None
    assert (seen.epoch, seen.live, seen.left > 55) == (1, True, True)
    leases.release(BOARD, 1, OWNER)
    assert (leases.hold(BOARD, OTHER), leases.hold(BOARD, OWNER)) == (2, 0)
    leases.release(BOARD, 1, OWNER)
    assert leases.hold(BOARD, OWNER) == 0, "who lost a lease cannot give it up"


def test_a_lease_that_ended_is_anybodys_and_cannot_be_renewed(store: Store) -> None:
    leases = store.leases
    leases.hold(BOARD, OWNER)
    lapsed(store, BOARD)
    assert leases.renew({BOARD: 1}, OWNER) == {BOARD}, "a lease that was not renewed in time is lost"
    assert leases.hold(BOARD, OTHER) == 2
    assert leases.renew({BOARD: 1}, OWNER) == {BOARD}


def test_two_that_take_a_new_lease_at_once_have_one_winner(store: Store) -> None:
    got: list[int] = []
    opened = [Database.open(address(store)) for _ in range(2)]
    ready = threading.Barrier(2)

    def take(database: Database, owner: Owner) -> None:
        leases = Leases(database)
        for number in range(20):
            ready.wait()
            got.append(leases.hold(f"board:{number}", owner))

    threads = [threading.Thread(target=take, args=pair) for pair in zip(opened, (OWNER, OTHER), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for database in opened:
        database.close()
    assert sorted(got) == [0] * 20 + [1] * 20


def test_a_run_is_taken_over_once_and_its_old_owner_writes_nothing_more(store: Store) -> None:
    """R406: boundary, event, status and effect of the old owner name its epoch, and change no row."""
    launched(store)
    old = store.boundary("r1", 1)
    old.commit(Head("a"), step("a"))
    store.leases.hold(run_lease("r1"), OWNER)
    with pytest.raises(LockHeld, match="process 4711 of host host"):
        store.leases.take_run("r1", 1, OTHER)
    lapsed(store, run_lease("r1"))
    assert store.leases.take_run("r1", 1, OTHER) == 2
    lapsed(store, run_lease("r1"))
    assert store.leases.take_run("r1", 1, OTHER) == 0, "it is not the run that was seen"
    before = store.runs.get("r1")
    assert (before.epoch, before.owner) == (2, OTHER)
    with pytest.raises(OwnershipLost):
        old.commit(Head("b"), step("b"))
    assert not old.finish(Transition(RunStatus.FAILED_RESUMABLE, RUNNING))
    assert not store.runs.note("r1", NewEvent(EventType.NODE_RECOVERY), 1)
    assert store.runs.get("r1") == before
    assert [each.row.node_id for each in store.checkpoints.outputs("r1")] == ["a"]


def test_of_two_takers_one_wins(store: Store) -> None:
    """D094: both saw the same orphan; compare-and-set on its epoch lets one of them have it."""
    for number in range(10):
        launched(store, f"r{number}")
        given_up(store, f"r{number}")
    answers: list[int] = []
    opened = [Database.open(address(store)) for _ in range(2)]
    ready = threading.Barrier(2)

    def take(database: Database, owner: Owner) -> None:
        leases = Leases(database)
        for number in range(10):
            ready.wait()
            try:
                answers.append(leases.take_run(f"r{number}", 1, owner))
            except LockHeld:
                answers.append(0)

    threads = [threading.Thread(target=take, args=pair) for pair in zip(opened, (OWNER, OTHER), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for database in opened:
        database.close()
    assert sorted(answers) == [0] * 10 + [2] * 10


def test_a_renewal_beside_a_release_is_no_loss(store: Store) -> None:
    """D085: 1,000 times given up while its renewal may be under way; nobody is told of a loss."""
    keeper = LeaseKeeper(Leases(store.database, 60.0, 0.0005), OWNER)
    lost: list[str] = []
    rounds = 1000 if store.leases.used else 100
    for _ in range(rounds):
        epoch = keeper.leases.hold(BOARD, OWNER)
        keeper.keep(BOARD, epoch, lost.append)
        keeper.drop(BOARD)
    assert (lost, keeper.held()) == ([], {})
    assert keeper.leases.hold(BOARD, OTHER) == rounds + 1


def test_who_holds_a_lease_is_told_once_that_it_was_lost(store: Store) -> None:
    keeper = LeaseKeeper(Leases(store.database, 60.0, 0.01), OWNER)
    lost: list[str] = []
    told = threading.Event()

    def hear(resource: str) -> None:
        lost.append(resource)
        told.set()

    keeper.keep(BOARD, keeper.leases.hold(BOARD, OWNER), hear)
    lapsed(store, BOARD)
    assert told.wait(30)
    assert (lost, keeper.held()) == ([BOARD], {})
    keeper.drop(BOARD)


def test_a_store_that_takes_no_renewal_for_a_whole_lease_costs_it(store: Store) -> None:
    """Nobody needs to take it: what was not renewed in time counts as lost before anything else is written."""
    keeper = LeaseKeeper(Leases(store.database, 0.05, 30.0), OWNER)
    lost = threading.Event()
    keeper.keep(BOARD, keeper.leases.hold(BOARD, OWNER), lambda _resource: lost.set())
    looking = threading.Event()
    for _ in range(3000):
        if not keeper.held():
            break
        looking.wait(0.01)
    assert keeper.held() == {}
    assert lost.is_set()


@pytest.fixture
def two(postgres: Server, tmp_path: Path) -> Iterator[Callable[[float], Rig]]:
    """Hosts of one database, each with a folder and a clock of its own: ``two(+90)`` is ahead."""
    url = postgres.fresh()
    opened: list[Database] = []

    def host(ahead: float) -> Rig:
        folder = tmp_path / f"host{len(opened)}"
        folder.mkdir()
        clock = FakeClock()
        clock.advance(1000 + ahead)
        opened.append(Database.open(url))
        return Rig(Store(opened[-1], clock, folder / ".pointsman"), clock, folder, force_stale_after=0.0)

    yield host
    for database in opened:
        database.close()


ONE = "tool a:\n  command: `echo a >> trace`\nworkflow w:\n  entry: a\n  a -> done\n"


@pytest.mark.parametrize("ahead", [90.0, -90.0])
def test_the_stores_clock_says_whether_a_lease_has_ended(two: Callable[[float], Rig], ahead: float) -> None:
    """R407, D091: a host whose clock is 90 s ahead takes nothing before its time, one that is behind takes it all the
    same; the epoch is another each time."""
    first, second = two(0.0), two(ahead)
    launched(first.store, file_path=str(second.bot(ONE)), workspace=str(second.workspace), digest="")
    for clock in (first.clock, second.clock):
        clock.advance(10_000)  # type: ignore[attr-defined]
    for host in (first, second):
        assert host.engine.promote("r1", 120.0).kind == "held"
    with pytest.raises(LockHeld, match="its lease ends in"):
        second.resume(force_stale=True)
    lapsed(first.store, run_lease("r1"))
    assert second.engine.promote("r1", 120.0).kind == "promoted"
    assert first.engine.promote("r1", 120.0).kind == "not_running"
    record = first.store.runs.get("r1")
    assert (record.status, record.failure_code, record.epoch) == ("failed_resumable", "PROCESS_ORPHANED", 2)
    assert len(first.events("run_failed")) == 1
    head = second.store.checkpoints.head("r1")
    assert head is not None


def test_a_cancelled_run_is_not_resumed_before_its_owner_elsewhere_has_stopped(two: Callable[[float], Rig]) -> None:
    """Its lock cannot be seen from here; its lease can."""
    first, second = two(0.0), two(0.0)
    launched(first.store)
    second.engine.cancel("r1", "enough")
    with pytest.raises(LockHeld, match="process 4711"):
        second.store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, OTHER)
    assert second.store.runs.get("r1").status == RunStatus.CANCELLED
    with pytest.raises(LockHeld):
        second.engine.delete("r1")
    given_up(first.store)
    assert second.store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, OTHER) is not None


def test_a_silent_node_keeps_its_lease_and_a_normal_end_gives_it_up(
    two: Callable[[float], Rig], postgres: Server, tmp_path: Path
) -> None:
    """D087: the run is silent for five leases; nobody may have it meanwhile. Then its lease is gone at once."""
    second = two(0.0)
    with Database.open(address(second.store)) as database:
        clock = FakeClock()
        folder = tmp_path / "silent"
        folder.mkdir()
        first = Rig(Store(database, clock, folder / ".pointsman", Leases(database, 0.6, 0.1)), clock, folder)
        command = "echo s >> started; until test -e go; do sleep 0.01; done"
        text = ONE.replace("echo a >> trace", command)
        working = threading.Thread(target=lambda: first.run(text))
        working.start()
        seen = threading.Event()
        while not (first.workspace / "started").exists():
            seen.wait(0.02)
        before = first.engine.leases.renewals
        while first.engine.leases.renewals < before + 30:
            seen.wait(0.05)
            assert second.engine.promote("r1", -1.0).kind == "held"
        first.write("go")
        working.join()
    record = second.store.runs.get("r1")
    assert (record.status, record.epoch) == (RunStatus.FINISHED, 1)
    assert second.store.leases.look_at(run_lease("r1")) is None


def test_every_write_of_a_fenced_thread_is_refused_once_its_lease_is_anothers(store: Store) -> None:
    """Whoever writes: board, ledger, engine; other threads, and reads, are not concerned."""
    launched(store)
    epoch = store.leases.hold(BOARD, OWNER)

    def check(cursor: Cursor) -> None:
        if store.leases.still(cursor, {BOARD: epoch}, OWNER):
            raise LeaseLost("it is another's")

    with store.database.fenced(check):
        assert store.runs.note("r1", NewEvent(EventType.NODE_RECOVERY))
        lapsed(store, BOARD)
        before = store.runs.get("r1")
        for attempt in (
            lambda: store.runs.note("r1", NewEvent(EventType.NODE_RECOVERY)),
            lambda: store.runs.transition("r1", Transition(RunStatus.FINISHED, RUNNING)),
            lambda: given_up(store),
        ):
            with pytest.raises(LeaseLost):
                attempt()
        with pytest.raises(LeaseLost), store.database.write():
            raise AssertionError("unreachable")
        beside = threading.Thread(target=lambda: store.leases.hold("board:other", OWNER))
        beside.start()
        beside.join()
        assert store.runs.get("r1") == before
    assert store.leases.look_at("board:other") is not None
    assert store.runs.transition("r1", Transition(RunStatus.FINISHED, RUNNING))
