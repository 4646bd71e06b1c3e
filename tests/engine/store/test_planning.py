"""What a change of status does to the other columns: engine.md 1.4, item by item, as a table of values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.events import EventType, NewEvent
from engine.failures import FailureCode
from engine.states import TRANSITIONS, RunStatus, counts_as_outcome
from engine.store.changes import Transition, Written
from engine.store.planning import MATCHING_EVENT, StatusColumns, check_allowed, plan_change, reported

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
EARLIER = AT - timedelta(hours=1)
S = RunStatus
NOW = StatusColumns(S.RUNNING, "", "", "", "", 3, None, None, None, False)
STEPS = [(came, to) for came, allowed in TRANSITIONS.items() for to in sorted(allowed)]


def change(to: RunStatus, **values: object) -> Transition:
    return Transition(to, frozenset(S), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("came", "to"), STEPS, ids=str)
def test_the_outcome_number_grows_only_on_a_real_change_into_an_ended_status(came: RunStatus, to: RunStatus) -> None:
    """R029"""
    plan = plan_change(replace(NOW, status=came), change(to), AT)
    grown = came != to and counts_as_outcome(to)
    assert plan.columns.outcome_seq == 3 + grown
    assert plan.numbered == (came != to and (grown or to in {S.PAUSED_OPERATOR, S.PAUSED_WAITING_HUMAN}))


@pytest.mark.parametrize("to", list(S), ids=str)
def test_ended_runs_have_an_end_and_others_have_none(to: RunStatus) -> None:
    plan = plan_change(replace(NOW, status=S.QUEUED, finished_at=EARLIER), change(to), AT)
    assert plan.columns.finished_at == (AT if counts_as_outcome(to) else None)


def test_a_rewrite_keeps_the_first_end() -> None:
    ended = replace(NOW, status=S.FAILED_RESUMABLE, finished_at=EARLIER)
    assert plan_change(ended, change(S.FAILED_RESUMABLE), AT).columns.finished_at == EARLIER


@pytest.mark.parametrize("to", list(S), ids=str)
def test_a_failure_code_exists_only_where_a_status_carries_one(to: RunStatus) -> None:
    plan = plan_change(replace(NOW, status=S.QUEUED, failure_code="X"), change(to, failure_code="TIMEOUT"), AT)
    carried = to in {S.FAILED, S.FAILED_RESUMABLE, S.CANCELLED}
    assert plan.columns.failure_code == ("TIMEOUT" if carried else "")


def test_a_rewrite_without_code_or_text_keeps_both_and_a_real_change_takes_even_empty_ones() -> None:
    failed = replace(NOW, status=S.FAILED_RESUMABLE, failure_code="TIMEOUT", error="too slow")
    kept = plan_change(failed, change(S.FAILED_RESUMABLE), AT).columns
    assert (kept.failure_code, kept.error) == ("TIMEOUT", "too slow")
    fresh = plan_change(replace(NOW, error="old"), change(S.FAILED_RESUMABLE), AT).columns
    assert (fresh.failure_code, fresh.error) == ("", "")


def test_a_cancelled_run_carries_its_code_without_being_told() -> None:
    assert plan_change(NOW, change(S.CANCELLED), AT).columns.failure_code == FailureCode.CANCELLED


def test_entering_running_empties_error_code_reason_and_end() -> None:
    old = StatusColumns(S.CANCELLED, "CANCELLED", "why", "person", "final", 1, EARLIER, EARLIER, EARLIER, True)
    plan = plan_change(old, change(S.RUNNING), AT)
    assert plan.columns == StatusColumns(S.RUNNING, "", "", "", "", 1, None, EARLIER, None, False)
    assert plan.drops_question


def test_the_first_end_reason_of_a_status_is_kept() -> None:
    first = plan_change(NOW, change(S.CANCELLED, end_reason="person"), AT).columns
    again = plan_change(first, change(S.CANCELLED, end_reason="pr_closed"), AT).columns
    assert again.end_reason == "person"
    assert plan_change(first, change(S.RUNNING), AT).columns.end_reason == ""


def test_a_continuation_is_set_when_stated_cleared_on_a_real_change_and_kept_on_a_rewrite() -> None:
    stated = plan_change(NOW, change(S.FAILED_RESUMABLE, continuation="retry_armed"), AT).columns
    assert stated.continuation == "retry_armed"
    assert plan_change(stated, change(S.FAILED_RESUMABLE), AT).columns.continuation == "retry_armed"
    assert plan_change(stated, change(S.CANCELLED), AT).columns.continuation == ""


def test_every_entry_into_the_queue_is_a_distinct_attempt() -> None:
    queued = replace(NOW, status=S.QUEUED, queued_at=EARLIER)
    assert plan_change(queued, change(S.QUEUED), AT).columns.queued_at == AT
    assert plan_change(queued, change(S.CANCELLED), AT).columns.queued_at == EARLIER


@pytest.mark.parametrize("to", list(S), ids=str)
def test_the_pending_question_goes_where_the_status_cannot_carry_it(to: RunStatus) -> None:
    plan = plan_change(replace(NOW, status=S.PAUSED_WAITING_HUMAN), change(to), AT)
    assert plan.drops_question == (to not in {S.QUEUED, S.PAUSED_WAITING_HUMAN})


def test_a_rewound_run_wants_an_explicit_resume_until_a_claim() -> None:
    rewound = plan_change(replace(NOW, status=S.FAILED), change(S.PAUSED_OPERATOR, explicit_resume=True), AT).columns
    queued = plan_change(rewound, change(S.QUEUED), AT).columns
    assert (rewound.explicit_resume_required, queued.explicit_resume_required) == (True, True)
    assert not plan_change(queued, change(S.RUNNING), AT).columns.explicit_resume_required


def test_what_a_remote_asked_for_becomes_an_instant() -> None:
    waiting = plan_change(NOW, change(S.FAILED_RESUMABLE, retry_after=90.0), AT).columns
    assert waiting.retry_after_at == AT + timedelta(seconds=90)
    assert plan_change(waiting, change(S.RUNNING), AT).columns.retry_after_at is None


def test_steps_that_the_table_does_not_know_and_empty_sets_are_programming_errors() -> None:
    with pytest.raises(ValueError, match="finished"):
        check_allowed(S.RUNNING, {S.FINISHED})
    with pytest.raises(ValueError, match="nothing"):
        check_allowed(S.RUNNING, frozenset())
    check_allowed(S.RUNNING, {S.CANCELLED, S.FAILED_RESUMABLE})


@pytest.mark.parametrize(("came", "to"), STEPS, ids=str)
def test_every_real_change_is_reported_once(came: RunStatus, to: RunStatus) -> None:
    asked = change(to, error="why", failure_code="X")
    wanted = MATCHING_EVENT.get(to)
    expected = [] if wanted is None or came == to else [wanted]
    assert [event.type for event in reported(asked, came)] == expected
    if wanted is not None:
        told = replace(asked, written=Written(events=(NewEvent(wanted, data={"mine": 1}),)))
        assert reported(told, came) == told.written.events


def test_the_added_event_says_what_the_timeline_promises() -> None:
    failed = change(S.FAILED_RESUMABLE, error="boom", failure_code="TIMEOUT")
    (event,) = reported(failed, S.RUNNING)
    assert (event.type, event.data) == (
        EventType.RUN_FAILED,
        {"error": "boom", "code": "TIMEOUT", "resumable": True},
    )
    (event,) = reported(change(S.CANCELLED, error="no longer wanted"), S.RUNNING)
    assert event.data == {"reason": "no longer wanted"}
