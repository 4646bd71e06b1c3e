"""Settlements, retries, parks, stamps and pending moves: what follows an outcome (dispatcher.md 8, 11, 12, 14).

Each verb runs inside the caller's write transaction; deciding is ``settle``'s and ``policy``'s matter.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection

from dispatcher.ledger.records import GiveUp, Key, Park, PendingMove, Retry, Settlement
from dispatcher.ledger.rows import change, one, put, remove, settlement_of
from dispatcher.ledger.schema import GiveUpRow, ParkRow, PendingMoveRow, RetryRow, SettlementRow, Sighting


def settlement(connection: Connection, key: Key, run_id: str, outcome: int) -> Settlement | None:
    """The settlement of that outcome, open or closed."""
    row = one(connection, SettlementRow, board=key[0], card_id=key[1], run_id=run_id, outcome=outcome)
    return None if row is None else settlement_of(row)


def open_settlement(connection: Connection, made: Settlement) -> None:
    """E4: what follows is decided, once."""
    put(connection, SettlementRow, asdict(made))


def change_settlement(connection: Connection, made: Settlement, **values: object) -> None:
    """Note a point that a settlement reached."""
    where = {"board": made.board, "card_id": made.card_id, "run_id": made.run_id, "outcome": made.outcome}
    change(connection, SettlementRow, where, **values)


def schedule(connection: Connection, retry: Retry) -> None:
    """The card's one retry row."""
    put(connection, RetryRow, asdict(retry))


def unschedule(connection: Connection, key: Key) -> int:
    """Drop the retry row."""
    return remove(connection, RetryRow, **_where(key))


def park(connection: Connection, made: Park) -> None:
    """Open a park; an open one of the same card is replaced, its since-time kept when the run is the same."""
    where = {**_where(made.key), "released": ""}
    values = {**asdict(made), "released": "", "released_at": None}
    open_now = one(connection, ParkRow, **where)
    if open_now is None:
        connection.execute(ParkRow.insert().values(**values))
        return
    kept = values if open_now["run_id"] != made.run_id else {**values, "since": open_now["since"]}
    change(connection, ParkRow, where, **kept)


def change_park(connection: Connection, key: Key, **values: object) -> None:
    """Update the open park of a card."""
    change(connection, ParkRow, {**_where(key), "released": ""}, **values)


def release_park(connection: Connection, key: Key, why: str, now: datetime) -> bool:
    """Close the open park of a card, saying why."""
    return bool(change(connection, ParkRow, {**_where(key), "released": ""}, released=why, released_at=now))


def last_release(connection: Connection, key: Key, run_id: str, outcome: int) -> str:
    """Why the newest park of that very outcome ended, empty when there was none."""
    row = one(connection, ParkRow, board=key[0], card_id=key[1], run_id=run_id, outcome=outcome)
    return "" if row is None else str(row["released"])


def stamp_give_up(connection: Connection, made: GiveUp) -> None:
    """The ladder is used up; the stamp is a gate."""
    put(connection, GiveUpRow, asdict(made))


def clear_give_up(connection: Connection, key: Key) -> int:
    """A gesture, answers or a finish wipe the stamp."""
    return remove(connection, GiveUpRow, **_where(key))


def want_move(connection: Connection, made: PendingMove) -> None:
    """A move of ours that must still be seen."""
    put(connection, PendingMoveRow, asdict(made))


def move_seen(connection: Connection, key: Key) -> int:
    """The move was confirmed, or superseded by somebody."""
    return remove(connection, PendingMoveRow, **_where(key))


def sighted(connection: Connection, run_id: str, now: datetime) -> datetime:
    """Since when the run's owner is known to be dead while children hold its lock."""
    row = one(connection, Sighting, run_id=run_id)
    if row is not None:
        seen: datetime = row["seen_at"]
        return seen
    put(connection, Sighting, {"run_id": run_id, "seen_at": now, "stopped": False})
    return now


def forget_sighting(connection: Connection, run_id: str) -> int:
    """The run is promoted or alive again."""
    return remove(connection, Sighting, run_id=run_id)


def _where(key: Key) -> dict[str, object]:
    return {"board": key[0], "card_id": key[1]}
