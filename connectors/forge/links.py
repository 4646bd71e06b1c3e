"""What cards of one board wait for, as the forge's own links and their texts say (connectors.md 5).

Used by ``board_reading`` and ``board``. A listing costs its pages alone: it shows what is known, and ``completed`` asks
for a few cards that lack it. Who reads one card asks the forge. An absence is believed only from a whole, empty list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from connectors.base import Clock
from connectors.card import Card, CardRef
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeError, RateLimited
from connectors.forge.cards import BoardPlan, refs, version
from connectors.forge.client import ForgeClient
from connectors.forge.records import Issue
from connectors.observer import Observer

BELIEVED = timedelta(minutes=5)
"""How long links are believed that hold a card, while the card itself did not change."""
AGAIN = timedelta(minutes=1)
"""When links are asked for again that could not be read."""
AT_ONCE = 50
"""So many cards' links are asked for behind one listing; the others' behind later ones."""
LISTING = Errand(Purpose.LIST)
Waits = tuple[CardRef, ...] | None
"""What a card waits for; None when it could not be read."""


@dataclass(frozen=True, slots=True)
class _Kept:
    version: str
    waits: Waits
    until: datetime


class Links:
    """The look-ups of one board and what they brought. Safe to share between threads as far as a dictionary is."""

    def __init__(self, plan: BoardPlan, client: ForgeClient, clock: Clock, observer: Observer) -> None:
        self._plan, self._client, self._clock, self._observer = plan, client, clock, observer
        self._kept: dict[int, _Kept] = {}

    def known(self, issue: Issue) -> Waits:
        """What is known of an open card as it is now, None when nothing is. No call."""
        kept = self._kept.get(issue.number)
        if not issue.is_open:
            return ()
        if not self._client.traits.native_blockers:
            return refs(self._plan, (), issue.body)
        return kept.waits if kept is not None and kept.version == version(issue) else None

    def watched(self, issue: Issue, errand: Errand) -> Waits:
        """What is known, and asked for where it is not."""
        kept = self._kept.get(issue.number)
        if kept is None or self._is_due(kept, version(issue)):
            return self.asked(issue, errand)
        return self.known(issue)

    def settling(self, issue: Issue, errand: Errand) -> Waits:
        """For a move of ours, which changes no link: what was known before it will do."""
        kept = self._kept.get(issue.number)
        return self.asked(issue, errand) if kept is None else kept.waits

    def asked(self, issue: Issue, errand: Errand) -> Waits:
        """What the forge says now; None when it cannot be read."""
        if not issue.is_open or not self._client.traits.native_blockers:
            return self.known(issue)
        try:
            return self._ask(issue.number, version(issue), issue.body, errand)
        except ForgeError:
            return None

    def completed(self, cards: Sequence[Card]) -> tuple[Card, ...]:
        """Cards of a listing in its order, with what they wait for; ``AT_ONCE`` of them are asked about.

        An empty list is believed until its card changes: who starts a card reads it once more.
        """
        left, made = AT_ONCE, []
        for card in cards:
            wanted = left > 0 and self._lacks(card)
            left -= wanted
            try:
                made.append(self._linked(card) if wanted else card)
            except RateLimited:
                left = 0
                made.append(card)
        return tuple(made)

    def _lacks(self, card: Card) -> bool:
        kept = self._kept.get(card.number)
        due = kept is None or self._is_due(kept, card.version)
        return due and not card.closed and self._client.traits.native_blockers

    def _linked(self, card: Card) -> Card:
        """The card with what the forge says now. Raises ``RateLimited``."""
        try:
            return replace(card, blockers=self._ask(card.number, card.version, card.body, LISTING))
        except RateLimited:
            raise
        except ForgeError:
            return replace(card, blockers=None)

    def _is_due(self, kept: _Kept, now: str) -> bool:
        return kept.version != now or (kept.waits != () and self._clock.now() >= kept.until)

    def _ask(self, number: int, now: str, body: str, errand: Errand) -> Waits:
        """One look. Raises ``ForgeError``."""
        try:
            read = self._client.blockers(number, errand)
        except ForgeError as error:
            told = {"board": self._plan.name, "card_id": number, "error": error.message}
            self._observer.event("board.blockers_unread", "debug", **told)
            if not isinstance(error, RateLimited):
                self._kept[number] = _Kept(now, None, self._clock.now() + AGAIN)
            raise
        found = refs(self._plan, read.items, body) if read.complete and not read.unfit else None
        self._kept[number] = _Kept(now, found, self._clock.now() + BELIEVED)
        return found
