"""May this move be made? And where does a card go within its column? Pure answers for every board that we keep.

Called by ``native`` and ``memory`` inside their transaction, on the card as it is there (dispatcher.md 17 and 29).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.base import Move
from connectors.card import Card, Column, MoverKind


@dataclass(frozen=True, slots=True)
class Go:
    """Make the move; ``reopens`` and ``closes`` say what the history tells besides."""

    reopens: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class Stay:
    """The card is there already."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Leave the card; ``why`` is a sentence."""

    why: str


def decide_move(card: Card, move: Move, present: Column | None, to: Column) -> Go | Stay | Refuse:
    """What to do with a card in column ``present`` (None: unmapped) that shall go to ``to``."""
    if move.version is not None and move.version != card.version:
        return Refuse(f"the card changed: it is at version {card.version} in {place_of(card)}")
    there = present is not None and present.id == to.id
    if there and move.mover.kind is not MoverKind.PERSON:
        return Stay()  # also a move of ours that is made again because its answer was lost
    if move.expected is not None and not _is_named(present, card, move.expected):
        return Refuse(f"the card is in {place_of(card)}, not in {move.expected}")
    if there:
        return Stay()
    leaves_terminal = present is not None and present.terminal
    if leaves_terminal and move.mover.kind is MoverKind.DISPATCHER:
        return Refuse(f"the card is closed in {place_of(card)}; only a person reopens it")
    return Go(reopens=leaves_terminal and not to.terminal, closes=to.terminal and not leaves_terminal)


def place_of(card: Card) -> str:
    """The column's name as it is shown, also of a card whose column does not exist."""
    return card.column if card.column is not None else "unmapped"


def _is_named(present: Column | None, card: Card, name: str) -> bool:
    return name == place_of(card) or (present is not None and name in present.aliases)


def order_key(card: Card) -> tuple[object, ...]:
    """The order of one board's cards: priority, manual position, age, number (dispatcher.md 17)."""
    placed = card.position is not None
    return (-card.priority, not placed, card.position or 0.0, card.created_at, card.number, card.id)


@dataclass(frozen=True, slots=True)
class Spot:
    """A card's id and manual position within a column, in the order without priorities."""

    id: str
    position: float | None


def positions_for(spots: Sequence[Spot], index: int) -> dict[str, float]:
    """The positions to write so that ``spots`` has its order with the card at ``index`` freshly put there.

    Usually one entry, the middle between the neighbours; more only when a neighbour has no position yet or there is no
    room between two.
    """
    low = spots[index - 1].position if index > 0 else None
    high = spots[index + 1].position if index + 1 < len(spots) else None
    if index == 0 and high is not None:
        return {spots[index].id: high - 1.0}
    if low is not None and high is None:
        return {spots[index].id: low + 1.0}
    if low is not None and high is not None and low < (low + high) / 2 < high:
        return {spots[index].id: (low + high) / 2}
    last = max([index, *(at for at, spot in enumerate(spots) if spot.position is not None)])
    return {spot.id: float(at + 1) for at, spot in enumerate(spots[: last + 1])}
