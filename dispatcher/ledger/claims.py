"""The rows of claims on forges: the intent before its comment, the comment until it is gone (connectors.md 19)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from dispatcher.ledger.records import Key
from dispatcher.ledger.rows import add, many, one, put, remove
from dispatcher.ledger.schema import ForgeClaim, ForgeStore

if TYPE_CHECKING:
    from dispatcher.ledger.ledger import Ledger

CLAIM = "claim"
"""What these rows are about; the table has those of labels, too."""
SELF = "self"
"""The name of the one row that says as whom this store claims."""


class Stage(StrEnum):
    """How far a claim came: about to be written, waiting whether another's is older, ours."""

    PLACING = "placing"
    SETTLING = "settling"
    WON = "won"


@dataclass(frozen=True, slots=True)
class ForgeClaimed:
    """A claim of ours as it is written down. ``until`` is the forge's time."""

    key: Key
    stage: Stage
    instance: str
    epoch: int
    until: datetime
    comment_id: str = ""


def of_board(ledger: Ledger, board: str) -> Mapping[Key, ForgeClaimed]:
    """Every claim of ours on the board."""
    with ledger.database.read_raw() as cursor:
        rows = many(cursor, ForgeClaim, board=board, what=CLAIM)
    found = [
        ForgeClaimed(
            (row["board"], row["card_id"]),
            Stage(row["state"]),
            row["instance"],
            row["epoch"],
            row["until"],
            row["comment_id"],
        )
        for row in rows
    ]
    return {each.key: each for each in found}


def keep(ledger: Ledger, claim: ForgeClaimed) -> None:
    """Write the row, or what became of it."""
    values = {
        "comment_id": claim.comment_id,
        "instance": claim.instance,
        "epoch": claim.epoch,
        "state": claim.stage.value,
        "until": claim.until,
    }
    with ledger.write() as cursor:
        put(cursor, ForgeClaim, {"board": claim.key[0], "card_id": claim.key[1], "what": CLAIM, **values})


def drop(ledger: Ledger, key: Key) -> None:
    """A read showed that nothing of it is left."""
    with ledger.write() as cursor:
        remove(cursor, ForgeClaim, board=key[0], card_id=key[1], what=CLAIM)


def known_identity(ledger: Ledger) -> str:
    """As whom this store claims cards, empty when it never claimed one. Nothing is written."""
    with ledger.database.read_raw() as cursor:
        known = one(cursor, ForgeStore, name=SELF)
    return "" if known is None else str(known["identity"])


def identity(ledger: Ledger, make: Callable[[], str]) -> str:
    """As whom this store claims cards: random, made once, the same for every daemon of the store."""
    if known := known_identity(ledger):
        return known
    return _made(ledger, make)


def _made(ledger: Ledger, make: Callable[[], str]) -> str:
    with ledger.write() as cursor:
        known = one(cursor, ForgeStore, name=SELF)
        if known is None:
            known = {"name": SELF, "identity": make()}
            add(cursor, ForgeStore, known)
    return str(known["identity"])
