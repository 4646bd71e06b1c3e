"""In which order candidates get a slot: one total key (dispatcher.md 17).

The tick sorts the candidates of all boards by it; equal input gives equal order on every host.
"""

from __future__ import annotations

from datetime import datetime

from connectors.card import Card


def key(card: Card) -> tuple[int, float, datetime, str, int, str]:
    """Priority (larger first), manual position (none last), age, board, number, id."""
    place = float("inf") if card.position is None else card.position
    return (-card.priority, place, card.created_at, card.board, card.number, card.id)
