"""Circuit breakers: when the dispatcher stops trying a card or a board, what lets it try again (dispatcher.md 15).

Deciders are pure over a stored row; the verbs below them write it. A breaker that only counts is ``closed``; an open
one holds until its time, then lets one trial through. Rows survive a new start. Capacity and retries never count here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from connectors.card import Card, MoverKind
from dispatcher import log
from dispatcher.ledger import Transaction, daemon_rows
from dispatcher.ledger.records import CLOSED, Breaker, Key
from dispatcher.station import Station
from dispatcher.world import World

_log = log.get(__name__)
PEOPLE = frozenset({MoverKind.PERSON, MoverKind.FORGE})
"""Who counts as a person: on a forge nobody but people and foreign rules move a card."""
CARD, BOARD = "card", "board"
OPEN, TRIAL = "open", "trial"
REPEATS = " repeats"
"""Ends the name of the card breaker that counts what came in a row; the other counts our moves."""
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


def repeated(row: Breaker | None, made: Breaker, limit: Limit) -> Breaker:
    """The row after ``made``'s cause came once more: another cause begins anew, an open one has had its trial."""
    same = row if row is not None and row.cause == made.cause else None
    if same is not None and same.state == OPEN:
        same = replace(same, state=TRIAL)
    return replace(counted(same, made, limit), window_start=made.window_start)


def holding(row: Breaker | None, now: datetime, window: float) -> Mapping[str, object] | None:
    """The facts of an open breaker's reason; None when it holds nothing now, or its time for a trial has come."""
    if row is None or row.state == CLOSED or row.until is None or now >= row.until:
        return None
    until = row.until.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"n": row.count, "window": f"{window:g} s", "cause": row.cause, "until": until}


def of_card(world: World, card: Card) -> Mapping[str, object] | None:
    """Whether one of the card's two breakers holds it; a person's move lets it through."""
    if not world.snapshot.breakers or person_came(world, card):
        return None
    window, name = world.station.settings.breakers.card_window, f"{card.board}/{card.id}"
    rows = (world.snapshot.breakers.get((CARD, each)) for each in (name, name + REPEATS))
    return next((held for held in (holding(row, world.now, window) for row in rows) if held is not None), None)


def person_came(world: World, card: Card) -> bool:
    """Whether a person put the card where it is, after everything that we moved or started there."""
    link = world.link((card.board, card.id))
    return card.column_by in PEOPLE and (link is None or card.column_sequence > link.column_sequence)


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


def repeat(station: Station, connection: Transaction, key: Key, cause: str) -> None:
    """The same launch failure, claim conflict or outcome of a fresh run once more, with no person in between."""
    limit = Limit(station.settings.breakers.same_cause, math.inf, CARD_HOLDS)
    name = f"{key[0]}/{key[1]}{REPEATS}"
    known = daemon_rows.breaker(connection, CARD, name)
    row = repeated(known, Breaker(CARD, name, cause, 0, CLOSED, station.clock.now(), None), limit)
    daemon_rows.put_breaker(connection, row)
    _tell_opened(known, row)


def other_outcome(connection: Transaction, key: Key) -> None:
    """Something else than a fresh run ended: nothing came in a row any more."""
    daemon_rows.drop_breaker(connection, CARD, f"{key[0]}/{key[1]}{REPEATS}")


def _count(world: World, scope: str, name: str, cause: str, limit: Limit) -> None:
    with world.station.ledger.write() as connection:
        known = daemon_rows.breaker(connection, scope, name)
        row = counted(known, Breaker(scope, name, cause, 0, CLOSED, world.now, None), limit)
        daemon_rows.put_breaker(connection, row)
    _remember(world, row)
    _tell_opened(known, row)


def _tell_opened(known: Breaker | None, row: Breaker) -> None:
    if row.state == OPEN and (known is None or known.state != OPEN):
        _log.warning("breaker.opened", scope=row.scope, name=row.name, cause=row.cause, count=row.count)


def _remember(world: World, row: Breaker) -> None:
    if row.state == CLOSED:
        world.snapshot.breakers.pop((row.scope, row.name), None)
    else:
        world.snapshot.breakers[row.scope, row.name] = row


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


def by_person(world: World, connection: Transaction, card: Card) -> None:
    """A person moved the card in: its breakers begin anew."""
    if not person_came(world, card):
        return
    name = f"{card.board}/{card.id}"
    for each in (name, name + REPEATS):
        daemon_rows.drop_breaker(connection, CARD, each)
        if world.snapshot.breakers.pop((CARD, each), None) is not None:
            _log.info("breaker.closed", scope=CARD, name=each)


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
    _remember(world, row)
