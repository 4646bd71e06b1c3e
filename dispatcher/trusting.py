"""Whether who moved a card in may make it start, and whether its text is still the one of then (dispatcher.md 20).

Asked by ``picking`` and ``starting`` for a card that nothing before holds; the same for every way in. A board that
tells no movers, the native one, trusts whoever can write to its store; a copy is as trusted as its card on the forge.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from config.boards import TrustSettings
from connectors.card import Card, MoverKind
from connectors.errors import ConnectorError
from dispatcher.candidate import Candidate
from dispatcher.mirroring import Porter
from dispatcher.world import World


@runtime_checkable
class Gatekeeper(Protocol):
    """A board that knows who moved its cards, and whom its forge lets write."""

    def entrant(self, card: Card) -> str: ...  # noqa: D102

    def entered_again(self, card: Card) -> Card | None: ...  # noqa: D102

    def may_write(self, login: str) -> bool: ...  # noqa: D102

    def unchanged(self, card: Card) -> bool: ...  # noqa: D102


def judged(world: World, found: Candidate) -> Candidate:
    """The candidate with what gates 46 and 47 ask. What could not be read holds, and says so."""
    first = _judged(world, found)
    board = _keeper(world, found.card)
    if (first.untrusted is None and first.body_changed is None) or not isinstance(board, Gatekeeper):
        return first
    try:
        with world.in_time(found.card.board, single=True):
            again = board.entered_again(found.card)
    except ConnectorError:
        return first
    if again is None:
        return first
    world.cards[(again.board, again.id)] = again
    return _judged(world, found._replace(card=again))


def _judged(world: World, found: Candidate) -> Candidate:
    card = found.card
    trust = world.station.board_settings(card.board).trust
    board = _keeper(world, card)
    if trust.who == "anyone" or not isinstance(board, Gatekeeper):
        return found
    try:
        with world.in_time(card.board, single=True):
            who = "" if card.column_by is MoverKind.PERSON else board.entrant(card)
            if who and not _may(trust, board, who):
                return found._replace(untrusted={"who": who, "board": card.board})
            if trust.pin_body and not board.unchanged(card) and not _may(trust, board, card.author):
                return found._replace(body_changed={"who": who or "a person"})
    except ConnectorError as error:
        return found._replace(untrusted={"who": f"whoever moved it in ({error.message})", "board": card.board})
    return found


def _keeper(world: World, card: Card) -> object:
    """Who is asked about a card: its board; of a copy the forge that it was copied from."""
    station = world.station
    forge = station.mirrors.get(card.board)
    return station.boards[card.board] if forge is None else Porter(station.ledger, card.board, forge)


def _may(trust: TrustSettings, board: Gatekeeper, login: str) -> bool:
    """Whether this person may make a card start; a text can be edited by its author and by those who may write."""
    if trust.who == "write":
        return board.may_write(login)
    return login.casefold() in {name.casefold() for name in trust.who}
