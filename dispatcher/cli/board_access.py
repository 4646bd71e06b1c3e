"""What the verbs of cards and boards share: the board they mean, who acts, and reading without making a store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import click

from connectors.card import Card, Mover, MoverKind
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from connectors.base import ShownBoard
    from connectors.native.board import NativeBoard
    from dispatcher.cli.session import Session
    from dispatcher.documents import Document
    from dispatcher.ledger.glance import Glance

RUN_ID = "POINTSMAN_RUN_ID"
"""Set for tools and hooks of a run; whoever has it acts as that run's bot (dispatcher.md 29)."""


BOARD = "pointsman.board"
"""Where a command line keeps the name of the board that was asked for."""


def named_board() -> str:
    """The board that ``--board`` names, empty when it does not stand there."""
    return str(click.get_current_context().meta.get(BOARD, ""))


def board_anywhere(group: click.Group) -> None:
    """Let ``--board`` stand behind every word of the group as well: ``card list --board web``."""

    def note(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value:
            context.meta[BOARD] = value

    for each in group.commands.values():
        each.params.append(click.Option(["--board"], callback=note, expose_value=False, hidden=True, metavar="NAME"))
        if isinstance(each, click.Group):
            board_anywhere(each)


def mover_of(session: Session) -> Mover:
    """Who acts: the run that called us, else a person."""
    run_id = session.environment.get(RUN_ID, "")
    if run_id:
        return Mover(MoverKind.BOT, session.environment.get("POINTSMAN_NODE_ID", ""), run_id)
    return Mover(MoverKind.PERSON, session.who)


def board_of(session: Session, name: str = "") -> NativeBoard:
    """The board of that name, else the first native one. Raises ``Refused`` when there is none."""
    from connectors.native.board import NativeBoard

    board_name = name or _first_native(session)
    board = session.wiring().boards.get(board_name)
    if not isinstance(board, NativeBoard):
        natives = ", ".join(each.name for each in session.settings().boards if each.kind == "native")
        told = f'There is no board "{board_name}".' if board is None else f'"{board_name}" is no native board.'
        theirs = "change the cards of a forge's board on their forge" if board is not None else ""
        hint = "; ".join(filter(None, (f"Native boards here: {natives or 'none'}", theirs)))
        raise Refused("usage", told, f"{hint}.")
    return board


def shown_board_of(session: Session, name: str = "") -> ShownBoard:
    """The board of that name, of any kind; else the first native one, else the first. Raises ``Refused``."""
    boards = session.wiring().boards
    natives = [each.name for each in session.settings().boards if each.kind == "native"]
    wanted = name or next(iter((*natives, *boards)), "")
    if wanted not in boards:
        raise Refused("usage", f'There is no board "{wanted}".', f"Boards here: {', '.join(boards) or 'none'}.")
    return cast("ShownBoard", boards[wanted])


def _first_native(session: Session) -> str:
    for each in session.settings().boards:
        if each.kind == "native":
            return each.name
    raise Refused(
        "usage",
        "The configuration has no native board.",
        "Add one, or change the cards on their forge: they live there.",
    )


def need_card(board: ShownBoard, text: str) -> Card:
    """The card that a person names. Raises ``UnknownCard``, ``CardDeleted``, ``DamagedCard``."""
    card = board.get(board.resolve(text))
    if not isinstance(card, Card):
        moved = f": it moved to {card.moved_to}" if card.moved_to else ""
        text = f"There is no card {text} on {board.name}{moved}."
        raise Refused("card_unknown", text, f"See which there are: pointsman card list --board {board.name}.")
    return card


def glance_of(session: Session) -> Glance:
    """What is shown of the ledger and of runs."""
    from dispatcher.ledger.glance import Glance

    return Glance(session.wiring().database)


def documents_of(session: Session, cards: Sequence[Card]) -> list[Document]:
    """The cards' documents."""
    from dispatcher import card_reading

    glance = glance_of(session)
    return card_reading.documents_of(cards, glance, glance)


def whole_document(session: Session, board: ShownBoard, card: Card) -> Document:
    """A card's document with its comments."""
    from dispatcher import card_reading

    glance = glance_of(session)
    return card_reading.whole_document(board, card, glance, glance)


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """``K=V`` options as a mapping; the last of one name counts. Raises ``Refused``."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Refused("usage", f'"{each}" is no pair of name and value.', f"Write {option} NAME=VALUE.")
        found[name] = value
    return found


def text_or_stdin(text: str) -> str:
    """The text, or what stands on stdin when it is a dash. Raises ``Refused`` when that is closed or no UTF-8."""
    if text != "-":
        return text
    if sys.stdin is None:
        raise Refused("bad_input", "There is nothing to read: stdin is closed.", "Send the text in, or write it out.")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("bad_input", f"The text on stdin is no UTF-8: {error.reason}.", "Send UTF-8.") from error
