"""Settlements, retries, parks, stamps and pending moves: what follows an outcome (dispatcher.md 8, 11, 12, 14).

Each verb runs inside the caller's write transaction; deciding is ``settle``'s and ``policy``'s matter.
"""

from __future__ import annotations

from datetime import datetime

from dispatcher.ledger.records import GiveUp, Key, Park, PendingMove, Retry, Settlement
from dispatcher.ledger.rows import add, change, many, one, put, remove, settlement_of, values_of
from dispatcher.ledger.schema import GiveUpRow, ParkRow, PendingMoveRow, RetryRow, SettlementRow, Sighting
from engine.store.cursors import Cursor


def settlement(cursor: Cursor, key: Key, run_id: str, outcome: int) -> Settlement | None:
    """The settlement of that outcome, open or closed."""
    row = one(cursor, SettlementRow, board=key[0], card_id=key[1], run_id=run_id, outcome=outcome)
    return None if row is None else settlement_of(row)


def open_settlement(cursor: Cursor, made: Settlement) -> None:
    """E4: what follows is decided, once."""
    put(cursor, SettlementRow, values_of(made))


def change_settlement(cursor: Cursor, made: Settlement, **values: object) -> None:
    """Note a point that a settlement reached."""
    where = {"board": made.board, "card_id": made.card_id, "run_id": made.run_id, "outcome": made.outcome}
    change(cursor, SettlementRow, where, **values)


def schedule(cursor: Cursor, retry: Retry) -> None:
    """The card's one retry row."""
    put(cursor, RetryRow, values_of(retry))


def unschedule(cursor: Cursor, key: Key) -> int:
    """Drop the retry row."""
    return remove(cursor, RetryRow, **_where(key))


def refused_with(cursor: Cursor, board: str, cause: str, since: datetime) -> frozenset[str]:
    """The cards of the board whose last start was refused with that cause, at ``since`` or later."""
    rows = many(cursor, RetryRow, board=board, cause=cause, code=cause)
    return frozenset(row["card_id"] for row in rows if row["scheduled_at"] >= since)


def park(cursor: Cursor, made: Park) -> None:
    """Open a park; an open one of the same card is replaced, its since-time kept when the run is the same."""
    where = {**_where(made.key), "released": ""}
    values = {**values_of(made), "released": "", "released_at": None}
    open_now = one(cursor, ParkRow, **where)
    if open_now is None:
        add(cursor, ParkRow, values)
        return
    kept = values if open_now["run_id"] != made.run_id else {**values, "since": open_now["since"]}
    change(cursor, ParkRow, where, **kept)


def change_park(cursor: Cursor, key: Key, **values: object) -> None:
    """Update the open park of a card."""
    change(cursor, ParkRow, {**_where(key), "released": ""}, **values)


def release_park(cursor: Cursor, key: Key, why: str, now: datetime) -> bool:
    """Close the open park of a card, saying why."""
    return bool(change(cursor, ParkRow, {**_where(key), "released": ""}, released=why, released_at=now))


def last_release(cursor: Cursor, key: Key, run_id: str, outcome: int) -> str:
    """Why the newest park of that very outcome ended, empty when there was none."""
    row = one(cursor, ParkRow, board=key[0], card_id=key[1], run_id=run_id, outcome=outcome)
    return "" if row is None else str(row["released"])


def stamp_give_up(cursor: Cursor, made: GiveUp) -> None:
    """The ladder is used up; the stamp is a gate."""
    put(cursor, GiveUpRow, values_of(made))


def clear_give_up(cursor: Cursor, key: Key) -> int:
    """A gesture, answers or a finish wipe the stamp."""
    return remove(cursor, GiveUpRow, **_where(key))


def want_move(cursor: Cursor, made: PendingMove) -> None:
    """A move of ours that must still be seen."""
    put(cursor, PendingMoveRow, values_of(made))


def move_seen(cursor: Cursor, key: Key) -> int:
    """The move was confirmed, or superseded by somebody."""
    return remove(cursor, PendingMoveRow, **_where(key))


def sighted(cursor: Cursor, run_id: str, now: datetime) -> datetime:
    """Since when the run's owner is known to be dead while children hold its lock."""
    row = one(cursor, Sighting, run_id=run_id)
    if row is not None:
        seen: datetime = row["seen_at"]
        return seen
    put(cursor, Sighting, {"run_id": run_id, "seen_at": now, "stopped": False})
    return now


def forget_sighting(cursor: Cursor, run_id: str) -> int:
    """The run is promoted or alive again."""
    return remove(cursor, Sighting, run_id=run_id)


def _where(key: Key) -> dict[str, object]:
    return {"board": key[0], "card_id": key[1]}
