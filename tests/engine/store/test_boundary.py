"""The boundary commit: one per step, of constant size, riding on when it is refused, atomic under SIGKILL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.checkpoint import ArtifactVersion, BranchRow, Head, OutputRow
from engine.errors import OwnershipLost, RunDeleted, StoreBusy, StoreFull
from engine.failures import FailureCode
from engine.states import RESUMABLE_WITHOUT_ANSWERS, RunStatus
from engine.store.changes import StopKind, Transition, Written
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.runs import OWNER, RUNNING, ended, launched, open_store, python, step


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """What the writer's connection executes meanwhile."""
    seen: list[str] = []
    with store.database.exclusive() as raw:
        raw.set_trace_callback(seen.append)
    yield seen
    with store.database.exclusive() as raw:
        raw.set_trace_callback(None)


@contextmanager
def full(store: Store) -> Iterator[None]:
    """The store takes no more pages meanwhile."""
    with store.database.exclusive() as raw:
        raw.execute(f"PRAGMA max_page_count={raw.execute('PRAGMA page_count').fetchone()[0]}")
    yield
    with store.database.exclusive() as raw:
        raw.execute("PRAGMA max_page_count=1000000")


def large(node: str) -> Written:
    return step(node, {"text": "x" * 100_000})


@pytest.mark.sqlite
def test_a_step_is_exactly_one_commit(store: Store) -> None:
    launched(store)
    writer = store.boundary("r1", 1)
    with statements(store) as seen:
        for number in range(10):
            written = replace(
                step(f"n{number}"),
                artifacts=(ArtifactVersion("report", f"n{number}", 0, {"a": 1}),),
                branches=(BranchRow("router", "b1", "n"),),
                spend=(("r1", float(number)),),
            )
            assert writer.commit(Head(f"n{number}", completed=True), written).stored
    assert (seen.count("BEGIN IMMEDIATE"), seen.count("COMMIT")) == (10, 10)


@pytest.mark.sqlite
def test_a_run_of_n_nodes_needs_n_plus_one_commits(store: Store) -> None:
    with statements(store) as seen:
        launched(store)
        writer = store.boundary("r1", 1)
        for node in ("a", "b"):
            writer.commit(Head(node, completed=True), step(node))
        last = Transition(RunStatus.FINISHED, RUNNING, head=Head("c", completed=True), written=step("c"))
        assert writer.finish(last)
    assert seen.count("COMMIT") == 4
    assert store.runs.get("r1").status == RunStatus.FINISHED


def test_a_boundary_leaves_the_status_and_replaces_the_head(store: Store) -> None:
    """R368"""
    launched(store)
    writer = store.boundary("r1", 1)
    for count in (1, 2):
        head = Head("a", completed=True, loop_counters={"again": count}, selected_incoming={"a": (0, 2)})
        writer.commit(head, step("a", {"count": count}))
    record = store.runs.get("r1")
    assert (record.status, record.cost_usd_total, record.event_seq) == (RunStatus.RUNNING, 0.5, 5)
    assert store.checkpoints.head("r1") == head
    assert [stored.row.output for stored in store.checkpoints.outputs("r1")] == [{"count": 2}]
    assert [stored.row.output for stored in store.checkpoints.history("r1", "a")] == [{"count": 1}, {"count": 2}]


def test_a_boundary_tells_its_owner_what_was_asked_of_it(store: Store) -> None:
    launched(store)
    store.runs.request_stop("r1", StopKind.PAUSE, "lunch")
    answer = store.boundary("r1", 1).commit(Head("a", completed=True), step("a"))
    assert answer.stop is not None
    assert (answer.stop.request, answer.stop.reason, answer.stop.status) == ("pause", "lunch", RunStatus.RUNNING)


def test_the_head_of_a_cancelled_run_is_still_saved_by_its_owner(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.CANCELLED, error="person")
    answer = store.boundary("r1", 1).commit(Head("b"))
    assert answer.stop is not None
    assert answer.stop.status == RunStatus.CANCELLED
    assert store.checkpoints.head("r1") == Head("b")


def test_a_write_of_an_owner_whose_epoch_has_passed_changes_no_row(store: Store) -> None:
    """R406 in part"""
    launched(store)
    old = store.boundary("r1", 1)
    ended(store, "r1", RunStatus.FAILED_RESUMABLE, failure_code=FailureCode.PROCESS_ORPHANED)
    claim = store.runs.claim("r1", RESUMABLE_WITHOUT_ANSWERS, OWNER)
    assert claim is not None
    before = (store.runs.get("r1"), store.checkpoints.head("r1"), list(store.timeline.events("r1")))
    with pytest.raises(OwnershipLost):
        old.commit(Head("late", completed=True), step("late"))
    assert not old.finish(Transition(RunStatus.FINISHED, RUNNING))
    assert (store.runs.get("r1"), store.checkpoints.head("r1"), list(store.timeline.events("r1"))) == before


def test_a_deleted_run_takes_no_boundary(store: Store) -> None:
    launched(store)
    ended(store, "r1", RunStatus.FINISHED)
    store.runs.delete("r1")
    with pytest.raises(RunDeleted):
        store.boundary("r1", 1).commit(Head("a"))


@pytest.mark.sqlite
def test_a_boundary_refused_once_rides_with_the_next(
    store: Store, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """R172"""
    launched(store)
    writer = store.boundary("r1", 1)
    when = clock.now()
    with full(store):
        assert not writer.commit(Head("a", completed=True), large("a")).stored
    assert writer.owes
    assert "run.boundary_refused" in caplog.text
    assert store.checkpoints.head("r1") == Head("entry")
    clock.advance(5)
    with statements(store) as seen:
        assert writer.commit(Head("b", completed=True), step("b")).stored
    assert seen.count("COMMIT") == 1
    assert not writer.owes
    assert [stored.row.node_id for stored in store.checkpoints.outputs("r1")] == ["a", "b"]
    events = list(store.timeline.events("r1"))
    assert [(event.seq, event.node_id) for event in events] == [(1, ""), (2, "a"), (3, "a"), (4, "b"), (5, "b")]
    assert (events[1].time, events[3].time) == (when, clock.now())


@pytest.mark.sqlite
def test_a_boundary_refused_twice_stops_the_run_and_nothing_stored_is_lost(store: Store) -> None:
    """R476: a full disk is a clear error; with space again the run goes on from its last good head."""
    launched(store)
    writer = store.boundary("r1", 1)
    writer.commit(Head("a", completed=True), step("a"))
    with full(store):
        assert not writer.commit(Head("b", completed=True), large("b")).stored
        with pytest.raises(StoreFull, match="full"):
            writer.commit(Head("c", completed=True), large("c"))
        failed = Transition(RunStatus.FAILED_RESUMABLE, RUNNING, error="disk full", head=Head("c"))
        with pytest.raises(StoreFull):
            writer.finish(failed)
        assert store.runs.get("r1").status == RunStatus.RUNNING
    assert store.checkpoints.head("r1") == Head("a", completed=True)
    assert writer.finish(failed)
    assert [stored.row.node_id for stored in store.checkpoints.outputs("r1")] == ["a", "b", "c"]
    assert not writer.owes


def test_a_store_that_stays_busy_refuses_a_boundary_in_the_same_way(tmp_path: Path, clock: FakeClock) -> None:
    store, other = (open_store(tmp_path, clock, busy_timeout=wait) for wait in (0.02, 1.0))
    launched(store)
    writer = store.boundary("r1", 1)
    with other.database.write():
        assert not writer.commit(Head("a", completed=True), step("a")).stored
        with pytest.raises(StoreBusy):
            writer.commit(Head("b", completed=True), step("b"))
    assert writer.commit(Head("c", completed=True), step("c")).stored
    assert [event.seq for event in store.timeline.events("r1")] == list(range(1, 8))
    for one in (store, other):
        one.database.close()


@pytest.mark.sqlite
def test_the_size_of_a_boundary_does_not_depend_on_how_many_nodes_ran(store: Store) -> None:
    """R419: a loop of 5,000 small nodes."""
    launched(store)
    writer = store.boundary("r1", 1)
    log = store.root / "pointsman.db-wal"

    def written(first: int, count: int) -> float:
        with store.database.exclusive() as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raw.execute("PRAGMA wal_autocheckpoint=0")
        for number in range(first, first + count):
            writer.commit(Head("n", completed=True, loop_counters={"l": number}), step("n", {"number": number}))
        return log.stat().st_size / count

    with store.database.exclusive() as raw:
        raw.execute("PRAGMA synchronous=OFF")
    early = written(100, 100)
    written(200, 4700)
    late = written(4900, 100)
    assert late <= early * 1.25
    assert early <= 25 * 1024


def test_values_that_are_no_json_are_refused_and_nothing_is_written(store: Store) -> None:
    launched(store)
    with pytest.raises(ValueError, match="JSON"):
        store.boundary("r1", 1).commit(Head("a"), Written(outputs=(OutputRow("a", {"x": float("inf")}),)))
    assert store.checkpoints.head("r1") == Head("entry")
    assert store.boundary("r1", 1).commit(Head("a"), step("a")).stored


def test_branches_and_artifacts_come_back_as_they_were_written(store: Store) -> None:
    launched(store)
    writer = store.boundary("r1", 1)
    rows = Written(
        artifacts=(ArtifactVersion("report", "a", 0, {"v": 0}), ArtifactVersion("report", "a", 1, {"v": 1}, ("x",))),
        branches=(BranchRow("router/0", "b2", "n2"), BranchRow("router/0", "b1", "n1", True, state={"cost": 1.0})),
    )
    writer.commit(Head("router"), rows)
    writer.commit(Head("router"), Written(branches=(BranchRow("router/0", "b2", "join", True, done=True),)))
    assert [
        (branch.branch_id, branch.node_id, branch.done) for branch in store.checkpoints.branches("r1", "router/0")
    ] == [
        ("b1", "n1", False),
        ("b2", "join", True),
    ]
    assert store.artifacts.versions("r1") == rows.artifacts
    assert store.artifacts.latest("r1") == {"report": rows.artifacts[1]}


def test_spend_is_the_largest_seen_per_day_and_counts_only_what_the_day_added(store: Store, clock: FakeClock) -> None:
    launched(store)
    writer = store.boundary("r1", 1)
    for cost in (2.0, 3.0, 1.0):
        writer.commit(Head("a"), Written(spend=(("r1", cost),)))
    first = clock.now().date()
    clock.advance(24 * 3600)
    writer.commit(Head("a"), Written(spend=(("r1", 3.5), ("r1/b", 1.0))))
    assert (store.spend.on(first), store.spend.on(clock.now().date())) == (3.0, 1.5)


def test_a_failure_written_while_the_process_is_killed_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """R369, R481: 100 rounds of SIGKILL at random moments leave a sound store that agrees with itself."""
    script = Path(__file__).with_name("killed_rounds.py").read_text()
    output, errors = python(script, str(tmp_path), "100").communicate(timeout=110)
    assert errors == ""
    found = json.loads(output)
    assert found["faults"] == []
    assert found["acknowledged"] > 100
