"""Which cards start now, in which order: blockers that are done, gates, the start itself (dispatcher.md 4, T9, T10).

Every eligible or explained card gets its decision, also when no slot is free: an idle card can always say why. One
card's fault is caught by the tick and kept to that card.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.card import Card
from dispatcher import facts, gates, log, moving, order, parking
from dispatcher.candidate import BoardFacts, Candidate
from dispatcher.ledger.records import Key
from dispatcher.policy import Action, Decision
from dispatcher.reading import WAITING_DEPS, with_slots
from dispatcher.reasons import REASONS, Reason
from dispatcher.starting import Wanted, start
from dispatcher.world import World

_log = log.get(__name__)
_STARTS = frozenset({Action.FRESH, Action.RESUME})
_AFTER_BOT = frozenset(reason for reason in Reason if REASONS[reason].order > REASONS[Reason.BOT_UNKNOWN].order)
"""Reasons behind the bot's own gates: where one of them holds, the bot is asked as well."""


def unblock(world: World) -> None:
    """T9: cards in ``waiting_deps`` whose blockers are all done go to the board's first eligible column."""
    for card in [card for card in world.cards.values() if card.column == WAITING_DEPS and not card.closed]:
        key = (card.board, card.id)
        if not card.blockers or key in world.snapshot.parks or facts.blockers(world, card):
            continue
        first = next((column.name for column in world.columns_of(card.board).columns if column.eligible), "")
        if not first:
            continue
        world.note(key, card.number, Decision(Action.UNBLOCK, None, "unblocked", "", "", None))
        if not world.dry:
            moving.move(world, card, first, "unblocked")
            _log.info("card.unblocked", board=card.board, card_id=card.id)


def candidates(world: World) -> Iterator[Card]:
    """The cards of all eligible columns, and those that a park, a retry or a pending move explains; in order."""
    under_way = {*world.snapshot.parks, *world.snapshot.retries, *world.snapshot.pending, *world.snapshot.claims}
    eligible = {name: read.eligible for name, read in world.reads.items()}
    chosen = [
        card
        for key, card in world.cards.items()
        if key in under_way or (card.column in eligible.get(card.board, ()) and key not in world.gone)
    ]
    return iter(sorted(chosen, key=order.key))


def pick(world: World, card: Card, board: BoardFacts) -> None:
    """T10 for one card: judge it, then start it, park it, or say why it is idle."""
    key = (card.board, card.id)
    world.daemon = with_slots(world)
    candidate = facts.candidate(world, card, board, released=_released(world, key))
    decision = gates.quick(candidate, world.now)
    if decision.action is Action.FRESH or decision.reason in _AFTER_BOT:
        candidate = facts.with_bot(world, candidate)
        decision = gates.quick(candidate, world.now)
    if world.station.slots.has(key):
        _executing(world, card, decision)
    elif decision.action in _STARTS:
        _start(world, candidate, decision, board)
    elif decision.action is Action.HOLD:
        _hold(world, card, candidate, decision)


def _released(world: World, key: Key) -> bool:
    """Whether a park waits for nobody any more: its run may go on, from the waiting column, through the gates."""
    return key in world.snapshot.parks


def _executing(world: World, card: Card, decision: Decision) -> None:
    if card.column != world.station.settings.columns.running and decision.action is Action.HOLD:
        world.held[(card.board, card.id)] = decision


def _start(world: World, candidate: Candidate, decision: Decision, board: BoardFacts) -> None:
    card = candidate.card
    key = (card.board, card.id)
    world.actionable += 1
    link = world.link(key)
    used_up = link is not None and link.attempts >= world.station.settings.retry.max_attempts
    if decision.action is Action.FRESH and used_up and link is not None and not candidate.run.gesture:
        parking.give_up_launching(world, card, link)
        return
    if not world.pick:
        return
    if decision.row == "R02" and world.station.memory.first_time(f"missing {candidate.run.run_id}"):
        _log.warning("run.last_run_missing", board=card.board, card_id=card.id, run_id=candidate.run.run_id)
    if world.dry:
        world.note(key, card.number, decision)
        return
    done = start(world, Wanted(candidate, decision, board))
    world.note(key, card.number, done)
    if done.action is Action.HOLD:
        world.held[key] = done


def _hold(world: World, card: Card, candidate: Candidate, decision: Decision) -> None:
    """The card stays; a pause that was left by a move alone is parked again first."""
    key = (card.board, card.id)
    if decision.reason is Reason.RETRY_WAIT:
        world.actionable += 1
    if _to_be_parked(world, key, candidate, decision) and parking.park_now(world, card):
        return
    world.note(key, card.number, decision)
    world.held[key] = decision


def _to_be_parked(world: World, key: Key, candidate: Candidate, decision: Decision) -> bool:
    """A decision to park, on a card that no earlier phase looked at, because nothing was under way for it."""
    return candidate.run.gesture and key not in world.snapshot.active() and decision.reason in parking.PARKS


def explained(world: World, card: Card, board: BoardFacts) -> gates.Judgement:
    """What ``explain`` prints: the very facts and gates of the tick."""
    key = (card.board, card.id)
    world.daemon = with_slots(world)
    candidate = facts.candidate(world, card, board, released=_released(world, key))
    return gates.judge(facts.with_bot(world, candidate), world.now)
