"""One look at the rows of many cards, of which some may be damaged: those are told beside, by their card.

Used by ``ledger`` for its snapshot. A card with a damaged row is held by the tick; the other cards go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from dispatcher.ledger.records import Key, Park
from dispatcher.ledger.rows import Row
from engine.store.cursors import Cursor
from engine.store.prepared import Among, Broken, PreparedRead

T = TypeVar("T")


class Look:
    """The reads of one transaction. ``damaged``: card -> what of it cannot be read, and why."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.damaged: dict[Key, str] = {}

    def cards(self, read: PreparedRead, make: Callable[[Row], T]) -> dict[Key, T]:
        """The records of the rows that can be read, by card."""
        return self._made(*read.sound(self._cursor, {}), make)

    def among(self, read: Among, card_ids: Collection[str], make: Callable[[Row], T]) -> dict[Key, T]:
        """The same of cards with these ids."""
        return self._made(*read.sound(self._cursor, card_ids), make)

    def _made(self, rows: list[Row], broken: list[Broken], make: Callable[[Row], T]) -> dict[Key, T]:
        found: dict[Key, T] = {}
        for row in rows:
            try:
                found[_key(row)] = make(row)
            except (ValueError, TypeError) as error:
                self.damaged[_key(row)] = str(error)
        self.damaged |= {_key(each.row): each.why for each in broken}
        return found


def park_of(row: Row) -> Park:
    """A park. Raises ValueError when its facts are not those of a text."""
    if not isinstance(json.loads(row["facts"]), dict):
        raise ValueError("the facts of a park are no object")  # noqa: TRY004 - the text is wrong, not a type
    return Park(**row)


def _key(row: Mapping[str, Any]) -> Key:
    return str(row["board"]), str(row["card_id"])
