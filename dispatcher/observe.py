"""What people did meanwhile: cards moved, closed or gone, and what that means for their work (dispatcher.md 13, 14).

Phases T6 and T7. Only cards with something under way are looked at; an absence counts only after a by-id read of that
very card. A failed read means nothing here. The only moves this module causes are none: it interrupts and releases.
"""

from __future__ import annotations

from functools import partial

from connectors.card import Card, MoverKind
from dispatcher import log, moving
from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import OWED, Key, Link, Park
from dispatcher.policy import Action, Decision
from dispatcher.station import INTERRUPT_CARD_GONE, INTERRUPT_EXTERNAL_MOVE, INTERRUPT_STALL
from dispatcher.world import World
from engine import states

_log = log.get(__name__)
LEAST = 4
"""So many cards at least may disappear in one tick before a second complete read is wanted."""


def observe(world: World) -> None:
    """T6: compare each card under way with its link."""
    active = world.snapshot.active()
    lost = {key for key in active if _away(world, key)}
    doubted = _doubted(world, lost, active)
    for key in sorted(active - doubted):
        world.careful(world, key, partial(_observe_one, world, key))
    for key in [key for key, begun in world.snapshot.intents.items() if begun.point == OWED]:
        _forgiven(world, key)
    if world.wrote:
        world.refresh()


def _forgiven(world: World, key: Key) -> None:
    """A start is owed as long as its card stands in the running column."""
    card, read = world.cards.get(key), world.reads.get(key[0])
    absent = card is None and read is not None and read.complete
    left = key in world.gone or absent or (card is not None and card.column != world.roles(key[0]).running)
    if left and not world.dry:
        with world.station.ledger.write() as connection:
            cards.forgive(connection, key)
        world.wrote = True


def _away(world: World, key: Key) -> bool:
    card = world.cards.get(key)
    link = world.link(key)
    if key in world.gone:
        return True
    return card is not None and link is not None and _left(world, card, link)


def _doubted(world: World, lost: set[Key], active: frozenset[Key]) -> frozenset[Key]:
    """The brake of section 14: one fault must not interrupt many; a second complete read that says the same may."""
    seen, doubted = world.station.memory.disappeared, frozenset[Key]()
    for board in {key[0] for key in active} | set(seen):
        of_board = [key for key in active if key[0] == board]
        gone_here = frozenset(key for key in lost if key[0] == board)
        many = len(gone_here) > max(LEAST, len(of_board) // 2)
        before, seen[board] = seen.get(board, frozenset()), gone_here if many else frozenset()
        doubted |= gone_here - before if many else frozenset()
    return doubted


def _left(world: World, card: Card, link: Link) -> bool:
    """Whether somebody else put the card out of the eligible columns, or closed it."""
    if card.column_by is MoverKind.DISPATCHER or _own_move(card, link):
        return False
    if card.closed:
        return True
    if card.column == link.expected_column or not link.expected_column:
        return False
    return card.column not in world.columns_of(card.board).eligible


def _own_move(card: Card, link: Link) -> bool:
    return card.column_by is MoverKind.BOT and card.column_run == link.last_run


def _observe_one(world: World, key: Key) -> None:
    link, card = world.link(key), world.cards.get(key)
    if link is None:
        _never_claimed(world, key, card)
        return
    if key in world.gone:
        _gone(world, key, link)
        return
    if card is None:
        return
    park = world.snapshot.parks.get(key)
    if park is not None:
        if _arrived(world, card):
            moving.expect(world, card)
        _parked(world, card, link, park)
    elif world.station.slots.has(key):
        _executing(world, card, link)
    else:
        _waiting(world, card, link)


def _arrived(world: World, card: Card) -> bool:
    """Whether a move of ours whose answer was lost is seen."""
    pending = world.snapshot.pending.get((card.board, card.id))
    return pending is not None and card.column == pending.to and card.column_by is MoverKind.DISPATCHER


def _never_claimed(world: World, key: Key, card: Card | None) -> None:
    """A card that only waited for others: our move of it is over once it is elsewhere, or the card is gone."""
    pending = world.snapshot.pending.get(key)
    seen = key in world.gone or (card is not None and card.column != (pending.origin if pending else ""))
    if pending is None or not seen or world.dry:
        return
    with world.station.ledger.write() as connection:
        outcomes.move_seen(connection, key)
    world.wrote = True


def _executing(world: World, card: Card, link: Link) -> None:
    if _left(world, card, link):
        interrupt(world, (card.board, card.id), link, INTERRUPT_EXTERNAL_MOVE)
    elif card.column_sequence > link.column_sequence:
        moving.expect(world, card)


def _waiting(world: World, card: Card, link: Link) -> None:
    """Between attempts, or with a move of ours that was not confirmed."""
    key = (card.board, card.id)
    if key in world.snapshot.settlements or (_alive(world, link) and moving.back_to_work(world, card)):
        return
    if key in world.snapshot.pending or card.column_by is MoverKind.DISPATCHER or _own_move(card, link):
        if card.column != link.expected_column or key in world.snapshot.pending:
            moving.expect(world, card)
        return
    if _left(world, card, link) and not _alive(world, link):
        release(world, key, link, "moved_out")


def _alive(world: World, link: Link) -> bool:
    record = world.runs.get(link.last_run)
    return record is not None and states.is_running(record.status)


def _parked(world: World, card: Card, link: Link, park: Park) -> None:
    key = (card.board, card.id)
    if world.dry and card.column == park.column:
        return
    if not park.column and not world.dry:
        with world.station.ledger.write() as connection:
            outcomes.change_park(connection, key, column=card.column or "", seen=True)
        world.wrote = True
        return
    if card.column == park.column and not card.closed:
        if not park.seen:
            with world.station.ledger.write() as connection:
                outcomes.change_park(connection, key, seen=True)
            world.wrote = True
        return
    told_by_mover = card.column_sequence > link.column_sequence and card.column_by is not MoverKind.DISPATCHER
    if (card.closed or park.seen or told_by_mover) and _out(world, card):
        release(world, key, link, "moved_out")


def _out(world: World, card: Card) -> bool:
    return card.closed or card.column not in world.columns_of(card.board).eligible


def _gone(world: World, key: Key, link: Link) -> None:
    if world.station.slots.has(key):
        interrupt(world, key, link, INTERRUPT_CARD_GONE)
    else:
        release(world, key, link, "gone")


def release(world: World, key: Key, link: Link, why: str) -> None:
    """The card left: its park and retry are closed, the claim goes, the run stays as it is."""
    decision = Decision(Action.RELEASE, None, why, "", "", link.last_run or None)
    world.note(key, link.number, decision)
    if world.dry:
        return
    with world.station.ledger.write() as connection:
        outcomes.release_park(connection, key, why, world.now)
        outcomes.unschedule(connection, key)
        outcomes.move_seen(connection, key)
        cards.release(connection, key)
    world.wrote = True
    _log.info("card.observed_move", board=key[0], card_id=key[1], run_id=link.last_run, why=why)


def interrupt(world: World, key: Key, link: Link, cause: str) -> None:
    """A machine's stop: the cause is written and the stop signalled, once."""
    if world.dry or not world.station.slots.stop_asked(key, cause, world.station.clock.monotonic()):
        return
    decision = Decision(Action.INTERRUPT, None, cause, "", "", link.last_run)
    world.note(key, link.number, decision)
    world.station.engine.interrupt(link.last_run, cause)
    world.station.memory.tally.count("pointsman_interrupts_total", cause=cause)
    _log.warning("run.interrupted", board=key[0], card_id=key[1], run_id=link.last_run, cause=cause)


def watch(world: World) -> None:
    """T7: runs in which nothing moves, and stops that are overdue."""
    station = world.station
    limit = station.settings.runs.stall_timeout
    executing = set(station.engine.executing())
    for work in station.slots.executing():
        _overdue(world, work.key, work.run_id)
        if limit and (work.run_id in executing or station.engine.isolated()):
            world.careful(world, work.key, partial(_watch_one, world, work.key, work.run_id))


def _watch_one(world: World, key: Key, run_id: str) -> None:
    link = world.link(key)
    silent, limit = world.station.engine.silent_for(run_id), world.station.settings.runs.stall_timeout
    if link is not None and silent >= limit and _running_for(world, silent) >= limit:
        interrupt(world, key, link, INTERRUPT_STALL)


def _running_for(world: World, seconds: float) -> float:
    """Of the last ``seconds`` those in which this process ran at all; it may have been stopped in this very tick."""
    pulse, now = world.station.memory.pulse, world.station.clock.monotonic()
    pulse.look(now)
    return seconds - pulse.missed(now - seconds)


def _overdue(world: World, key: Key, run_id: str) -> None:
    """A stop under way holds the card; one that outlasts its grace is said once."""
    slots, grace = world.station.slots, world.station.settings.runs.stop_grace
    told = slots.stopping(key)
    if told is None:
        return
    cause, since = told
    world.waiting_to_settle[key] = {"cause": cause, "run": run_id}
    if _running_for(world, world.station.clock.monotonic() - since) > grace and slots.mark_overdue(key):
        killed = world.station.engine.kill(run_id)
        _log.error("run.stop_overdue", board=key[0], card_id=key[1], run_id=run_id, cause=cause, killed=killed)
