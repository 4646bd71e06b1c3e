"""Carrying an outcome onto its card, once per outcome, whoever ran the run (dispatcher.md 8).

Phase T4. The points E1 to E9 are numbered because a crash may come behind any of them; what follows an outcome is
decided at E4 and never again. It starts nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from connectors.base import Absent
from connectors.card import BoardEventType, Card, MoverKind
from connectors.errors import ConnectorError
from dispatcher import breakers, facts, following, log, moving
from dispatcher.cleaning import clean, sweep
from dispatcher.commenting import comment
from dispatcher.hooking import after_run
from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import FAILURES, ClaimState, Follows, Link, Settlement
from dispatcher.policy import Action, Decision, Found, decide
from dispatcher.world import World
from engine import states
from engine.errors import StoreError
from engine.run import RunRecord

_log = log.get(__name__)
PAGE = 1000
"""So many outcomes are looked at in one go."""
KEPT = {Follows.RETRY: ClaimState.RETRYING, Follows.PARKED: ClaimState.PARKED}
"""What becomes of the claim; anything else releases it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run whose newest outcome or pause is not on its card yet."""

    record: RunRecord
    link: Link
    card: Card


def settle_all(world: World) -> None:
    """T4: every unsettled outcome, oldest first, a page of the store's outcomes at a time."""
    _close_overtaken(world)
    memory, runs = world.station.memory, world.station.store.runs
    seen, unsettled, newest = memory.outcomes_seen, 0, 0
    page = world.unchanged("outcomes", seen, lambda: runs.outcomes_after(seen, PAGE))
    while page:
        left, newest = _settle_page(world, page), page[-1][1]
        unsettled = unsettled or left
        page = runs.outcomes_after(newest, PAGE) if len(page) == PAGE else ()
    if newest:
        memory.outcomes_seen = unsettled - 1 if unsettled else newest
    sweep(world)


def _settle_page(world: World, page: Collection[tuple[str, int]]) -> int:
    """Settle what of these outcomes is not; the first that stays open, 0 when none does.

    A daemon begins with every outcome that there ever was: what was carried onto its card is not read any further.
    """
    ledger, store = world.station.ledger, world.station.store
    closed = ledger.closed_outcomes([run_id for run_id, _ in page])
    world.settled |= closed
    left = [run_id for run_id, sequence in page if (run_id, sequence) not in closed]
    links = ledger.links_of_runs(left) if left else {}
    ours = {run_id: link for run_id, link in links.items() if link.board not in world.standby}
    world.links.update({link.key: link for link in ours.values()})
    records = {record.id: record for record in store.runs.get_many(ours).records} if ours else {}
    unsettled = 0
    for run_id, sequence in page:
        record = records.get(run_id)
        if record is None or (run_id, record.outcome_sequence) in world.settled:
            continue
        world.know(record)
        if ours[run_id].key not in world.snapshot.damaged:
            world.careful(world, ours[run_id].key, partial(_settle_now, world, record, ours[run_id]))
        if not world.is_settled(record) and not unsettled:
            unsettled = sequence
    return unsettled


def _not_yet(world: World, record: RunRecord, link: Link) -> str:
    """Why the outcome cannot be carried onto the card yet: somebody may still hold the run. Empty when nobody does."""
    try:
        if world.station.engine.lock_held(record.id) or world.station.slots.has(link.key):
            return "it ended; its lock is not free yet"
    except StoreError as problem:
        return f"it ended; {problem.message}"
    return ""


def _close_overtaken(world: World) -> None:
    """Settlements that a crash left open, and whose run somebody resumed or deleted meanwhile: nothing follows."""
    opened = world.snapshot.settlements
    if not opened or world.dry:
        return
    world.know_runs({each.run_id for each in opened.values()})
    for key, each in list(opened.items()):
        record = world.runs.get(each.run_id)
        if world.found[each.run_id][0] is Found.UNREADABLE:
            continue
        if record is not None and record.outcome_sequence == each.outcome and not states.is_running(record.status):
            continue
        with world.station.ledger.write() as connection:
            outcomes.change_settlement(connection, each, closed=True)
        del opened[key]
        world.wrote = True


def _settle_now(world: World, record: RunRecord, link: Link) -> None:
    """Settle one outcome as far as it goes; one card's fault is kept to that card."""
    crash = world.station.crash
    world.note(link.key, link.number, Decision(Action.SETTLE, None, "", "", "", record.id))
    if world.dry:
        return
    crash.passed("E1")
    cause = _not_yet(world, record, link)
    if cause:
        world.waiting_to_settle[link.key] = {"cause": cause, "run": record.id}
        _unsaid(world)
        return
    crash.passed("E2")
    card = _card(world, record, link)
    if card is None:
        return
    _carry(world, Ended(record, link, card))


def _unsaid(world: World) -> None:
    """The decision to settle that was noted last came to nothing in this tick."""
    world.decided.pop()
    world.counts[Action.SETTLE.value] -= 1


def _card(world: World, record: RunRecord, link: Link) -> Card | None:
    """The card, read by its id; the outcome of one that is gone is settled with nothing to move."""
    try:
        with world.in_time(link.board, single=True):
            answer = world.station.boards[link.board].get(link.card_id)
    except (ConnectorError, KeyError) as error:
        _log.warning("board.read_failed", board=link.board, card_id=link.card_id, error=str(error))
        return None
    if isinstance(answer, Absent):
        world.gone[link.key] = answer.kind.value
        _settle_gone(world, record, link)
        return None
    world.cards[link.key] = answer
    return answer


def _settle_gone(world: World, record: RunRecord, link: Link) -> None:
    """The run stays as it is; whatever was kept or begun for its card goes with the card."""
    key, outcome = link.key, record.outcome_sequence
    with world.station.ledger.write() as connection:
        known = outcomes.settlement(connection, key, record.id, outcome)
        fresh = Settlement(
            board=link.board,
            card_id=link.card_id,
            run_id=record.id,
            outcome=outcome,
            follows=Follows.NOTHING,
            status=record.status,
            code=record.failure_code,
            to_column="",
            moved=False,
            commented=False,
            closed=True,
            opened_at=world.now,
        )
        outcomes.open_settlement(connection, replace(known, closed=True) if known else fresh)
        outcomes.release_park(connection, key, "gone", world.now)
        outcomes.unschedule(connection, key)
        outcomes.move_seen(connection, key)
        cards.release(connection, key)
    world.settled.add((record.id, outcome))
    world.wrote = True


def _carry(world: World, ended: Ended) -> None:
    """E3 to E9 of one outcome."""
    crash = world.station.crash
    after_run(world, ended.card, ended.record)
    crash.passed("E3")
    settlement = _decided(world, ended)
    crash.passed("E4")
    with moving.one_commit(world, ended.card.board):
        moved = _moved(world, ended, settlement)
    if moved is None:
        return
    crash.passed("E5")
    comment(world, ended.card, settlement)
    crash.passed("E6")
    clean(world, world.cards[ended.link.key], settlement)
    crash.passed("E7")
    crash.passed("E8")
    with world.station.ledger.together():
        _close(world, replace(settlement, moved=moved))
    crash.passed("E9")


def _decided(world: World, ended: Ended) -> Settlement:
    """E4: what follows, from the row that an earlier process wrote, or decided now and written in one transaction."""
    key = ended.link.key
    known = world.station.ledger.settlement(key, ended.record.id, ended.record.outcome_sequence)
    if known is not None:
        return known
    case = following.attempts_of(world, ended.record, world.links[key])
    told = replace(facts.run_facts(world, ended.card), gesture=False, settled=False, attempts=case)
    decision = decide(told, world.now)
    return following.write(world, following.case_of(world, ended.card, ended.record, decision))


def _moved(world: World, ended: Ended, settlement: Settlement) -> bool | None:
    """E5: whether the card was moved; None when the board did not take the move now."""
    card, to = world.cards[ended.link.key], settlement.to_column
    failed = settlement.follows in FAILURES
    if failed and to and breakers.failing(world, card.board, card.id) is not None:
        _unsaid(world)
        return None
    if settlement.moved or not to or not _may_move(world, ended, card):
        return settlement.moved
    pending = world.snapshot.pending.get(ended.link.key)
    if pending is not None and world.now < pending.next_at and card.column == pending.origin:
        _unsaid(world)
        world.actionable += 1
        return None  # the board did not take it lately; the pauses grow
    result = moving.move(world, card, to, settlement.follows.value)
    if result.outcome is moving.Outcome.PENDING:
        return None
    if result.outcome is moving.Outcome.UNMAPPED and world.station.memory.first_time(f"unmapped {card.board} {to}"):
        _log.warning("column.lost", board=card.board, column=to)
    moved = result.outcome in (moving.Outcome.MOVED, moving.Outcome.THERE)
    if failed and moved:
        breakers.count_failure(world, card.board, settlement.code)
    with world.station.ledger.write() as connection:
        outcomes.change_settlement(connection, settlement, moved=moved)
    return moved


def _may_move(world: World, ended: Ended, card: Card) -> bool:
    """From where the dispatcher left it, or from an eligible column that somebody put it into before the outcome."""
    link = world.link(ended.link.key) or ended.link
    if card.closed or card.column is None:
        return False
    if card.column_by is MoverKind.BOT and card.column_run == ended.record.id:
        return False
    if card.column_by is MoverKind.DISPATCHER:  # also where the answer to our move was lost
        return True
    before = card.column_sequence < ended.record.outcome_sequence
    eligible = card.column in world.columns_of(card.board).eligible
    return before and (eligible or card.column == link.expected_column)


def _count(world: World, settlement: Settlement) -> None:
    tally, board, code = world.station.memory.tally, settlement.board, settlement.code
    tally.count("pointsman_run_outcomes_total", board=board, status=settlement.status, failure_code=code)
    if settlement.follows is Follows.GAVE_UP:
        tally.count("pointsman_gave_up_total", board=board, failure_code=code)


def _close(world: World, settlement: Settlement) -> None:
    """E9: the settlement is closed and the claim released, or kept for what follows."""
    key = settlement.key
    kept = KEPT.get(settlement.follows)
    with world.station.ledger.write() as connection:
        outcomes.change_settlement(connection, settlement, closed=True, moved=settlement.moved)
        released = 0
        if kept is not None:
            cards.keep_claim(connection, key, kept)
        else:
            released = cards.release(connection, key)
    if settlement.follows is Follows.COMPLETED:
        breakers.succeeded(world, world.cards[key])
    world.settled.add((settlement.run_id, settlement.outcome))
    world.wrote = True
    _count(world, settlement)
    if released:
        world.tell(key, BoardEventType.CARD_RELEASED, {"run_id": settlement.run_id})
    _log.info(
        "run.settled",
        board=key[0],
        card_id=key[1],
        run_id=settlement.run_id,
        follows=settlement.follows.value,
        moved=settlement.moved,
    )
