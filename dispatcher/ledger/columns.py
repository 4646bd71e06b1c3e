"""Column names that the ledger keeps, when the native board renames or deletes a column (dispatcher.md 29).

Called inside the board's own transaction, so that parks and pending moves never name a column that is gone.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table, update

from dispatcher.ledger.schema import CardLink, IntentRow, ParkRow, PendingMoveRow, SettlementRow

_NAMED: tuple[tuple[Table, str], ...] = (
    (CardLink, "expected_column"),
    (ParkRow, "column"),
    (PendingMoveRow, "origin"),
    (PendingMoveRow, "to"),
    (IntentRow, "origin"),
    (SettlementRow, "to_column"),
)
"""Where a column's name is kept."""


def rename_column(connection: Connection, board: str, old: str, new: str) -> None:
    """Say ``new`` wherever a row of the board says ``old``."""
    for table, name in _NAMED:
        found = update(table).where(table.c.board == board, table.c[name] == old)
        connection.execute(found.values({name: new}))
