"""The rows of cards that were copied from a forge's board (``mirroring``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dispatcher.ledger.rows import many, put, values_of
from dispatcher.ledger.schema import ForgeMirror

if TYPE_CHECKING:
    from dispatcher.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Copy:
    """A card of a forge and its copy on a native board: the column that both agreed on last, and the version of the
    forge's card whose texts were copied."""

    board: str
    source_id: str
    card_id: str
    column: str
    version: str


def copies(ledger: Ledger, board: str) -> dict[str, Copy]:
    """forge's card id -> its copy on this native board."""
    with ledger.database.read_raw() as cursor:
        return {row["source_id"]: Copy(**row) for row in many(cursor, ForgeMirror, board=board)}


def copy_of(ledger: Ledger, board: str, card_id: str) -> Copy | None:
    """The row of a card of this native board; None for one that is no copy."""
    with ledger.database.read_raw() as cursor:
        rows = many(cursor, ForgeMirror, board=board, card_id=card_id)
    return Copy(**rows[0]) if rows else None


def keep(ledger: Ledger, copy: Copy) -> None:
    """Write the row."""
    with ledger.write() as cursor:
        put(cursor, ForgeMirror, values_of(copy))
