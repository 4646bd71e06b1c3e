"""Wake-ups that name a card: counted, and no longer heard when nothing about the card comes of them (dispatcher.md 15).

A webhook's delivery is counted where it comes in (``heard``); a tick compares what it read of the card with what an
earlier one did (``heed``). The deciders are pure over the stored row, and the rows survive a new start.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from connectors.card import Card
from dispatcher import log
from dispatcher.breakers import CARD, CARD_HOLDS, OPEN, PEOPLE, WAKES, tell_opened
from dispatcher.ledger import Ledger, daemon_rows
from dispatcher.ledger.records import COUNTING, Breaker, Key
from dispatcher.world import World

_log = log.get(__name__)
MOST, WINDOW = 20, 600.0
"""So many wake-ups of one card within so many seconds are heard while nothing about it changes."""
CAUSE = "a webhook told of it, and nothing about it had changed"


def woken(row: Breaker | None, name: str, now: datetime) -> Breaker:
    """The row after one more wake-up."""
    if row is None or _over(row, now):
        return Breaker(CARD, name, CAUSE, 1, COUNTING, now, None)
    return replace(row, count=row.count + 1)


def deaf(row: Breaker | None, now: datetime) -> bool:
    """Whether wake-ups of the card are not heard now."""
    return row is not None and row.state == OPEN and not _over(row, now)


def compared(row: Breaker, about: str, now: datetime, by_person: bool) -> Breaker | None:
    """The row after a tick found the card's facts to be ``about``, moved last by a person or not; None when there is
    nothing to count any more.

    What was counted before the first look, or before the facts changed, counts no more.
    """
    if _over(row, now):
        return None
    if row.state == OPEN:
        return None if by_person and about.split(" ", 1)[0] != row.about.split(" ", 1)[0] else row
    if row.about != about:
        return replace(row, about=about, count=0, window_start=now)
    if row.count > MOST:
        return replace(row, state=OPEN, until=now + timedelta(seconds=CARD_HOLDS))
    return row


def _over(row: Breaker, now: datetime) -> bool:
    if row.until is not None:
        return now >= row.until
    return not 0 <= (now - row.window_start).total_seconds() <= WINDOW


def heard(ledger: Ledger, key: Key, now: datetime) -> bool:
    """Count a wake-up of the card; False when it may not bring a tick forward. Raises StoreError."""
    name = f"{key[0]}/{key[1]}{WAKES}"
    with ledger.write() as connection:
        row = daemon_rows.breaker(connection, CARD, name)
        if deaf(row, now):
            return False
        daemon_rows.put_breaker(connection, woken(row, name, now))
    return True


def heed(world: World) -> None:
    """Compare every card that was told of with what this tick read; a board that was not read proves nothing."""
    rows = [row for (scope, name), row in world.snapshot.breakers.items() if scope == CARD and name.endswith(WAKES)]
    for row in () if world.dry else rows:
        board, _, card_id = row.name.removesuffix(WAKES).rpartition("/")
        read, card = world.reads.get(board), world.cards.get((board, card_id))
        if read is None or not (read.error or read.standby):
            by_person = card is not None and card.column_by in PEOPLE
            after = compared(row, facts_of(world, (board, card_id)), world.now, by_person)
            if after != row:
                _keep(world, row, after)


def _keep(world: World, before: Breaker, after: Breaker | None) -> None:
    """Write what became of the row; wake-ups that were counted since it was read count for the next look."""
    with world.station.ledger.write() as connection:
        now = daemon_rows.breaker(connection, before.scope, before.name) or before
        if after is None:
            daemon_rows.drop_breaker(connection, before.scope, before.name)
        else:
            after = replace(after, count=after.count + max(0, now.count - before.count))
            daemon_rows.put_breaker(connection, after)
    place = before.scope, before.name
    if after is None:
        world.snapshot.breakers.pop(place, None)
        if before.state == OPEN:
            _log.info("breaker.closed", scope=before.scope, name=before.name)
    else:
        world.snapshot.breakers[place] = after
        tell_opened(before, after)


def facts_of(world: World, key: Key) -> str:
    """The number of the card's last move, and a digest of everything about it that may decide.

    Not when it was looked at or talked about last. A card that no reading shows is in no column that counts.
    """
    card, link = world.cards.get(key), world.link(key)
    record = world.runs.get(link.last_run) if link is not None else None
    run = (record.id, record.status, record.outcome_sequence) if record is not None else ()
    told = repr((_deciding(card) if card is not None else (), run))
    return f"{card.column_sequence if card is not None else 0} {sha256(told.encode()).hexdigest()[:16]}"


def _deciding(card: Card) -> tuple[object, ...]:
    seen = (card.title, card.body, card.column, card.columns_seen, card.closed, card.archived, sorted(card.labels))
    wanted = (card.priority, card.position, sorted(card.assignees), card.bot, sorted(map(repr, card.bot_args.items())))
    return (*seen, *wanted, sorted(map(repr, card.fields.items())), card.blockers, card.not_before)
