"""Circuit breakers: when the dispatcher stops trying a card or a board, what lets it try again (dispatcher.md 15).

Deciders are pure over a stored row; the verbs below them write it. A breaker that only counts is ``closed``; an open
one holds until its time, then lets one trial through. Rows survive a new start. Capacity and retries never count here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from connectors.card import Card, MoverKind
from dispatcher import log
from dispatcher.ledger import daemon_rows
from dispatcher.ledger.records import Breaker
from dispatcher.world import World

_log = log.get(__name__)
CARD, BOARD = "card", "board"
CLOSED, OPEN, TRIAL = "closed", "open", "trial"
CARD_HOLDS = 3600.0
"""Seconds for which an open breaker holds a card."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many of one cause within a window (seconds) open the breaker for ``holds`` seconds."""

    most: int
    window: float
    holds: float


def counted(row: Breaker | None, made: Breaker, limit: Limit) -> Breaker:
    """The row after one more of ``made``'s cause at ``made.window_start``."""
    now = made.window_start
    if row is None or row.state == TRIAL or (now - row.window_start).total_seconds() > limit.window:
        fresh = replace(made, count=1, state=CLOSED)
    else:
        fresh = replace(row, cause=made.cause, count=row.count + 1)
    again = row is not None and row.state == TRIAL
    if fresh.state == CLOSED and (again or fresh.count >= limit.most):
        return replace(fresh, state=OPEN, until=now + timedelta(seconds=limit.holds))
    return fresh


def holding(row: Breaker | None, now: datetime, window: float) -> Mapping[str, object] | None:
    """The facts of an open breaker's reason; None when it holds nothing now, or its time for a trial has come."""
    if row is None or row.state == CLOSED or row.until is None or now >= row.until:
        return None
    until = row.until.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"n": row.count, "window": f"{window:g} s", "cause": row.cause, "until": until}


def of_card(world: World, card: Card) -> Mapping[str, object] | None:
    """Whether the card's breaker holds it; a person's move lets it through."""
    row = world.snapshot.breakers.get((CARD, f"{card.board}/{card.id}"))
    by_person = card.column_by is MoverKind.PERSON and card.column in world.columns_of(card.board).eligible
    return None if by_person else holding(row, world.now, world.station.settings.breakers.card_window)


def of_board(world: World, board: str) -> Mapping[str, object] | None:
    """Whether the board's breaker holds every card of it."""
    row = world.snapshot.breakers.get((BOARD, board))
    return holding(row, world.now, world.station.settings.breakers.board_window)


def count_move(world: World, card: Card, why: str) -> None:
    """One more move of ours; more than ``breakers.card_moves`` within the window open the card's breaker."""
    settings = world.station.settings.breakers
    limit = Limit(settings.card_moves + 1, settings.card_window, CARD_HOLDS)
    _count(world, CARD, f"{card.board}/{card.id}", f"moved to {card.column} ({why})", limit)


def count_failure(world: World, board: str, code: str) -> None:
    """One more card of the board in the failed column."""
    settings = world.station.settings.breakers
    limit = Limit(settings.board_failures, settings.board_window, settings.half_open_after)
    _count(world, BOARD, board, code or "failed", limit)


def _count(world: World, scope: str, name: str, cause: str, limit: Limit) -> None:
    known = world.snapshot.breakers.get((scope, name))
    row = counted(known, Breaker(scope, name, cause, 0, CLOSED, world.now, None), limit)
    _put(world, row)
    if row.state == OPEN and (known is None or known.state != OPEN):
        _log.warning("breaker.opened", scope=scope, name=name, cause=cause, count=row.count)


def started(world: World, card: Card) -> None:
    """A card of a board whose breaker waits for its trial was started: the others wait for how it ends."""
    row = world.snapshot.breakers.get((BOARD, card.board))
    if row is not None and row.state != CLOSED:
        until = world.now + timedelta(seconds=world.station.settings.breakers.half_open_after)
        _put(world, replace(row, state=TRIAL, until=until))
        _log.info("breaker.trial", scope=BOARD, name=card.board, card_id=card.id)


def succeeded(world: World, card: Card) -> None:
    """A run of the board finished: a trial closes the breaker."""
    row = world.snapshot.breakers.get((BOARD, card.board))
    if row is not None and row.state == TRIAL:
        drop(world, BOARD, card.board)


def by_person(world: World, card: Card) -> None:
    """A person moved the card in: its breaker begins anew."""
    if card.column_by is MoverKind.PERSON and (CARD, f"{card.board}/{card.id}") in world.snapshot.breakers:
        drop(world, CARD, f"{card.board}/{card.id}")


def drop(world: World, scope: str, name: str) -> None:
    """Close a breaker."""
    with world.station.ledger.write() as connection:
        daemon_rows.drop_breaker(connection, scope, name)
    known = world.snapshot.breakers.pop((scope, name), None)
    if known is not None and known.state != CLOSED:
        _log.info("breaker.closed", scope=scope, name=name)


def _put(world: World, row: Breaker) -> None:
    with world.station.ledger.write() as connection:
        daemon_rows.put_breaker(connection, row)
    world.snapshot.breakers[(row.scope, row.name)] = row
