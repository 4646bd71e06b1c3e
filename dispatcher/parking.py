"""Parks: made when a row is missing, ended when their condition is met, made again after a move (dispatcher.md 11).

Phase T8. It runs before picking, so that a release is a candidate in the same tick. A park whose run may go on is left
open here and closed by the start itself (S5); until then the card keeps its column and shows the gate's reason.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from connectors.card import BoardEventType, Card
from dispatcher import breakers, doubts, facts, following, log, moving
from dispatcher.commenting import say
from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import ClaimState, Follows, GiveUp, Key, Link, Park
from dispatcher.policy import Action, Decision, Found, RunFacts, decide
from dispatcher.reasons import PARK_CAUSES, Reason, ended, render
from dispatcher.world import World
from engine import states
from engine.run import RunRecord

_log = log.get(__name__)
PARKS = frozenset(PARK_CAUSES)
"""The reasons that park."""


def unpark(world: World) -> None:
    """T8: every card under way that is not executing, by the table; then the stamps of ladders that are used up."""
    for key in sorted(world.snapshot.active()):
        card, link = world.cards.get(key), world.link(key)
        if card is None or link is None or world.station.slots.has(key) or key in world.snapshot.settlements:
            continue
        world.careful(world, key, partial(_one, world, card, link))
    if world.wrote:
        world.refresh()


def _one(world: World, card: Card, link: Link) -> None:
    key = (card.board, card.id)
    park = world.snapshot.parks.get(key)
    if park is not None and park.reason == Reason.PARKED_AMBIGUOUS and not world.dry:
        doubts.ask(world.station, doubts.stopping(world, link.last_run), world.now)
    told = facts.run_facts(world, card)
    record = world.runs.get(link.last_run)
    decision = decide(told, world.now)
    if not told.gesture and (park is not None or moving.back_to_work(world, card)) and _move_again(world, card):
        return
    if park is not None and record is not None and states.is_running(record.status):
        _resumed(world, card, link)
    elif park is not None and told.found in (Found.NONE, Found.ABSENT):
        _ended(world, card, link, "deleted")
    elif decision.action is Action.PARK and record is not None:
        _park(world, card, told, record, decision)
    elif decision.action is Action.GIVE_UP and record is not None and _may_give_up(world, key):
        give_up(world, card, record, decision)


def _may_give_up(world: World, key: Key) -> bool:
    return key not in world.snapshot.give_ups and breakers.failing(world, *key) is None


def _move_again(world: World, card: Card) -> bool:
    """A park's move that the board did not take is made again when its pause is over; whether it was."""
    pending = world.snapshot.pending.get((card.board, card.id))
    if pending is None or world.dry or world.now < pending.next_at or card.column != pending.origin:
        return False
    moving.move(world, card, pending.to, pending.why)
    return True


def park_now(world: World, card: Card) -> bool:
    """Park a card for which nothing was under way, if the table says so; whether it did."""
    told = facts.run_facts(world, card)
    decision = decide(told, world.now)
    record = world.runs.get(told.run_id)
    if decision.action is not Action.PARK or record is None:
        return False
    _park(world, card, told, record, decision)
    return True


def _resumed(world: World, card: Card, link: Link) -> None:
    """The run goes on, by somebody's word: the card goes back to the running column."""
    key = (card.board, card.id)
    world.note(key, link.number, Decision(Action.UNPARK, None, moving.RESUMED, "", "", link.last_run))
    if world.dry:
        return
    to, park = world.roles(card.board).running, world.snapshot.parks[key]
    with moving.one_commit(world, card.board):
        with world.station.ledger.write() as connection:
            outcomes.release_park(connection, key, moving.RESUMED, world.now)
        if to and card.column == park.column:
            moving.move(world, card, to, moving.RESUMED)
    world.wrote = True
    _log.info("run.unparked", board=card.board, card_id=card.id, run_id=link.last_run, why=moving.RESUMED)


def _ended(world: World, card: Card, link: Link, why: str) -> None:
    key = (card.board, card.id)
    world.note(key, link.number, Decision(Action.UNPARK, None, why, "", "", None))
    if world.dry:
        return
    with world.station.ledger.write() as connection:
        outcomes.release_park(connection, key, why, world.now)
        cards.release(connection, key)
    world.wrote = True


def _park(world: World, card: Card, told: RunFacts, record: RunRecord, decision: Decision) -> None:
    """A park that is missing, has another cause by now, or was left by a move that does not suffice."""
    key = (card.board, card.id)
    park = world.snapshot.parks.get(key)
    same = park is not None and park.reason == decision.reason and park.outcome == record.outcome_sequence
    if (same and not told.gesture) or breakers.of_card(world, card) is not None:
        return
    link = world.links[key]
    world.note(key, link.number, decision)
    if world.dry:
        return
    made = following.park_of(world, following.case_of(world, card, record, decision))
    _write(world, card, made, handled=card.column_sequence if told.gesture else 0)
    to = world.roles(card.board).awaiting_input
    if to and card.column != to:
        moving.move(world, card, to, Follows.PARKED.value)
    if told.gesture:
        _say_again(world, card, made)
    _log.info("run.parked", board=card.board, card_id=card.id, run_id=record.id, reason=made.reason)


def _write(world: World, card: Card, made: Park, handled: int) -> None:
    key: Key = (card.board, card.id)
    with world.station.ledger.write() as connection:
        breakers.by_person(world, connection, card)
        outcomes.park(connection, made)
        outcomes.unschedule(connection, key)
        if handled:
            cards.change_link(connection, key, handled_sequence=handled)
        claimed = key in world.snapshot.claims
        if not claimed:
            cards.take(connection, key, card.number, world.station.owner, world.now)
        cards.keep_claim(connection, key, ClaimState.PARKED)
        link = cards.link(connection, key)
    if link is not None:
        world.links[key] = link
    world.snapshot.parks[key] = made
    world.wrote = True


def _say_again(world: World, card: Card, park: Park) -> None:
    """One comment that names what is asked and the command, repeated only for a new question."""
    reason = Reason(park.reason)
    text, unblock = render(reason, {"run": park.run_id, **json.loads(park.facts)})
    told = f"Moving the card does not continue it: {ended(text)} To go on: {ended(unblock)}"
    say(world, card, told, f"run={park.run_id} asks={park.outcome}")


def give_up(world: World, card: Card, record: RunRecord, decision: Decision) -> None:
    """The ladder is used up and nothing said so yet: stamp, column, claim."""
    world.note((card.board, card.id), card.number, decision)
    if world.dry:
        return
    case = following.case_of(world, card, record, decision)
    stamp = replace(following.stamp_of(world, case), attempts=world.links[case.link.key].attempts)
    _stamp(world, card, stamp)


def give_up_launching(world: World, card: Card, link: Link) -> None:
    """Every attempt ended before there was a run: the same, with the cause of the last one."""
    retry = world.snapshot.retries.get(link.key)
    code = retry.code if retry else "launch"
    told = {"n": link.attempts, "code": code, "error": "no run came to be"}
    text, unblock = render(Reason.GAVE_UP, told)
    world.note(link.key, card.number, Decision(Action.GIVE_UP, Reason.GAVE_UP, text, unblock, "R01", None))
    if not world.dry:
        _stamp(world, card, following.launch_stamp(world, card, link, code))


def _stamp(world: World, card: Card, stamp: GiveUp) -> None:
    key = (card.board, card.id)
    with world.station.ledger.write() as connection:
        outcomes.stamp_give_up(connection, stamp)
        outcomes.unschedule(connection, key)
        outcomes.release_park(connection, key, "gave_up", world.now)
        cards.release(connection, key)
        cards.change_link(connection, key, handled_sequence=card.column_sequence)
    world.wrote = True
    world.tell(key, BoardEventType.GAVE_UP, {"attempts": stamp.attempts, "code": stamp.code})
    to = world.roles(card.board).failed
    if to and card.column != to:
        moving.move(world, card, to, Follows.GAVE_UP.value)
        breakers.count_failure(world, card.board, stamp.code)
    world.station.memory.tally.count("pointsman_gave_up_total", board=card.board, failure_code=stamp.code)
    _log.warning("run.gave_up", board=card.board, card_id=card.id, run_id=stamp.run_id, code=stamp.code)
