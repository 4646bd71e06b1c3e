"""Our own moves of cards: compare-and-set, written down before and confirmed by a read (dispatcher.md 8, 14).

One owner per move: settling moves for outcomes and parks, picking for starts and blockers. A move that the board does
not take stays *pending*; a card that is not where we expect it is a person's word, and is left alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from connectors.base import Absent, Move, Moved
from connectors.card import Card, Mover, MoverKind
from connectors.errors import ConnectorError, UnknownColumn
from dispatcher import breakers, log
from dispatcher.ladder import wait_after
from dispatcher.ledger import cards, outcomes
from dispatcher.ledger.records import PendingMove
from dispatcher.world import World

_log = log.get(__name__)


class Outcome(StrEnum):
    """How a move ended."""

    MOVED = "moved"
    THERE = "there"
    """The card was in the column already."""
    ELSEWHERE = "elsewhere"
    """Somebody put the card somewhere else; it stays there."""
    PENDING = "pending"
    """The board did not take it now."""
    UNMAPPED = "unmapped"
    """The board has no such column."""


RESUMED = "resumed"
"""Why a park ends, and its card goes back to the running column: somebody resumed the run."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a move ended, and the card as the board shows it now; ``effect_id`` is the row of the call that failed."""

    outcome: Outcome
    card: Card
    error: str = ""
    effect_id: str = ""


def move(world: World, card: Card, to: str, why: str) -> Result:
    """Move the card from where it was read to ``to``; the link and the pending row follow, in one commit if it can be.

    A board of this very store joins it; the call of any other board is made outside of every transaction.
    """
    with one_commit(world, card.board):
        return _move(world, card, to, why)


def one_commit(world: World, board: str) -> AbstractContextManager[None]:
    """One commit for what is written about a card on that board, where the board lies in the ledger's own store."""
    kept_here = getattr(world.station.boards.get(board), "record", None) is not None
    return world.station.ledger.together() if kept_here else nullcontext()


def _move(world: World, card: Card, to: str, why: str) -> Result:
    station, key = world.station, (card.board, card.id)
    wanted = Move(to, Mover(MoverKind.DISPATCHER, station.settings.name), card.column, reason=why)
    try:
        answer = station.boards[card.board].move(card.id, wanted)
    except UnknownColumn:
        return Result(Outcome.UNMAPPED, card)
    except ConnectorError as error:
        _pend(world, card, to, why, error.effect_id)
        _log.warning("card.move_pending", board=card.board, card_id=card.id, to=to, error=error.message)
        return Result(Outcome.PENDING, card, error.message, error.effect_id)
    if isinstance(answer, Absent):
        return Result(Outcome.ELSEWHERE, card, "the card is gone")
    world.cards[key] = answer.card
    if not isinstance(answer, Moved):
        _confirmed(world, answer.card, expected=False)
        return Result(Outcome.ELSEWHERE, answer.card, answer.why)
    _confirmed(world, answer.card, expected=True)
    if answer.changed:
        breakers.count_move(world, answer.card, why)
        _log.info("card.moved", board=card.board, card_id=card.id, to=to, why=why)
    return Result(Outcome.MOVED if answer.changed else Outcome.THERE, answer.card)


def expect(world: World, card: Card) -> None:
    """The card's present column is where it belongs: ours, or the run's own move."""
    _confirmed(world, card, expected=True)


def _confirmed(world: World, card: Card, *, expected: bool) -> None:
    if world.dry:
        return
    key = (card.board, card.id)
    pending = key in world.snapshot.pending
    link = world.link(key)
    values: dict[str, object] = {"column_sequence": card.column_sequence} if expected else {}
    if expected and card.column is not None:
        values["expected_column"] = card.column
    known = link is not None and all(getattr(link, name) == value for name, value in values.items())
    if known and not pending:
        return
    with world.station.ledger.write() as connection:
        fresh = cards.change_link(connection, key, **values) if values else None
        if pending:
            outcomes.move_seen(connection, key)
    if fresh is not None:
        world.links[key] = fresh
    world.wrote = True


def back_to_work(world: World, card: Card) -> bool:
    """Whether the card is still where it was parked, since the board did not take its way back when its run went on."""
    pending = world.snapshot.pending.get((card.board, card.id))
    return pending is not None and pending.why == RESUMED and pending.origin == card.column


def _pend(world: World, card: Card, to: str, why: str, effect_id: str) -> None:
    key = (card.board, card.id)
    known = world.snapshot.pending.get(key)
    attempts = known.attempts + 1 if known else 1
    wait = timedelta(seconds=wait_after(attempts, world.station.retry_settings()))
    since = known.since if known else world.now
    made = PendingMove(card.board, card.id, card.column or "", to, why, effect_id, attempts, since, world.now + wait)
    with world.station.ledger.write() as connection:
        outcomes.want_move(connection, made)
    world.snapshot.pending[key] = made
