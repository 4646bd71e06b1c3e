"""Webhook deliveries that came in: each id once, kept for a week (connectors.md 15).

Called by ``dispatcher/web/deliveries.py`` and by ``doctor``. A row hurries nothing and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete

from dispatcher.ledger.ledger import Ledger
from dispatcher.ledger.rows import add, many, one
from dispatcher.ledger.schema import ForgeDelivery
from engine.store.prepared import Prepared

KEPT = timedelta(days=7)
_FORGET = Prepared(
    delete(ForgeDelivery).where(
        ForgeDelivery.c.received_at < bindparam("before", type_=ForgeDelivery.c.received_at.type)
    )
)


@dataclass(frozen=True, slots=True)
class Received:
    """One delivery: of which forge, its id, for which board, about which event, when."""

    forge: str
    delivery_id: str
    board: str
    event: str
    received_at: datetime


def receive(ledger: Ledger, received: Received) -> bool:
    """Keep it; False when that id was kept before. Ids older than a week are forgotten. Raises StoreError."""
    with ledger.write() as cursor:
        _FORGET.run(cursor, {"before": received.received_at - KEPT})
        if one(cursor, ForgeDelivery, forge=received.forge, delivery_id=received.delivery_id) is not None:
            return False
        told = {"board": received.board, "event": received.event, "received_at": received.received_at}
        add(cursor, ForgeDelivery, {"forge": received.forge, "delivery_id": received.delivery_id, **told})
        return True


def last_of(ledger: Ledger, board: str) -> Received | None:
    """The newest delivery for a board, None when none came within a week."""
    with ledger.database.read_raw() as cursor:
        rows = many(cursor, ForgeDelivery, board=board)
    found = max(rows, key=lambda row: row["received_at"], default=None)
    return Received(**found) if found else None
