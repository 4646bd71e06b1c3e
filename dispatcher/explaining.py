"""What ``explain`` tells: the deciders' own values about one card, read without a write (dispatcher.md 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.base import Absent
from connectors.card import Card
from connectors.errors import CardDeleted, ForgeError, UnknownCard
from dispatcher import facts, picking, reading, reconcile
from dispatcher.building import Kept, build
from dispatcher.crashpoints import CrashPoints
from dispatcher.gates import Judgement
from dispatcher.slots import Slots
from dispatcher.state import instant
from dispatcher.station import Memory
from dispatcher.world import World

if TYPE_CHECKING:
    from dispatcher.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Explanation:
    """One card, and what every gate says of it."""

    card: Card
    as_of: str
    judgement: Judgement

    def document(self) -> dict[str, object]:
        """The JSON document of dispatcher.md 5."""
        told = self.judgement.decision
        return {
            "card": self.card.id,
            "number": self.card.number,
            "board": self.card.board,
            "as_of": self.as_of,
            "decision": {
                "action": told.action.value,
                "reason": told.reason.value if told.reason else "",
                "row": told.row,
                "run_id": told.run_id,
                "text": told.text,
                "unblock": told.unblock,
            },
            "gates": [
                {
                    "order": gate.order,
                    "code": gate.code.value,
                    "verdict": gate.verdict.value,
                    "fact": gate.fact,
                    "text": gate.text,
                    "unblock": gate.unblock,
                }
                for gate in self.judgement.gates
            ],
        }


def explain(wiring: Wiring, environment: Mapping[str, str], text: str) -> Explanation:
    """The card that ``text`` names (number, id, unique prefix), judged as a tick would. Raises ``UnknownCard``.

    Its own board is read, and by id the cards that it waits for: no other board can make anybody wait.
    """
    kept = Kept(Memory(), Slots(lambda: None), CrashPoints(), environment)
    station = build(wiring, wiring.settings, kept)
    world = World(station, station.clock.now(), dry=True)
    reading.begin(world)
    card = _card(wiring, text)
    if card.board not in station.boards:
        copy = next((name for name, board in station.mirrors.items() if board.name == card.board), card.board)
        text = f"Card #{card.number} of {card.board} is worked on as its copy on {copy}."
        raise UnknownCard(text, f"Explain that one: pointsman card list --board {copy}.")
    reconcile.reconcile(world)
    reading.read_boards(world, [card.board])
    key = (card.board, card.id)
    world.cards[key] = card
    world.know_links([key])
    reading.read_blockers(world, [card])
    judged = picking.explained(world, card, facts.board_facts(world, card.board))
    return Explanation(card, instant(world.now) or "", judged)


def _card(wiring: Wiring, text: str) -> Card:
    """``12``, ``#12`` and an id are looked for on every board in their order; ``web#12`` on that board alone."""
    name, sign, number = text.partition("#")
    alone = {name: wiring.boards[name]} if sign and name in wiring.boards else {}
    text, moved, unread = number if alone else text, "", None
    for board in (alone or wiring.boards).values():
        resolve = getattr(board, "resolve", None)
        if resolve is None:
            continue
        try:
            found = board.get(resolve(text))
        except (UnknownCard, CardDeleted):
            continue
        except ForgeError as error:
            unread = unread or error  # another board may have the card
            continue
        if not isinstance(found, Absent):
            return found
        moved = moved or (f": it moved to {found.moved_to}" if found.moved_to else "")
    if unread is not None and not moved:
        raise unread
    raise UnknownCard(f"There is no card {text}{moved}", "See which there are: pointsman card list.")
