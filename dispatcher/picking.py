"""Which cards start now, in which order: blockers that are done, gates, the start itself (dispatcher.md 4, T9, T10).

Every eligible or explained card gets its decision, also when no slot is free: an idle card can always say why. One
card's fault is caught by the tick and kept to that card.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.card import Card
from dispatcher import facts, gates, log, moving, order, sharing, trusting
from dispatcher.actions import ACTIONS
from dispatcher.candidate import BoardFacts
from dispatcher.ledger.records import Key
from dispatcher.policy import Action, Decision
from dispatcher.reading import WAITING_DEPS, with_slots
from dispatcher.reasons import REASONS, Reason
from dispatcher.starting import Judged
from dispatcher.world import World

_log = log.get(__name__)
_STARTS = frozenset({Action.FRESH, Action.RESUME})
_AFTER_TRUST = frozenset(reason for reason in Reason if REASONS[reason].order > REASONS[Reason.BODY_CHANGED].order)
"""Reasons behind the gates of trust: where one of them holds, the forge is asked as well."""
_AFTER_BOT = frozenset(reason for reason in Reason if REASONS[reason].order > REASONS[Reason.BOT_UNKNOWN].order)
"""Reasons behind the bot's own gates: where one of them holds, the bot is asked as well."""


def unblock(world: World) -> None:
    """T9: cards in ``waiting_deps`` whose blockers are all done go to the board's first eligible column."""
    removed = world.station.removed
    waits = {name: read.called(WAITING_DEPS) for name, read in world.reads.items() if name not in removed}
    waiting = [card for card in world.cards.values() if card.column and card.column == waits.get(card.board)]
    for card in [card for card in waiting if not card.closed]:
        key = (card.board, card.id)
        held = key in world.snapshot.parks or key in world.snapshot.damaged
        if not card.blockers or held or facts.blockers(world, card):
            continue
        first = next((column.name for column in world.columns_of(card.board).columns if column.eligible), "")
        if not first:
            continue
        world.note(key, card.number, Decision(Action.UNBLOCK, None, "unblocked", "", "", None))
        if not world.dry:
            moving.move(world, card, first, "unblocked")
            _log.info("card.unblocked", board=card.board, card_id=card.id)


def candidates(world: World) -> Iterator[Card]:
    """The cards of all eligible columns, and those that a park, a retry or a pending move explains, or of which a row
    cannot be read; in order.

    A card whose labels contradict each other is one of them when one of its columns is eligible.
    """
    snapshot = world.snapshot
    under_way = {*snapshot.parks, *snapshot.retries, *snapshot.pending, *snapshot.claims, *snapshot.damaged}
    eligible = {name: read.eligible for name, read in world.reads.items()}
    chosen = [
        card
        for key, card in world.cards.items()
        if key in under_way or (eligible.get(card.board, frozenset()) & _columns(card) and key not in world.gone)
    ]
    return iter(sorted(chosen, key=order.key))


def _columns(card: Card) -> frozenset[str]:
    """Its column, or the columns that its labels name."""
    if card.column is not None:
        return frozenset({card.column})
    return frozenset(card.columns_seen) if len(card.columns_seen) > 1 else frozenset()


def pick(world: World, card: Card, board: BoardFacts) -> None:
    """T10 for one card: judge it, then do what its action says."""
    key = (card.board, card.id)
    world.daemon = with_slots(world)
    candidate = facts.candidate(world, card, board, released=_released(world, key))
    decision = gates.quick(candidate, world.now)
    if decision.action in _STARTS or decision.reason in _AFTER_TRUST:
        candidate = trusting.judged(world, candidate)
        decision = gates.quick(candidate, world.now)
        if decision.action is Action.FRESH or decision.reason in _AFTER_BOT:
            candidate = facts.with_bot(world, candidate)
            decision = gates.quick(candidate, world.now)
    if world.station.slots.has(key):
        _executing(world, card, decision)
    else:
        ACTIONS[decision.action](world, Judged(candidate, decision, board))


def _released(world: World, key: Key) -> bool:
    """Whether a park waits for nobody any more: its run may go on, from the waiting column, through the gates."""
    return key in world.snapshot.parks


def _executing(world: World, card: Card, decision: Decision) -> None:
    if card.column != world.roles(card.board).running and decision.action is Action.HOLD:
        world.held[(card.board, card.id)] = decision


def explained(world: World, card: Card, board: BoardFacts) -> gates.Judgement:
    """What ``explain`` prints: the very facts and gates of the tick."""
    key = (card.board, card.id)
    world.daemon = with_slots(world)
    candidate = facts.candidate(world, card, board, released=_released(world, key))
    candidate = facts.with_bot(world, trusting.judged(world, candidate))
    judged = gates.judge(candidate, world.now)
    held = sharing.elsewhere(world, card) if judged.decision.action in _STARTS else None
    if held is None:
        return judged
    reason, told = held
    if reason is Reason.CLAIM_UNCERTAIN:
        return gates.judge(candidate._replace(claim_uncertain=told), world.now)
    return gates.judge(candidate._replace(claimed_elsewhere=told), world.now)
