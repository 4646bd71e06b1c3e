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
from dispatcher.ledger import Transaction, daemon_rows, outcomes
from dispatcher.ledger.records import CLOSED, COUNTING, Breaker, Key
from dispatcher.station import Station
from dispatcher.world import World

_log = log.get(__name__)
PEOPLE = frozenset({MoverKind.PERSON, MoverKind.FORGE})
"""Who counts as a person: on a forge nobody but people and foreign rules move a card."""
CARD, BOARD = "card", "board"
OPEN, TRIAL = "open", "trial"
REPEATS, WAKES = " repeats", " wakes"
"""End the names of a card's breakers that count what came in a row, and wake-ups; the one without counts our moves."""
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
    if row is not None and again:
        fresh = replace(fresh, count=row.count + 1)
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
    if row is None or row.state in (CLOSED, COUNTING) or row.until is None or now >= row.until:
        return None
    return told(row, row.until, window)


def told(row: Breaker, until: datetime, window: float) -> Mapping[str, object]:
    """What fills the text of an open breaker's reason."""
    at = until.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"n": row.count, "window": f"{window:g} s", "cause": row.cause, "until": at}


def waits(row: Breaker | None, card_id: str, now: datetime, longest: float) -> bool:
    """Whether a card on its way to the failed column waits for the board's trial.

    The trial's own card does not: its failure opens the breaker again. Where no trial came about within ``longest``
    seconds of its time, nobody waits any more.
    """
    if row is None or row.until is None or row.state not in (OPEN, TRIAL):
        return False
    own_trial = row.state == TRIAL and row.about == card_id
    return not own_trial and now < row.until + timedelta(seconds=longest)


def refused(row: Breaker | None, made: Breaker, limit: Limit) -> Breaker | None:
    """The board's row after ``made.count`` of its cards were refused with one cause, last ``made.about``; None when
    it stays as it is."""
    still_open = row is not None and row.state == OPEN and row.until is not None and made.window_start < row.until
    failed_trial = row is not None and row.state == TRIAL and row.about == made.about
    if still_open or not (failed_trial or made.count >= limit.most):
        return None
    return replace(made, state=OPEN, until=made.window_start + timedelta(seconds=limit.holds))


def of_card(world: World, card: Card) -> Mapping[str, object] | None:
    """Whether one of the card's breakers holds it; a person's move lets it through."""
    rows = world.snapshot.breakers
    if not rows:
        return None
    window, name = world.station.settings.breakers.card_window, f"{card.board}/{card.id}"
    names = [name + WAKES, *(() if person_came(world, card) else (name, name + REPEATS))]
    return next((held for each in names if (held := holding(rows.get((CARD, each)), world.now, window))), None)


def person_came(world: World, card: Card) -> bool:
    """Whether a person put the card where it is, after everything that we moved or started there."""
    link = world.link((card.board, card.id))
    return card.column_by in PEOPLE and (link is None or card.column_sequence > link.column_sequence)


def of_board(world: World, board: str) -> Mapping[str, object] | None:
    """Whether the board's breaker holds every card of it."""
    row = world.snapshot.breakers.get((BOARD, board))
    return holding(row, world.now, world.station.settings.breakers.board_window)


def state_of(world: World, board: str) -> str:
    """The state of the board's breaker."""
    row = world.snapshot.breakers.get((BOARD, board))
    return row.state if row is not None else CLOSED


def failing(world: World, board: str, card_id: str) -> Mapping[str, object] | None:
    """What keeps a card from being moved to the failed column now: the board's breaker (dispatcher.md 15)."""
    row, settings = world.snapshot.breakers.get((BOARD, board)), world.station.settings.breakers
    if row is None or not waits(row, card_id, world.now, settings.half_open_after):
        return None
    return told(row, row.until or world.now, settings.board_window)


def count_move(world: World, card: Card, why: str) -> None:
    """One more move of ours; more than ``breakers.card_moves`` within the window open the card's breaker."""
    settings = world.station.settings.breakers
    limit = Limit(settings.card_moves + 1, settings.card_window, CARD_HOLDS)
    _count(world, CARD, f"{card.board}/{card.id}", f"moved to {card.column} ({why})", limit)


def count_failure(world: World, board: str, code: str) -> None:
    """One more card of the board in the failed column."""
    _count(world, BOARD, board, code or "failed", _board_limit(world.station))


def count_refusal(station: Station, connection: Transaction, key: Key, cause: str) -> Breaker | None:
    """The start of a claimed card was refused, and its retry row says so; the board's breaker when that opened it.

    Cards are counted, not attempts: those of the board that wait for another attempt because of the same cause.
    """
    limit, now = _board_limit(station), station.clock.now()
    since = now - timedelta(seconds=limit.window)
    cards = outcomes.refused_with(connection, key[0], cause, since)
    known = daemon_rows.breaker(connection, BOARD, key[0])
    made = Breaker(BOARD, key[0], f"start failed: {cause}", len(cards), CLOSED, now, None, key[1])
    row = refused(known, made, limit)
    if row is not None:
        daemon_rows.put_breaker(connection, row)
        tell_opened(known, row)
    return row


def _board_limit(station: Station) -> Limit:
    settings = station.settings.breakers
    return Limit(settings.board_failures, settings.board_window, settings.half_open_after)


def repeat(station: Station, connection: Transaction, key: Key, cause: str) -> None:
    """The same launch failure, claim conflict or outcome of a fresh run once more, with no person in between."""
    limit = Limit(station.settings.breakers.same_cause, math.inf, CARD_HOLDS)
    name = f"{key[0]}/{key[1]}{REPEATS}"
    known = daemon_rows.breaker(connection, CARD, name)
    row = repeated(known, Breaker(CARD, name, cause, 0, CLOSED, station.clock.now(), None), limit)
    daemon_rows.put_breaker(connection, row)
    tell_opened(known, row)


def other_outcome(connection: Transaction, key: Key) -> None:
    """Something else than a fresh run ended: nothing came in a row any more."""
    daemon_rows.drop_breaker(connection, CARD, f"{key[0]}/{key[1]}{REPEATS}")


def _count(world: World, scope: str, name: str, cause: str, limit: Limit) -> None:
    with world.station.ledger.write() as connection:
        known = daemon_rows.breaker(connection, scope, name)
        row = counted(known, Breaker(scope, name, cause, 0, CLOSED, world.now, None), limit)
        daemon_rows.put_breaker(connection, row)
    remember(world, row)
    tell_opened(known, row)


def tell_opened(known: Breaker | None, row: Breaker) -> None:
    """One line when a breaker opens, one when it closes."""
    was_open = known is not None and known.state == OPEN
    if row.state == OPEN and not was_open:
        _log.warning("breaker.opened", scope=row.scope, name=row.name, cause=row.cause, count=row.count)
    elif row.state == CLOSED and was_open:
        _log.info("breaker.closed", scope=row.scope, name=row.name)


def remember(world: World, row: Breaker) -> None:
    """Later cards of the same tick are judged by the row."""
    if row.state == CLOSED:
        world.snapshot.breakers.pop((row.scope, row.name), None)
    else:
        world.snapshot.breakers[row.scope, row.name] = row


def started(world: World, card: Card) -> None:
    """A card of a board whose breaker waits for its trial was started: the others wait for how it ends."""
    row = world.snapshot.breakers.get((BOARD, card.board))
    if row is not None and row.state != CLOSED:
        until = world.now + timedelta(seconds=world.station.settings.breakers.half_open_after)
        _put(world, replace(row, state=TRIAL, until=until, about=card.id))
        _log.info("breaker.trial", scope=BOARD, name=card.board, card_id=card.id)


def succeeded(world: World, card: Card) -> None:
    """A run of the card finished: if it was the trial, the breaker of the board closes."""
    row = world.snapshot.breakers.get((BOARD, card.board))
    if row is not None and row.state == TRIAL and row.about == card.id:
        drop(world, BOARD, card.board)


def by_person(world: World, connection: Transaction, card: Card) -> None:
    """A person moved the card in: its breakers begin anew."""
    if not person_came(world, card):
        return
    name = f"{card.board}/{card.id}"
    for each in (name, name + REPEATS, name + WAKES):
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
    remember(world, row)
