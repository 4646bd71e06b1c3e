"""Column names that the ledger keeps, when the native board renames or deletes a column (dispatcher.md 29).

Called inside the board's own transaction, so that parks and pending moves never name a column that is gone.
"""

from __future__ import annotations

from sqlalchemy import Connection

from dispatcher.ledger.rows import change
from dispatcher.ledger.schema import CardLink, IntentRow, ParkRow, PendingMoveRow, SettlementRow


def rename_column(connection: Connection, board: str, old: str, new: str) -> None:
    """Say ``new`` wherever a row of the board says ``old``."""
    change(connection, CardLink, {"board": board, "expected_column": old}, expected_column=new)
    change(connection, ParkRow, {"board": board, "column": old}, column=new)
    change(connection, PendingMoveRow, {"board": board, "origin": old}, origin=new)
    change(connection, PendingMoveRow, {"board": board, "to": old}, to=new)
    change(connection, IntentRow, {"board": board, "origin": old}, origin=new)
    change(connection, SettlementRow, {"board": board, "to_column": old}, to_column=new)
