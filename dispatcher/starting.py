"""Starting a card, point by point: intent, claim, second look, stamp, move, workspace, hooks, the engine's door.

S0 to S6 happen in the tick, S7 to S10 in the slot's thread, because hooks take time. Behind each point a crash leaves
what ``reconcile.recover`` finishes or undoes (dispatcher.md 7). Whether the card may start was decided before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from connectors.base import Absent
from connectors.card import BoardEventType, Card
from connectors.errors import ConnectorError
from dispatcher import breakers, facts, gates, log, moving, trusting
from dispatcher.candidate import BoardFacts, Candidate, Problem
from dispatcher.executing import Plan, execute
from dispatcher.ledger import Transaction, cards, outcomes
from dispatcher.ledger.records import ClaimState, Key, Link
from dispatcher.policy import Action, Decision
from dispatcher.reasons import Reason
from dispatcher.routing import Route, route
from dispatcher.slots import Work
from dispatcher.station import STARTED
from dispatcher.world import World

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """A card with its facts, the decision about it, and the board's facts for a second look."""

    candidate: Candidate
    decision: Decision
    board: BoardFacts

    @property
    def card(self) -> Card:
        """The card as it was judged."""
        return self.candidate.card

    @property
    def key(self) -> Key:
        """Its address."""
        return self.card.board, self.card.id


def start(world: World, wanted: Judged) -> Decision:
    """S0 to S6 and the hand-over to a slot; the decision as it turned out: the start, or the hold."""
    crash, station = world.station.crash, world.station
    crash.passed("S0")
    begun = _planned(world, wanted)
    with station.ledger.together():
        epoch = _claimed(world, wanted, begun)
    crash.passed("S1")
    if not epoch:
        return gates.held(wanted.decision, Reason.CLAIMED_ELSEWHERE, {"owner": "another start", "until": "its end"})
    crash.passed("S2")
    again = _second_look(world, wanted)
    if station.memory.stopping_since and not isinstance(again, Decision):
        again = gates.held(wanted.decision, Reason.STOPPING, {"at": station.memory.stopping_since})
    if isinstance(again, Decision):
        _undo(world, begun.key)
        return again
    crash.passed("S4")
    return _stamped(world, wanted, begun, epoch, again)


def _claimed(world: World, wanted: Judged, begun: cards.Start) -> int:
    """S1 and S2, one commit: the intent, the claim and its event; the epoch, 0 when somebody else has the card."""
    station = world.station
    with station.ledger.write() as connection:
        breakers.by_person(world, connection, wanted.card)
        decided_about = wanted.candidate.run.run_id
        same = cards.points_at(connection, begun.key, decided_about)
        epoch = cards.take(connection, begun.key, begun.number, station.owner, world.now) if same else 0
        if epoch:
            cards.open_intent(connection, begun, station.owner, world.now)
        else:  # the intent that may be there is the owner's
            breakers.repeat(station, connection, begun.key, Reason.CLAIMED_ELSEWHERE.value)
    if epoch:
        world.tell(begun.key, BoardEventType.CARD_CLAIMED, {"epoch": epoch, "run_id": begun.run_id})
    return epoch


def _planned(world: World, wanted: Judged) -> cards.Start:
    fresh = wanted.decision.action is Action.FRESH
    run_id = world.station.ids.new() if fresh else str(wanted.decision.run_id)
    chosen = _route(world, wanted.card) if fresh else None
    return cards.Start(
        key=wanted.key,
        number=wanted.card.number,
        run_id=run_id,
        kind="fresh" if fresh else "resume",
        origin=wanted.card.column or "",
        attended=wanted.candidate.run.gesture,
        resets=wanted.candidate.run.gesture and not wanted.candidate.consumed,
        outcome=-1 if fresh else wanted.candidate.run.outcome,
        bot=chosen.bot if chosen else "",
    )


def _route(world: World, card: Card) -> Route | None:
    found = route(card, world.station.board_settings(card.board), world.find_bot)
    return None if isinstance(found, Problem) else found


def _second_look(world: World, wanted: Judged) -> Card | Decision:
    """S4: the card read by its id, and the gates again; a list may be older than the card."""
    board = wanted.card.board
    try:
        with world.in_time(board, single=True):
            answer = world.station.boards[board].get(wanted.card.id)
    except ConnectorError as error:
        told = facts.unreadable(world, world.reads[board], error.message.rstrip("."))
        return gates.held(wanted.decision, Reason.BOARD_UNREADABLE, told)
    if isinstance(answer, Absent):
        return gates.held(wanted.decision, Reason.CARD_GONE, {"status": answer.kind.value})
    world.cards[wanted.key] = answer
    if (answer.version, answer.blockers) == (wanted.card.version, wanted.card.blockers):
        return answer
    seen = facts.candidate(world, answer, wanted.board, released=wanted.candidate.released)
    fresh = facts.with_bot(world, trusting.judged(world, seen))
    decision = gates.quick(fresh, world.now)
    return decision if decision.action is not wanted.decision.action else answer


def _stamped(world: World, wanted: Judged, begun: cards.Start, epoch: int, card: Card) -> Decision:
    """S5 and S6: the attempt counts and the card points at the run; then the move to the running column."""
    station, crash = world.station, world.station.crash
    before = world.link(begun.key)
    workspace = station.workspace_key(card, before)
    with station.ledger.together():
        link = _pointed(world, begun, epoch, workspace)
    if link is None:
        return gates.held(wanted.decision, Reason.CLAIMED_ELSEWHERE, {"owner": "another start", "until": "its end"})
    world.links[begun.key] = link
    crash.passed("S5")
    chosen = _route(world, card) if begun.kind == "fresh" else None
    by = card.column_mover if begun.attended else ""
    plan = Plan(begun, card, link.attempts, chosen, workspace, epoch, by)
    to = world.roles(card.board).running
    if to is not None and card.column != to:
        result = moving.move(world, card, to, STARTED)
        if result.outcome is moving.Outcome.ELSEWHERE:
            _undo(world, begun.key, pointer=before.last_run if before else "")
            return gates.held(wanted.decision, Reason.COLUMN_NOT_ELIGIBLE, {"name": result.card.column or "no column"})
        if result.outcome is moving.Outcome.PENDING:
            opened = plan.fail(station, "move", result.error)
            if opened is not None:
                breakers.remember(world, opened)
            told = {"from": card.column, "to": to, "id": result.effect_id or "–"}
            return gates.held(wanted.decision, Reason.MOVE_PENDING, told)
        plan = replace(plan, card=result.card)
    else:
        moving.expect(world, card)
    crash.passed("S6")
    return _handed_over(world, wanted, plan)


def _pointed(world: World, begun: cards.Start, epoch: int, workspace: str) -> Link | None:
    """S5, one commit: attempt, pointer, the workspace's place, and the event; None when the claim is another's."""
    station = world.station
    with station.ledger.write() as connection:
        link = cards.stamp(connection, begun, epoch, str(station.workspaces.path_of(workspace)))
        if link is None:
            return None
        outcomes.release_park(connection, begun.key, "moved_in" if begun.attended else "settled", world.now)
    world.tell(begun.key, BoardEventType.LAST_RUN_STAMPED, {"run_id": begun.run_id, "attempt": link.attempts})
    return link


def _handed_over(world: World, wanted: Judged, plan: Plan) -> Decision:
    begun = plan.begun
    link = world.links[begun.key]
    work = Work(
        key=begun.key,
        run_id=begun.run_id,
        column=begun.origin,
        bot=begun.bot or link.bot,
        assignees=plan.card.assignees,
        attempt=plan.attempt,
        since=world.station.clock.monotonic(),
    )
    run: Callable[[], None] = partial(execute, world.station, plan)
    world.station.slots.submit(work, run)
    world.started.append(begun.key)
    breakers.started(world, plan.card)
    event = "run.started" if begun.kind == "fresh" else "run.resumed"
    _log.info(event, board=begun.key[0], card_id=begun.key[1], run_id=begun.run_id, attempt=plan.attempt)
    return wanted.decision._replace(run_id=begun.run_id)


def _undo(world: World, key: Key, pointer: str | None = None) -> None:
    """Give back what was taken, in reverse order: the pointer, the claim's state, the intent."""
    with world.station.ledger.write() as connection:
        if pointer is not None:
            cards.change_link(connection, key, last_run=pointer)
        _restore_claim(world, connection, key)
        cards.close_intent(connection, key)
        link = cards.link(connection, key)
    if link is not None:
        world.links[key] = link


def _restore_claim(world: World, connection: Transaction, key: Key) -> None:
    known = world.snapshot.claims.get(key)
    if known is None:
        cards.release(connection, key)
    else:
        cards.keep_claim(connection, key, known.state if known.state is not ClaimState.LIVE else ClaimState.RETRYING)
