"""What a board over a forge must not forget, as a protocol; the ledger implements it (connectors.md 3 to 6).

One memory per board. Nothing in it decides: it keeps labels' ids, where each card was seen last and by whom it was put
there, a move of ours that is under way, and our status comment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from connectors.card import MoverKind


@dataclass(frozen=True, slots=True)
class KnownLabel:
    """A column's label as it was found last; ``configured`` is the name by which it was looked for then."""

    configured: str
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A card's column (empty: none of ours), who put it there, when, and the store sequence of that move.

    ``entrant`` is the login of the last person who moved it, as far as the forge told, and ``pinned`` the digest of
    its text at that move; moves of ours leave both as they are.
    """

    column: str
    by: MoverKind
    since: datetime
    mover: str = ""
    run_id: str = ""
    sequence: int = 0
    entrant: str = ""
    pinned: str = ""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A move of ours that no read has confirmed: from where, to where (empty: no column)."""

    origin: str
    to: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """All of one card; ``note`` is the id of our status comment."""

    placed: Placed
    crossing: Crossing | None = None
    note: str = ""


class ForgeMemory(Protocol):
    """The memory of one board."""

    def columns(self) -> Mapping[str, KnownLabel]:
        """column -> its label."""
        ...

    def keep_columns(self, found: Mapping[str, KnownLabel]) -> None:
        """Write what was found; columns that are not named stay."""
        ...

    def cards(self, card_ids: Collection[str]) -> Mapping[str, Remembered]:
        """Those of the cards that were ever seen."""
        ...

    def place(self, seen: Mapping[str, Placed], *, moved: bool = False) -> Mapping[str, Placed]:
        """Cards that are elsewhere than remembered, each with the next store sequence, which is what it returns.

        A memory that only looks answers with numbers above all others and writes nothing, unless we ``moved`` them.
        """
        ...

    def cross(self, card_id: str, crossing: Crossing | None) -> None:
        """A move of ours begins, or is over."""
        ...

    def crossings(self) -> Mapping[str, Crossing]:
        """Every move of ours that is under way."""
        ...

    def keep_note(self, card_id: str, comment_id: str) -> None:
        """Our status comment on the card; empty when it is gone."""
        ...

    def run_of_move(self, card_id: str, labels: Collection[str]) -> str:
        """The run whose own call put one of these labels on the card last; empty when none did."""
        ...
