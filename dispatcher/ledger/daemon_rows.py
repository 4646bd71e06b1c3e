"""What the daemon remembers beside its cards: desired state, idle reasons, breakers, hook marks.

Each verb runs inside the caller's transaction (dispatcher.md 3, 15, 22, 24).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, select

from dispatcher.ledger.records import Breaker, DesiredState, IdleReason, Key
from dispatcher.ledger.rows import one, put, remove
from dispatcher.ledger.schema import BreakerRow, DesiredRow, HookMark, IdleReasonRow


def desired(connection: Connection) -> DesiredState | None:
    """What people asked for, None when nobody ever did."""
    row = one(connection, DesiredRow, id=1)
    return None if row is None else DesiredState(row["state"], row["by"], row["since"])


def want(connection: Connection, made: DesiredState) -> None:
    """Store what people ask for; it survives a new start."""
    put(connection, DesiredRow, {"id": 1, **asdict(made)})


def idle_reasons(connection: Connection) -> dict[Key, IdleReason]:
    """Every idle reason."""
    rows = connection.execute(select(IdleReasonRow)).mappings()
    return {(row["board"], row["card_id"]): IdleReason(**row) for row in rows}


def write_idle_reasons(connection: Connection, made: Iterable[IdleReason], gone: Iterable[Key]) -> None:
    """Rewrite the changed ones, drop those that no longer apply."""
    for reason in made:
        put(connection, IdleReasonRow, asdict(reason))
    for board, card_id in gone:
        remove(connection, IdleReasonRow, board=board, card_id=card_id)


def breaker(connection: Connection, scope: str, name: str) -> Breaker | None:
    """A breaker's row, also while it only counts."""
    row = one(connection, BreakerRow, scope=scope, name=name)
    return None if row is None else Breaker(**row)


def put_breaker(connection: Connection, made: Breaker) -> None:
    """Write a breaker's count or state."""
    put(connection, BreakerRow, asdict(made))


def drop_breaker(connection: Connection, scope: str, name: str) -> int:
    """Close a breaker for good."""
    return remove(connection, BreakerRow, scope=scope, name=name)


def close_breakers(connection: Connection, scope: str) -> int:
    """Close every breaker of that scope."""
    return remove(connection, BreakerRow, scope=scope)


def hook_result(connection: Connection, run_id: str, attempt: int, hook: str) -> str:
    """How that hook of that attempt ended, empty when it did not."""
    row = one(connection, HookMark, run_id=run_id, attempt=attempt, hook=hook)
    return "" if row is None else str(row["result"])


def mark_hook(connection: Connection, mark: tuple[str, int, str], result: str, now: datetime) -> None:
    """Say that the hook of (run, attempt, name) completed."""
    run_id, attempt, hook = mark
    values = {"run_id": run_id, "attempt": attempt, "hook": hook, "result": result, "at": now}
    put(connection, HookMark, values)
