"""What the daemon remembers beside its cards: desired state, idle reasons, breakers, hook marks.

Each verb runs inside the caller's transaction (dispatcher.md 3, 15, 22, 24).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from dispatcher.ledger.records import Breaker, DesiredState, IdleReason, Key
from dispatcher.ledger.rows import one, put, remove, values_of
from dispatcher.ledger.schema import BreakerRow, DesiredRow, HookMark, IdleReasonRow
from engine.store.cursors import Cursor
from engine.store.prepared import PreparedRead

_IDLE, _DESIRED = (PreparedRead(rows.columns, locking=False) for rows in (IdleReasonRow, DesiredRow))
UNREADABLE = DesiredState("paused", "a row of the store that cannot be read", datetime.min.replace(tzinfo=UTC))
"""What holds then: nothing starts before somebody says what is wanted."""


def desired(cursor: Cursor) -> DesiredState | None:
    """What people asked for, None when nobody ever did."""
    rows, broken = _DESIRED.sound(cursor, {})
    if broken:
        return UNREADABLE
    return DesiredState(rows[0]["state"], rows[0]["by"], rows[0]["since"]) if rows else None


def want(cursor: Cursor, made: DesiredState) -> None:
    """Store what people ask for; it survives a new start."""
    put(cursor, DesiredRow, {"id": 1, **values_of(made)})


def idle_reasons(cursor: Cursor) -> dict[Key, IdleReason]:
    """Every idle reason that can be read; the others are written anew."""
    return {(row["board"], row["card_id"]): IdleReason(**row) for row in _IDLE.sound(cursor, {})[0]}


def write_idle_reasons(cursor: Cursor, made: Iterable[IdleReason], gone: Iterable[Key]) -> None:
    """Rewrite the changed ones, drop those that no longer apply."""
    for reason in made:
        put(cursor, IdleReasonRow, values_of(reason))
    for board, card_id in gone:
        remove(cursor, IdleReasonRow, board=board, card_id=card_id)


def breaker(cursor: Cursor, scope: str, name: str) -> Breaker | None:
    """A breaker's row, also while it only counts."""
    row = one(cursor, BreakerRow, scope=scope, name=name)
    return None if row is None else Breaker(**row)


def put_breaker(cursor: Cursor, made: Breaker) -> None:
    """Write a breaker's count or state."""
    put(cursor, BreakerRow, values_of(made))


def drop_breaker(cursor: Cursor, scope: str, name: str) -> int:
    """Close a breaker for good."""
    return remove(cursor, BreakerRow, scope=scope, name=name)


def close_breakers(cursor: Cursor, scope: str) -> int:
    """Close every breaker of that scope."""
    return remove(cursor, BreakerRow, scope=scope)


def hook_result(cursor: Cursor, run_id: str, attempt: int, hook: str) -> str:
    """How that hook of that attempt ended, empty when it did not."""
    row = one(cursor, HookMark, run_id=run_id, attempt=attempt, hook=hook)
    return "" if row is None else str(row["result"])


def mark_hook(cursor: Cursor, mark: tuple[str, int, str], result: str, now: datetime) -> None:
    """Say that the hook of (run, attempt, name) completed."""
    run_id, attempt, hook = mark
    values = {"run_id": run_id, "attempt": attempt, "hook": hook, "result": result, "at": now}
    put(cursor, HookMark, values)
