"""Is a claim on a card still the one with this epoch? Asked at the begin of the writes that it stands for.

Called by ``leading`` inside a write of the store, on the driver's cursor (dispatcher.md 9).
"""

from __future__ import annotations

from sqlalchemy import bindparam

from dispatcher.ledger.records import Key
from dispatcher.ledger.schema import ClaimRow
from engine.store.cursors import Cursor
from engine.store.prepared import PreparedRead

_EPOCH = PreparedRead(
    [ClaimRow.c.epoch], ClaimRow.c.board == bindparam("the_board"), ClaimRow.c.card_id == bindparam("the_card")
)


def still_claimed(cursor: Cursor, key: Key, epoch: int) -> bool:
    """Whether nobody took the claim over, or gave it up, since it was made."""
    found = _EPOCH.one(cursor, {"the_board": key[0], "the_card": key[1]})
    return found is not None and found["epoch"] == epoch
