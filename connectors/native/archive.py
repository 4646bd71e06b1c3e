"""Cards that a person put away, and back: each one open change with its event (dispatcher.md 29)."""

from __future__ import annotations

from connectors.card import BoardEventType, Card, Mover
from connectors.moves import place_of
from connectors.native.cards import touch
from connectors.native.reading import need_card
from connectors.native.unit import Unit


def put_away(unit: Unit, card_id: str, mover: Mover) -> Card:
    """Archive a card. Whether somebody works on it, the caller knows."""
    card = need_card(unit, card_id)
    if card.archived:
        return card
    touch(unit, card, {"archived_at": unit.stamp})
    unit.event(BoardEventType.CARD_ARCHIVED, card_id, mover, {"column": place_of(card)})
    return need_card(unit, card_id)


def bring_back(unit: Unit, card_id: str, mover: Mover) -> Card:
    """Unarchive a card; it is where it was, and coming back is no move."""
    card = need_card(unit, card_id)
    if not card.archived:
        return card
    touch(unit, card, {"archived_at": ""})
    unit.event(BoardEventType.CARD_UNARCHIVED, card_id, mover, {"column": place_of(card)})
    return need_card(unit, card_id)
