"""The gates: each alone, their order, and that explain and tick say the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from connectors.card import Card, MoverKind, NotBefore
from dispatcher.candidate import (
    Blocker,
    BoardFacts,
    Candidate,
    DaemonFacts,
    Desired,
    Full,
    Pending,
    Problem,
    RetryWait,
)
from dispatcher.gates import AFTER_RUN, BEFORE_RUN, RUN_GATES, Verdict, judge, quick
from dispatcher.policy import Action, Found, Life, RunFacts
from dispatcher.reasons import REASONS, Reason, render
from engine.failures import FailureCode
from engine.states import RunStatus

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
CARD = Card("native", "c1", 1, "Do it", "ready", NOW, NOW, NOW, MoverKind.PERSON)
OPEN = Candidate(CARD, DaemonFacts(), BoardFacts("native", frozenset({"ready", "in_progress"})), RunFacts())
FR = RunStatus.FAILED_RESUMABLE


def daemon(**facts: object) -> Candidate:
    return OPEN._replace(daemon=replace(OPEN.daemon, **facts))  # type: ignore[arg-type]


def board(**facts: object) -> Candidate:
    return OPEN._replace(board=replace(OPEN.board, **facts))  # type: ignore[arg-type]


def card(**facts: object) -> Candidate:
    return OPEN._replace(card=replace(CARD, **facts))  # type: ignore[arg-type]


def run(status: str, **facts: object) -> Candidate:
    told = RunFacts("r1", Found.PRESENT, status, **facts)  # type: ignore[arg-type]
    return OPEN._replace(run=told)


def problem(reason: Reason) -> Candidate:
    return OPEN._replace(routing=Problem(reason, {"name": "x"}))


def full(reason: Reason) -> Candidate:
    return OPEN._replace(caps=(Full(reason, "slow", 1, 1),))


RETRY = RetryWait(2, 10, "TIMEOUT", NOW + timedelta(seconds=20), is_due=False)
ALONE: dict[Reason, Candidate] = {
    Reason.STOPPING: daemon(stopping_since="12:00"),
    Reason.DAEMON_PAUSED: daemon(desired=Desired.PAUSED, desired_by="ann"),
    Reason.DAEMON_DRAINING: daemon(desired=Desired.DRAINING),
    Reason.STORE_DEGRADED: daemon(store_error="disk full"),
    Reason.COST_CAP_DAILY: daemon(spent=1.1, spend_limit=1.0),
    Reason.BOARD_STANDBY: board(standby={"board": "b", "until": "t"}),
    Reason.BOARD_UNREADABLE: board(unreadable={"board": "b", "error": "e", "age": "1 s"}),
    Reason.BOARD_PARTIAL: board(partial={"n": 3, "board": "b", "why": "w"}),
    Reason.BOARD_DEGRADED: board(degraded={"board": "b", "what": "column lost"}),
    Reason.BOARD_BREAKER_OPEN: board(breaker={"n": 5, "window": "5m", "cause": "c", "until": "t"}),
    Reason.CREDENTIAL_THROTTLED: board(throttled={"credential": "c", "until": "t"}),
    Reason.CREDENTIAL_REFUSED: board(refused={"forge": "f", "credential": "c", "status": 401}),
    Reason.CARD_GONE: OPEN._replace(gone={"status": 410}),
    Reason.CARD_MOVED_AWAY: OPEN._replace(moved_away={"where": "other"}),
    Reason.CARD_CLOSED: card(closed=True),
    Reason.COLUMN_CONTRADICTORY: card(columns_seen=("ready", "review")),
    Reason.COLUMN_UNMAPPED: card(column=None, columns_seen=("odd",)),
    Reason.COLUMN_NOT_ELIGIBLE: card(column="review"),
    Reason.MOVE_PENDING: OPEN._replace(pending=Pending("ready", "in_progress", "e1")),
    Reason.CARD_BREAKER_OPEN: OPEN._replace(breaker={"n": 6, "cause": "moves", "until": "t"}),
    Reason.CLAIM_UNCERTAIN: OPEN._replace(claim_uncertain={"what": "comment"}),
    Reason.CLAIMED_ELSEWHERE: OPEN._replace(claimed_elsewhere={"owner": "o", "until": "t"}),
    Reason.RUN_UNREADABLE: OPEN._replace(run=RunFacts("r1", Found.UNREADABLE)),
    Reason.RUN_STATUS_UNKNOWN: run("hibernating"),
    Reason.RUN_QUEUED: run(RunStatus.QUEUED),
    Reason.RUN_ALIVE: run(RunStatus.RUNNING),
    Reason.RUN_CHILDREN_ALIVE: run(RunStatus.RUNNING, life=Life.CHILDREN),
    Reason.RUN_YOUNG: run(RunStatus.RUNNING, life=Life.YOUNG),
    Reason.RUN_STOPPING: run(RunStatus.RUNNING)._replace(run_stopping={"cause": "stall"}),
    Reason.WAITING_FOR_ANSWERS: run(RunStatus.PAUSED_WAITING_HUMAN, ours=False),
    Reason.WAITING_FOR_PERSON: run(RunStatus.PAUSED_OPERATOR, ours=False),
    Reason.PARKED_DETERMINISTIC: run(FR, failure_code=FailureCode.EXPRESSION_FAILED)._replace(parked=True),
    Reason.PARKED_AMBIGUOUS: run(FR, failure_code=FailureCode.AMBIGUOUS_EFFECT)._replace(parked=True),
    Reason.PARKED_DELIBERATE: run(FR, failure_code="NOT_YET")._replace(parked=True),
    Reason.PARKED_NEEDS_CAP: run(FR, failure_code=FailureCode.BUDGET_EXCEEDED)._replace(parked=True),
    Reason.SOURCE_CHANGED: run(FR, source_changed=True)._replace(parked=True),
    Reason.WORKSPACE_MISSING: run(FR, workspace_missing=True),
    Reason.GAVE_UP: run(FR)._replace(gave_up={"n": 10, "code": "TIMEOUT", "error": "e"}),
    Reason.FINISHED_NEEDS_MOVE: run(RunStatus.FINISHED, settled=True),
    Reason.CANCELLED_NEEDS_MOVE: run(RunStatus.CANCELLED, settled=True),
    Reason.FAILED_NEEDS_MOVE: run(RunStatus.FAILED, settled=True),
    Reason.RETRY_WAIT: run(FR)._replace(retry=RETRY),
    Reason.NOT_BEFORE: card(not_before=NotBefore("2026-11-02 00:00 UTC", NOW + timedelta(hours=12))),
    Reason.OUTSIDE_HOURS: board(outside_hours={"hours": "mon 08:00-18:00 UTC", "at": "2026-11-02T08:00:00Z"}),
    Reason.BLOCKED_BY: OPEN._replace(blockers=(Blocker("#7", "review"),)),
    Reason.BLOCKERS_UNREADABLE: card(blockers=None),
    Reason.BLOCKERS_CYCLE: OPEN._replace(cycle="#1 → #2 → #1"),
    Reason.UNTRUSTED_MOVE: OPEN._replace(untrusted={"who": "eve", "board": "native"}),
    Reason.BODY_CHANGED: OPEN._replace(body_changed={"who": "ann"}),
    Reason.BOT_UNKNOWN: problem(Reason.BOT_UNKNOWN),
    Reason.NO_ROUTE: problem(Reason.NO_ROUTE),
    Reason.ROUTE_AMBIGUOUS: problem(Reason.ROUTE_AMBIGUOUS),
    Reason.BOT_INVALID: OPEN._replace(bot=Problem(Reason.BOT_INVALID, {"file": "a.bot", "line": 3})),
    Reason.VARS_INVALID: OPEN._replace(bot=Problem(Reason.VARS_INVALID, {"var": "n", "problem": "no int"})),
    Reason.WIP_FULL: board(wip_full={"column": "review", "n": 3, "limit": 3}),
    Reason.CAP_BOARD: full(Reason.CAP_BOARD),
    Reason.CAP_COLUMN: full(Reason.CAP_COLUMN),
    Reason.CAP_BOT: full(Reason.CAP_BOT),
    Reason.CAP_ASSIGNEE: full(Reason.CAP_ASSIGNEE),
    Reason.NO_SLOT: daemon(executing=4),
}


@pytest.mark.parametrize("reason", list(Reason))
def test_a_card_that_fails_one_gate_has_that_gates_reason(reason: Reason) -> None:
    """D037."""
    judged = judge(ALONE[reason], NOW)
    held = [gate for gate in judged.gates if gate.verdict is not Verdict.PASS]
    assert judged.decision.reason is reason
    assert [gate.code for gate in held] == [reason]
    assert judged.decision.text
    assert judged.decision.unblock
    assert held[0].text == judged.decision.text


@pytest.mark.parametrize("reason", list(Reason))
def test_explain_and_the_tick_decide_the_same(reason: Reason) -> None:
    """D039."""
    assert judge(ALONE[reason], NOW).decision == quick(ALONE[reason], NOW)


def test_a_card_that_passes_every_gate_starts() -> None:
    """D001."""
    judged = judge(OPEN, NOW)
    assert judged.decision.action is Action.FRESH
    assert all(gate.verdict is Verdict.PASS for gate in judged.gates)


def test_the_first_of_several_failing_gates_gives_the_reason_and_all_are_shown() -> None:
    """D038."""
    candidate = OPEN._replace(
        board=replace(OPEN.board, degraded={"board": "native", "what": "column review lost"}),
        blockers=(Blocker("#7", "review"),),
        daemon=replace(OPEN.daemon, executing=4),
    )
    judged = judge(candidate, NOW)
    held = [gate.order for gate in judged.gates if gate.verdict is not Verdict.PASS]
    assert judged.decision.reason is Reason.BOARD_DEGRADED
    assert held == [9, 43, 52]


def test_every_reason_is_a_gate_once_and_the_gates_stand_in_the_order_of_the_document() -> None:
    """D035, D223."""
    gates = [reason for reason, _ in BEFORE_RUN] + list(RUN_GATES) + [reason for reason, _ in AFTER_RUN]
    assert sorted(gates) == sorted(Reason)
    orders = [REASONS[reason].order for reason in gates]
    assert orders == sorted(orders)
    assert set(orders) == set(range(1, 53))


def test_draining_holds_fresh_runs_only() -> None:
    """D184."""
    resuming = run(FR)._replace(daemon=replace(OPEN.daemon, desired=Desired.DRAINING))
    assert quick(resuming, NOW).action is Action.RESUME


def test_a_released_park_resumes_from_a_column_that_is_not_eligible() -> None:
    """dispatcher.md 11, rule 2."""
    waiting = run(FR)._replace(card=replace(CARD, column="awaiting_input"), released=True)
    assert quick(waiting, NOW).action is Action.RESUME


def test_a_gesture_ends_the_wait_for_a_retry() -> None:
    """dispatcher.md 12: a gesture resets the count; the table resumes now."""
    moved_in = run(FR, gesture=True)._replace(retry=RETRY)
    assert quick(moved_in, NOW).action is Action.RESUME


def test_a_text_without_its_fact_is_told_all_the_same() -> None:
    assert render(Reason.RUN_ALIVE, {"run": "r1"})[0] == "run r1 works (owner –)"
    assert (
        render(Reason.RUN_ALIVE, {"run": "r1", "owner": 7, "age": "2 s"})[0]
        == "run r1 works (owner 7, last sign 2 s ago)"
    )
    assert render(Reason.RUN_CHILDREN_ALIVE, {"run": "r1"})[1] == "the child's end; cancel stops it now"


def test_braces_inside_a_fact_are_not_read_as_a_template() -> None:
    """dispatcher.md 35, fault 22."""
    assert "{run}" in render(Reason.PARKED_DELIBERATE, {"code": "X", "message": "{run}"})[0]
