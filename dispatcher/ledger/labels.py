"""The rows of claim labels: wanted before they are put on a card, shown once they are there (connectors.md 19)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from dispatcher.ledger.records import Key
from dispatcher.ledger.rows import many, put, remove
from dispatcher.ledger.schema import ForgeClaim

if TYPE_CHECKING:
    from dispatcher.ledger.ledger import Ledger

WANTED, SHOWN = "label wanted", "label shown"
LABEL = "label"
"""What these rows are about; the table has those of claims, too."""


def of_board(ledger: Ledger, board: str) -> dict[str, bool]:
    """card id -> whether its label is known to be there."""
    with ledger.database.read_raw() as cursor:
        rows = many(cursor, ForgeClaim, board=board, what=LABEL)
    return {row["card_id"]: row["state"] == SHOWN for row in rows}


def keep(ledger: Ledger, key: Key, now: datetime, *, shown: bool) -> None:
    """The label is wanted, or there."""
    with ledger.write() as cursor:
        values = {"state": SHOWN if shown else WANTED, "until": now}
        put(cursor, ForgeClaim, {"board": key[0], "card_id": key[1], "what": LABEL, **values})


def drop(ledger: Ledger, key: Key) -> None:
    """The label is gone."""
    with ledger.write() as cursor:
        remove(cursor, ForgeClaim, board=key[0], card_id=key[1], what=LABEL)
