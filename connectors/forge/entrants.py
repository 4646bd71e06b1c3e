"""Who moved a card in, and whether that person may write: what trust in a board is judged by (dispatcher.md 20).

Asked by ``board`` for cards that nothing else holds. Nothing is decided here.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from connectors.card import Card, MoverKind
from connectors.deadline import Timekeeper
from connectors.forge.board_reading import WATCHING, BoardReader
from connectors.forge.cards import BoardPlan, moved_card, text_digest
from connectors.forge.client import ForgeClient
from connectors.forge.desk import whole
from connectors.forge.memory import Placed
from connectors.forge.records import LabelEvent

BELIEVED = timedelta(minutes=1)
"""How long what the forge said of a person's rights is believed."""
REMEMBERED = 2000
"""So many cards' movers are remembered."""


class Entrants:
    """The look-ups of one board."""

    def __init__(self, plan: BoardPlan, client: ForgeClient, reader: BoardReader, clock: Timekeeper) -> None:
        self._client, self._reader, self._clock = client, reader, clock
        self._labels = {place.label.casefold() for place in plan.places.values() if place.label}
        self._rights: dict[str, tuple[bool, datetime]] = {}
        self._moves: dict[tuple[str, str], LabelEvent | None] = {}

    def may_write(self, login: str) -> bool:
        """Whether this person may write to the repository. Raises ``ForgeError``."""
        known = self._rights.get(login)
        if known is not None and self._clock.now() < known[1]:
            return known[0]
        may = self._client.may_write(login, WATCHING)
        self._rights[login] = (may, self._clock.now() + BELIEVED)
        return may

    def of(self, card: Card) -> str:
        """The login behind the card's present place. Raises ``ForgeError``."""
        if card.entrant:
            return card.entrant
        event = self._moved(card)
        return event.actor if event is not None else card.author

    def again(self, card: Card) -> Card | None:
        """The card as moved in anew, when somebody took it out and put it back since it was seen; None when nobody did.

        No listing shows that, since it stands where it stood. Raises ``ForgeError``.
        """
        event = self._moved(card)
        if event is None or event.at <= card.column_since:
            return None
        pinned = text_digest(card.title, card.body)
        place = Placed(card.column or "", MoverKind.FORGE, event.at, event.actor, "", 0, event.actor, pinned)
        return moved_card(card, self._reader.memory.place({card.id: place})[card.id])

    def _moved(self, card: Card) -> LabelEvent | None:
        """The newest move by anybody but ourselves; asked once for each version of the card."""
        key = (card.id, card.version)
        if key not in self._moves:
            if len(self._moves) >= REMEMBERED:
                self._moves.clear()
            self._moves[key] = self._asked(card)
        return self._moves[key]

    def _asked(self, card: Card) -> LabelEvent | None:
        if not self._client.traits.label_history:
            return None
        own = self._reader.login(WATCHING)
        events = whole(self._client.label_events(int(card.id), WATCHING))
        moves = [(event.at, place) for place, event in enumerate(events) if event.actor != own and self._is_move(event)]
        return events[max(moves)[1]] if moves else None

    def _is_move(self, event: LabelEvent) -> bool:
        return event.closed is not None or (event.added and event.label.casefold() in self._labels)
