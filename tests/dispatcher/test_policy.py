"""The last_run table: total, each row reached, each answer as dispatcher.md 6 says."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import dispatcher
from dispatcher.policy import TABLE, Action, Facets, Found, Going, Life, RunFacts, decide, facets_of
from dispatcher.reasons import Reason
from engine.failures import FAILURES, Allowance, FailureCode
from engine.states import RunStatus

NOW = datetime(2026, 11, 1, tzinfo=UTC)
FR = RunStatus.FAILED_RESUMABLE


def every_facets() -> list[Facets]:
    statuses: list[RunStatus | None] = [*RunStatus, None]
    truth = (False, True)
    return [Facets(*each) for each in itertools.product(Found, statuses, Life, truth, truth, Going, truth)]


def present(status: str, **facts: object) -> RunFacts:
    return RunFacts(run_id="r1", found=Found.PRESENT, status=status, **facts)  # type: ignore[arg-type]


def said(facts: RunFacts) -> tuple[str, Action, Reason | None]:
    decision = decide(facts, NOW)
    return decision.row, decision.action, decision.reason


def test_exactly_one_row_matches_any_facts_and_every_row_is_reached() -> None:
    """D035."""
    reached = set()
    for facets in every_facets():
        rows = [row for row in TABLE if all(getattr(facets, name) == want for name, want in row.where.items())]
        assert len(rows) == 1, facets
        reached.add(id(rows[0]))
    assert reached == {id(row) for row in TABLE}


def test_the_rows_are_those_of_the_document() -> None:
    """D035."""
    stand_ins = {
        decide(present(FR, source_changed=True), NOW).row,
        decide(present(FR, workspace_missing=True), NOW).row,
    }
    assert {row.id for row in TABLE} | stand_ins == {f"R{n:02}" for n in range(1, 30)}


CASES = [
    ("R01", RunFacts(), Action.FRESH, None),
    ("R02", RunFacts("r1", Found.ABSENT), Action.FRESH, None),
    ("R03", RunFacts("r1", Found.UNREADABLE), Action.HOLD, Reason.RUN_UNREADABLE),
    ("R04", present("hibernating"), Action.HOLD, Reason.RUN_STATUS_UNKNOWN),
    ("R05", present(RunStatus.QUEUED), Action.HOLD, Reason.RUN_QUEUED),
    ("R06", present(RunStatus.RUNNING), Action.HOLD, Reason.RUN_ALIVE),
    ("R07", present(RunStatus.RUNNING, life=Life.CHILDREN), Action.HOLD, Reason.RUN_CHILDREN_ALIVE),
    ("R08", present(RunStatus.RUNNING, life=Life.YOUNG), Action.HOLD, Reason.RUN_YOUNG),
    ("R09", present(RunStatus.RUNNING, life=Life.ORPHAN), Action.PROMOTE, None),
    ("R12", present(RunStatus.PAUSED_WAITING_HUMAN), Action.PARK, Reason.WAITING_FOR_ANSWERS),
    ("R13", present(RunStatus.PAUSED_WAITING_HUMAN, answered=True), Action.RESUME, None),
    ("R14", present(RunStatus.PAUSED_OPERATOR), Action.PARK, Reason.WAITING_FOR_PERSON),
    ("R15", present(RunStatus.PAUSED_OPERATOR, by_daily_cap=True), Action.PARK, Reason.WAITING_FOR_PERSON),
    ("R16", present(FR, failure_code=FailureCode.TIMEOUT, attempts=3), Action.RESUME, None),
    ("R17", present(FR, failure_code=FailureCode.TIMEOUT, attempts=10), Action.GIVE_UP, Reason.GAVE_UP),
    ("R18", present(FR, failure_code=FailureCode.BUDGET_EXCEEDED), Action.PARK, Reason.PARKED_NEEDS_CAP),
    ("R18", present(FR, failure_code=FailureCode.BUDGET_EXCEEDED, cap_raised=True), Action.RESUME, None),
    ("R19", present(FR, failure_code=FailureCode.EXPRESSION_FAILED), Action.PARK, Reason.PARKED_DETERMINISTIC),
    ("R20", present(FR, failure_code=FailureCode.AMBIGUOUS_EFFECT), Action.PARK, Reason.PARKED_AMBIGUOUS),
    ("R20", present(FR, failure_code=FailureCode.AMBIGUOUS_EFFECT, effects_settled=True), Action.RESUME, None),
    ("R21", present(FR, failure_code="NOT_YET"), Action.PARK, Reason.PARKED_DELIBERATE),
    ("R22", present(FR, failure_code=FailureCode.TIMEOUT, source_changed=True), Action.PARK, Reason.SOURCE_CHANGED),
    ("R23", present(FR, source_changed=True, workspace_missing=True), Action.HOLD, Reason.WORKSPACE_MISSING),
    ("R24", present(RunStatus.CANCELLED), Action.SETTLE, None),
    ("R25", present(RunStatus.CANCELLED, settled=True), Action.HOLD, Reason.CANCELLED_NEEDS_MOVE),
    ("R26", present(RunStatus.FINISHED), Action.SETTLE, None),
    ("R27", present(RunStatus.FINISHED, settled=True), Action.HOLD, Reason.FINISHED_NEEDS_MOVE),
    ("R28", present(RunStatus.FAILED), Action.SETTLE, None),
    ("R29", present(RunStatus.FAILED, settled=True), Action.HOLD, Reason.FAILED_NEEDS_MOVE),
]


@pytest.mark.parametrize(("row", "facts", "action", "reason"), CASES)
def test_a_row_answers_unattended(row: str, facts: RunFacts, action: Action, reason: Reason | None) -> None:
    """R01 to R29, column unattended; also acceptance R291 to R305, R443 to R464."""
    assert said(facts) == (row, action, reason)


GESTURES = [
    (present(RunStatus.FINISHED, settled=True), Action.FRESH),
    (present(RunStatus.FAILED, settled=True), Action.FRESH),
    (present(RunStatus.CANCELLED, settled=True), Action.RESUME),
    (present(FR, failure_code=FailureCode.EXPRESSION_FAILED), Action.RESUME),
    (present(FR, failure_code="NOT_YET"), Action.RESUME),
    (present(FR, failure_code=FailureCode.TIMEOUT, attempts=10), Action.RESUME),
    (present(FR, failure_code=FailureCode.AMBIGUOUS_EFFECT), Action.RESUME),
    (present(RunStatus.PAUSED_WAITING_HUMAN), Action.PARK),
    (present(RunStatus.PAUSED_OPERATOR, by_daily_cap=True), Action.PARK),
    (present(RunStatus.CANCELLED, settled=True, source_changed=True), Action.PARK),
    (present(RunStatus.RUNNING, life=Life.YOUNG), Action.HOLD),
    (present("hibernating"), Action.HOLD),
]


@pytest.mark.parametrize(("facts", "action"), GESTURES)
def test_a_gesture_gets_the_attended_answer(facts: RunFacts, action: Action) -> None:
    """D013, D015, D018, D025, D028, D030, D032."""
    from dataclasses import replace

    assert decide(replace(facts, gesture=True), NOW).action is action


def test_a_pause_of_somebody_elses_run_holds_and_moves_nothing() -> None:
    """dispatcher.md 6, fourth bullet from the end."""
    assert decide(present(RunStatus.PAUSED_WAITING_HUMAN, ours=False), NOW).action is Action.HOLD


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="R081: an empty code is unknown, not none"),
        pytest.param(FailureCode.TIMEOUT, id="R367: no raised cap is wanted"),
        FailureCode.INTERRUPTED,
        FailureCode.PROCESS_ORPHANED,
    ],
)
def test_work_that_was_only_stopped_goes_on_unattended(code: str) -> None:
    """dispatcher.md 6: else this table would park healthy work after every stop or crash."""
    assert decide(present(FR, failure_code=code), NOW).action is Action.RESUME


def test_no_machine_resumes_what_the_failure_table_forbids() -> None:
    """dispatcher.md 35, fault 10, over every code."""
    for code, row in FAILURES.items():
        if row.unattended is Allowance.NO:
            assert decide(present(FR, failure_code=code), NOW).action is Action.PARK


def test_a_decision_about_an_existing_run_names_it_and_a_fresh_one_names_none() -> None:
    assert decide(present(FR), NOW).run_id == "r1"
    assert decide(present(RunStatus.FINISHED, settled=True, gesture=True), NOW).run_id is None


def test_facets_of_an_unknown_status_have_no_status() -> None:
    """D005."""
    assert facets_of(present("hibernating")).status is None


def test_no_status_and_no_failure_code_is_spelled_out_in_the_dispatcher() -> None:
    """D036."""
    names = {str(value) for value in RunStatus if "_" in value} | {str(code) for code in FailureCode}
    pattern = re.compile("|".join(rf"[\"']{re.escape(name)}[\"']" for name in sorted(names)))
    root = Path(next(iter(dispatcher.__path__)))
    guilty = [str(path) for path in root.rglob("*.py") if pattern.search(path.read_text())]
    assert guilty == []
