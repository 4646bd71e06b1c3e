"""What follows an outcome, as rows: retry, park, give-up stamp, or nothing (dispatcher.md 8 E4, 11, 12).

Called by settling and, where a row is missing, by parking. One transaction per outcome; the decision is ``policy``'s.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.card import Card, MoverKind
from dispatcher import breakers, doubts, log
from dispatcher.documents import instant
from dispatcher.ladder import counted, due_at, next_wait
from dispatcher.ledger import Transaction, cards, outcomes
from dispatcher.ledger.records import ClaimState, Follows, GiveUp, Link, Park, Retry, Settlement
from dispatcher.policy import Action, Decision
from dispatcher.reasons import Reason
from dispatcher.station import INTERRUPT_CARD_GONE, INTERRUPT_EXTERNAL_MOVE
from dispatcher.world import World
from engine import states
from engine.events import EventType, NewEvent
from engine.failures import FailureCode, row_of
from engine.run import RunRecord
from engine.states import RunStatus

_log = log.get(__name__)
ENDS = {
    RunStatus.FINISHED: Follows.COMPLETED,
    RunStatus.FAILED: Follows.FAILED,
    RunStatus.CANCELLED: Follows.CANCELLED,
}
"""Where a run is over, for good or for now."""
BY_ACTION = {Action.RESUME: Follows.RETRY, Action.PARK: Follows.PARKED, Action.GIVE_UP: Follows.GAVE_UP}
"""Where it may go on; a hold follows with nothing, or waits on the ladder for what holds it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One outcome to be followed: the card, its link, the record, the decision, and by what it was interrupted."""

    card: Card
    link: Link
    record: RunRecord
    decision: Decision
    cause: str = ""
    attempts: int = 0


def case_of(world: World, card: Card, record: RunRecord, decision: Decision) -> Case:
    """The case with its attempts as they count after this outcome."""
    link = world.links[(card.board, card.id)]
    return Case(card, link, record, decision, cause_of(world, record), attempts_of(world, record, link))


def cause_of(world: World, record: RunRecord) -> str:
    """By what the run was interrupted, empty when it was not."""
    interrupted = record.failure_code == FailureCode.INTERRUPTED
    return world.station.engine.interrupt_cause(record.id) if interrupted else ""


def attempts_of(world: World, record: RunRecord, link: Link) -> int:
    """The counted attempts: somebody else's attempt resets them, some interrupts give theirs back."""
    claim = world.snapshot.claims.get(link.key)
    ours = claim is not None and claim.state is ClaimState.LIVE
    return counted(link.attempts, cause_of(world, record)) if ours else 0


def write(world: World, case: Case) -> Settlement:
    """E4: the settlement and what follows, in one transaction."""
    follows = follows_of(world, case)
    announce(world, case, follows)
    settlement = Settlement(
        board=case.card.board,
        card_id=case.card.id,
        run_id=case.record.id,
        outcome=case.record.outcome_sequence,
        follows=follows,
        status=case.record.status,
        code=case.record.failure_code,
        to_column=_column(world, case, follows),
        moved=False,
        commented=False,
        closed=False,
        opened_at=world.now,
    )
    with world.station.ledger.write() as connection:
        outcomes.open_settlement(connection, settlement)
        cards.close_intent(connection, settlement.key)
        _in_a_row(world, connection, case)
        fresh, retry = _rows(world, connection, case, follows)
    if retry is not None:
        announce_retry(world, case, retry)
    if fresh is not None:
        world.links[case.link.key] = fresh
    world.wrote = True
    return settlement


def _in_a_row(world: World, connection: Transaction, case: Case) -> None:
    """Count a fresh run's outcome for the card's breaker; the outcome of a resume ends the row of equal ones."""
    record = case.record
    if record.epoch == 1:
        cause = f"a fresh run ended {record.status} {record.failure_code}".rstrip()
        breakers.repeat(world.station, connection, case.link.key, cause)
    else:
        breakers.other_outcome(connection, case.link.key)


def follows_of(world: World, case: Case) -> Follows:
    """What the decision leads to."""
    status = case.record.status
    if states.known(status) and RunStatus(status) in ENDS:
        return ENDS[RunStatus(status)]
    if case.cause in (INTERRUPT_EXTERNAL_MOVE, INTERRUPT_CARD_GONE):
        eligible = case.card.column in world.columns_of(case.card.board).eligible and not case.card.closed
        return Follows.RETRY if eligible else Follows.NOTHING
    held = Follows.NOTHING if states.is_paused(status) else Follows.RETRY
    return BY_ACTION.get(case.decision.action, held)


def announce(world: World, case: Case, follows: Follows) -> None:
    """What the run's timeline says of a refusal to retry; written once per outcome, before the rows."""
    if follows is not Follows.PARKED or states.is_paused(case.record.status):
        return
    code = case.record.failure_code
    data = {"reason": row_of(code).kind.value, "code": code, "error": case.record.error}
    event = NewEvent(EventType.RUN_RETRY_SKIPPED, data=data)
    if world.station.store.runs.retry_skipped_once(case.record.id, case.record.outcome_seq, event):
        world.station.memory.tally.count("pointsman_retries_total", failure_code=code, result="skipped")
        _log.info("run.retry_skipped", run_id=case.record.id, code=code)


def announce_retry(world: World, case: Case, retry: Retry) -> None:
    """What the run's timeline says of an armed retry; behind its row, so that a crash may lose it but not repeat it."""
    data = {
        "code": retry.code,
        "reason": row_of(case.record.failure_code).kind.value,
        "retry_after": instant(retry.not_before),
        "attempt": retry.attempt,
        "max_attempts": world.station.settings.retry.max_attempts,
        "reset_source": "remote" if case.record.retry_after_at is not None else "",
    }
    world.station.store.runs.note(case.record.id, NewEvent(EventType.RUN_RETRY_SCHEDULED, data=data))
    world.station.memory.tally.count("pointsman_retries_total", failure_code=retry.code, result="scheduled")


def _column(world: World, case: Case, follows: Follows) -> str:
    """Where the card goes; one that still waits where it was parked, though its run went on, goes back to work."""
    columns = world.roles(case.card.board)
    if follows is Follows.RETRY and _where_parked(world, case.card):
        return columns.running or ""
    to = {
        Follows.COMPLETED: columns.completed,
        Follows.FAILED: columns.failed,
        Follows.GAVE_UP: columns.failed,
        Follows.CANCELLED: columns.cancelled,
        Follows.PARKED: columns.awaiting_input,
    }
    return to.get(follows) or ""


def _where_parked(world: World, card: Card) -> bool:
    """Whether the card stands where its park left it; the park itself may be over, by a resume."""
    park = world.snapshot.parks.get((card.board, card.id))
    by_us = card.column_by is MoverKind.DISPATCHER and card.column == world.roles(card.board).awaiting_input
    return by_us or (park is not None and park.column == card.column)


def _rows(world: World, connection: Transaction, case: Case, follows: Follows) -> tuple[Link | None, Retry | None]:
    """The rows of what follows; the link as it is then, and the retry among them."""
    key = case.link.key
    cards.forgive(connection, key)
    attempts = 0 if follows is Follows.COMPLETED else case.attempts
    fresh = cards.change_link(connection, key, attempts=attempts)
    retry = retry_of(world, connection, case) if follows is Follows.RETRY else None
    if retry is not None:
        outcomes.schedule(connection, retry)
    else:
        outcomes.unschedule(connection, key)
    if follows is Follows.PARKED:
        outcomes.park(connection, park_of(world, case))
    else:
        outcomes.release_park(connection, key, "resumed" if follows is Follows.RETRY else "ended", world.now)
    if follows is Follows.GAVE_UP:
        outcomes.stamp_give_up(connection, stamp_of(world, case))
    elif follows is not Follows.RETRY:
        outcomes.clear_give_up(connection, key)
    return fresh, retry


def retry_of(world: World, connection: Transaction, case: Case) -> Retry:
    """The retry row of a failed run; the event tells its timeline."""
    code = case.record.failure_code
    wait = next_wait(code, case.attempts, case.cause, world.station.retry_settings())
    due = due_at(world.now, wait, case.record.retry_after_at)
    sequence = world.station.ledger.next_sequence(connection)
    told = code or case.record.status
    _log.info("run.retry_scheduled", run_id=case.record.id, code=told, attempt=case.attempts + 1, due=instant(due))
    return Retry(
        case.card.board,
        case.card.id,
        case.record.id,
        case.attempts + 1,
        told,
        case.cause,
        wait.ladder.value,
        world.now,
        due,
        sequence,
    )


def park_of(world: World, case: Case) -> Park:
    """The park row, with the facts that fill its reason's text for as long as it lasts."""
    reason = case.decision.reason or Reason.WAITING_FOR_PERSON
    told = park_texts(world, case.record, reason)
    return Park(
        board=case.card.board,
        card_id=case.card.id,
        run_id=case.record.id,
        reason=reason.value,
        column=world.roles(case.card.board).awaiting_input or "",
        seen=False,
        outcome=case.record.outcome_sequence,
        question=str(told.get("question", "")),
        facts=json.dumps(told, ensure_ascii=False, default=str),
        since=world.now,
    )


def park_texts(world: World, record: RunRecord, reason: Reason) -> Mapping[str, object]:
    """The facts of a park's text that the record alone does not tell."""
    engine = world.station.engine
    if reason is Reason.WAITING_FOR_ANSWERS:
        return {"question": engine.question(record.id)}
    if reason is Reason.WAITING_FOR_PERSON:
        return {"why": engine.pause_reason(record.id)}
    if reason is Reason.PARKED_AMBIGUOUS:
        return doubts.texts(doubts.stopping(world, record.id))
    if reason is Reason.PARKED_NEEDS_CAP:
        return engine.budget_stop(record.id)
    return {}


def stamp_of(world: World, case: Case) -> GiveUp:
    """The stamp of a ladder that is used up."""
    record = case.record
    return GiveUp(case.card.board, case.card.id, record.id, case.attempts, record.failure_code, record.error, world.now)


def launch_stamp(world: World, card: Card, link: Link, code: str) -> GiveUp:
    """The stamp of a card whose every start failed before there was a run."""
    return GiveUp(card.board, card.id, "", link.attempts, code, "no run came to be", world.now)
