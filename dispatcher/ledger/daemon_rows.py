"""What the daemon remembers beside its cards: desired state, idle reasons, spend, breakers, hook marks.

Each verb runs inside the caller's transaction (dispatcher.md 3, 15, 22, 24, 28).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, func, select

from dispatcher.ledger.records import Breaker, DesiredState, IdleReason, Key
from dispatcher.ledger.rows import one, put, remove, table_of
from dispatcher.ledger.tables import BreakerRow, DesiredRow, HookMark, IdleReasonRow, SpendRow


def desired(connection: Connection) -> DesiredState | None:
    """What people asked for, None when nobody ever did."""
    row = one(connection, DesiredRow, id=1)
    return None if row is None else DesiredState(row["state"], row["by"], row["since"])


def want(connection: Connection, made: DesiredState) -> None:
    """Store what people ask for; it survives a new start."""
    put(connection, DesiredRow, {"id": 1, **asdict(made)})


def idle_reasons(connection: Connection) -> dict[Key, IdleReason]:
    """Every idle reason."""
    rows = connection.execute(select(table_of(IdleReasonRow))).mappings()
    return {(row["board"], row["card_id"]): IdleReason(**row) for row in rows}


def write_idle_reasons(connection: Connection, made: Iterable[IdleReason], gone: Iterable[Key]) -> None:
    """Rewrite the changed ones, drop those that no longer apply."""
    for reason in made:
        put(connection, IdleReasonRow, asdict(reason))
    for board, card_id in gone:
        remove(connection, IdleReasonRow, board=board, card_id=card_id)


def spend_of_day(connection: Connection, day: str) -> float:
    """USD spent on that UTC day by all runs of the store."""
    table = table_of(SpendRow)
    total = select(func.sum(table.c.cumulative - table.c.at_start)).where(table.c.day == day)
    return float(connection.execute(total).scalar() or 0.0)


def spend_rows(connection: Connection, day: str) -> dict[str, tuple[float, float]]:
    """run -> (cumulative at the day's first look, at its last)."""
    table = table_of(SpendRow)
    rows = connection.execute(select(table).where(table.c.day == day)).mappings()
    return {row["run_id"]: (row["at_start"], row["cumulative"]) for row in rows}


def last_cumulative(connection: Connection, run_id: str) -> float:
    """The run's cumulative cost at its latest look on any day, 0 for a run never seen."""
    table = table_of(SpendRow)
    newest = select(table.c.cumulative).where(table.c.run_id == run_id).order_by(table.c.day.desc()).limit(1)
    return float(connection.execute(newest).scalar() or 0.0)


def note_spend(connection: Connection, day: str, costs: Mapping[str, float]) -> None:
    """Bring the day's cumulative costs up; a resume or a retry cannot count twice."""
    known = spend_rows(connection, day)
    for run_id, cost in costs.items():
        start = known[run_id][0] if run_id in known else last_cumulative(connection, run_id)
        put(connection, SpendRow, {"day": day, "run_id": run_id, "at_start": start, "cumulative": cost})


def put_breaker(connection: Connection, made: Breaker) -> None:
    """Write a breaker's count or state."""
    put(connection, BreakerRow, asdict(made))


def drop_breaker(connection: Connection, scope: str, name: str) -> int:
    """Close a breaker for good."""
    return remove(connection, BreakerRow, scope=scope, name=name)


def hook_result(connection: Connection, run_id: str, attempt: int, hook: str) -> str:
    """How that hook of that attempt ended, empty when it did not."""
    row = one(connection, HookMark, run_id=run_id, attempt=attempt, hook=hook)
    return "" if row is None else str(row["result"])


def mark_hook(connection: Connection, mark: tuple[str, int, str], result: str, now: datetime) -> None:
    """Say that the hook of (run, attempt, name) completed."""
    run_id, attempt, hook = mark
    values = {"run_id": run_id, "attempt": attempt, "hook": hook, "result": result, "at": now}
    put(connection, HookMark, values)
