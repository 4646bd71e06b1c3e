"""Rows of remote calls: written before, settled once, found again by what they were (engine.md 5.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.checkpoint import Head
from engine.errors import EffectUnknown, OwnershipLost
from engine.events import EventType, NewEvent
from engine.run import EFFECT_NEXT, EffectRecord, EffectState, SettledBy
from engine.states import RunStatus
from engine.store.effects import CallKey, Settling
from engine.store.rewinds import Rewinding
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.runs import ended, launched

KEY = CallKey("r1", "post", "", "2", "f1")


def row(clock: FakeClock, effect_id: str = "e1", **values: Any) -> EffectRecord:
    """A row of the call of ``KEY`` as it is before the bytes leave."""
    plain = EffectRecord(
        id=effect_id,
        run_id="r1",
        node_id="post",
        branch_path="",
        iteration_path="2",
        attempt=1,
        connection="web",
        operation="fake.issue.comment",
        fingerprint="f1",
        marker="<!-- m -->",
        state=EffectState.SENT,
        created_at=clock.now(),
        params={"number": 1, "body": "x"},
    )
    return replace(plain, **values)


def test_a_row_and_its_event_are_one_commit_of_the_owner(store: Store, clock: FakeClock) -> None:
    launched(store)
    with pytest.raises(OwnershipLost):
        store.effects.open(row(clock), 2)
    assert store.effects.list() == ()
    store.effects.open(row(clock), 1)
    assert store.effects.get("e1") == row(clock)
    newest = [*store.timeline.events("r1")][-1]
    assert (newest.type, newest.node_id) == (EventType.EFFECT_SENT, "post")
    assert newest.data == {"effect_id": "e1", "operation": "fake.issue.comment", "state": "sent"}


@pytest.mark.parametrize("before", EffectState)
def test_a_row_goes_only_where_the_table_lets_it(store: Store, clock: FakeClock, before: EffectState) -> None:
    launched(store)
    for to in EffectState:
        store.effects.open(row(clock, f"{before}-{to}", state=before), 1)
        assert store.effects.settle(f"{before}-{to}", Settling(to, SettledBy.PERSON)) is (to in EFFECT_NEXT[before])


def test_a_row_is_settled_once_and_keeps_the_response(store: Store, clock: FakeClock) -> None:
    launched(store)
    store.effects.open(row(clock), 1)
    clock.advance(5)
    lost = Settling(EffectState.AMBIGUOUS, SettledBy.LOST, "the answer was lost", stopped=True)
    assert store.effects.settle("e1", lost)
    store.effects.probed("e1", "not found")
    assert store.effects.settle("e1", Settling(EffectState.DONE, SettledBy.PROBE, response={"id": "c1"}))
    assert not store.effects.settle("e1", Settling(EffectState.NOT_SENT, SettledBy.PERSON))
    found = store.effects.get("e1")
    assert found is not None
    assert (found.state, found.settled_by, found.response, found.note) == ("done", "probe", {"id": "c1"}, "not found")
    assert (found.stopped_run, found.probes, found.settled_at) == (True, 0, clock.now())
    told = [(event.data["state"], event.data["how"]) for event in store.timeline.events("r1") if "how" in event.data]
    assert told == [("ambiguous", "lost"), ("done", "probe")]
    with pytest.raises(EffectUnknown):
        store.effects.settle("e9", Settling(EffectState.DONE, SettledBy.PERSON))


def test_the_newest_row_of_the_same_call_counts(store: Store, clock: FakeClock) -> None:
    launched(store)
    for number, values in enumerate(
        ({}, {"iteration_path": "3"}, {"branch_path": "b"}, {"fingerprint": "f2"}, {"node_id": "other"}, {"attempt": 2})
    ):
        store.effects.open(row(clock, f"e{number}", **values), 1)
    found = store.effects.newest(KEY)
    assert found is not None
    assert found.id == "e5"
    assert store.effects.newest(replace(KEY, run_id="r2")) is None


@pytest.mark.parametrize("state", [EffectState.DONE, EffectState.AMBIGUOUS])
def test_a_clock_that_stepped_back_makes_no_newest_row_out_of_an_old_one(
    store: Store, clock: FakeClock, state: EffectState
) -> None:
    """C025: what was made, or may have been, is seen by the next attempt and by the next write of the board."""
    launched(store)
    store.effects.open(row(clock, "old", state=EffectState.NOT_SENT), 1)
    clock.step(-7200)
    store.effects.open(row(clock, "of_the_same", state=state), 1)
    found = store.effects.newest(KEY)
    assert found is not None
    assert found.id == "of_the_same"
    store.effects.open(row(clock, "of_the_next", attempt=2, state=EffectState.NOT_SENT), 1)
    clock.step(-7200)
    store.effects.open(row(clock, "new", attempt=3, state=state), 1)
    found = store.effects.newest(KEY)
    assert found is not None
    assert found.id == "new"


def test_a_board_write_in_doubt_counts_whatever_the_clock_said(store: Store, clock: FakeClock) -> None:
    apart = {"run_id": "", "node_id": "", "card": "web/1", "place": "comment", "attempt": 0}
    store.effects.open_apart(row(clock, "old", **apart, state=EffectState.NOT_SENT))
    clock.step(-7200)
    store.effects.open_apart(row(clock, "new", **apart, state=EffectState.AMBIGUOUS))
    found = store.effects.newest_at("web/1", "comment")
    assert found is not None
    assert found.id == "new"


def test_rows_behind_a_rewind_count_no_more(store: Store, clock: FakeClock) -> None:
    launched(store)
    store.effects.open(row(clock, state=EffectState.AMBIGUOUS, stopped_run=True), 1)
    store.effects.open(row(clock, "e2", node_id="kept", state=EffectState.AMBIGUOUS, stopped_run=True), 1)
    assert [each.id for each in store.effects.in_doubt("r1")] == ["e1", "e2"]
    ended(store, "r1", RunStatus.FAILED_RESUMABLE)
    dropped = frozenset({"post"})
    event = NewEvent(EventType.RUN_REWOUND)
    store.rewinds.save("r1", Rewinding(store.runs.get("r1").version, Head("post"), dropped, dropped, event))
    assert store.effects.newest(KEY) is None
    assert [each.id for each in store.effects.in_doubt("r1")] == ["e2"]
    assert [each.id for each in store.effects.stopping(["r1"])] == ["e2"]


def test_a_run_that_goes_on_was_not_stopped_by_what_is_settled(store: Store, clock: FakeClock) -> None:
    launched(store)
    store.effects.open(row(clock, state=EffectState.DONE, stopped_run=True), 1)
    store.effects.open(row(clock, "e2", state=EffectState.AMBIGUOUS, stopped_run=True), 1)
    store.effects.release("r1")
    assert [each.id for each in store.effects.stopping(["r1"])] == ["e2"]
