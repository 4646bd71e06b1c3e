"""What the page ``/cards/{id}`` shows: the card, its gates, its run, comments and history, as one plain mapping."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from typing import Any

from config.environment import process_environment
from connectors.base import ShownBoard
from connectors.card import Card
from connectors.errors import ForgeError, UnknownCard
from connectors.forge.board import LabelBoard
from connectors.native.board import NativeBoard
from dispatcher.card_reading import documents_of, whole_document
from dispatcher.documents import event_document
from dispatcher.explaining import explain
from dispatcher.web.ages import age
from dispatcher.web.backstage import Backstage
from dispatcher.web.board_page import question
from engine.documents import run_document
from engine.errors import EngineError

EVENTS = 100
"""So many of the newest events are shown."""
_MARKER = re.compile(r"<!-- pointsman .*? -->", re.DOTALL)
"""What the dispatcher signs its own comments with; nothing for people."""


def model(behind: Backstage, card_id: str, board_name: str) -> dict[str, Any]:
    """Everything that the template names. Raises ``UnknownCard``, ``CardDeleted``, ``Refused``, ``ConnectorError``."""
    with behind.in_time():
        return _model(behind, card_id, board_name)


def _model(behind: Backstage, card_id: str, board_name: str) -> dict[str, Any]:
    board = _board(behind, card_id, board_name)
    now = behind.wiring.clock.now()
    troubles: list[str] = []
    card = _card(board, card_id, troubles)
    document = _document(behind, board, card, troubles)
    comments: Any = document["comments"]
    for each in comments:
        each["text"] = _MARKER.sub("", each["text"]).strip()
    run_id = str(document["last_run"] or "")
    return {
        "name": behind.door.state().get("name", "pointsman"),
        "card": {**document, "comments": [{**each, "age": age(each["created_at"], now)} for each in comments]},
        "since": age(document["column_since"], now),
        "columns": [column for column in board.columns() if column.name != card.column],
        "titles": {column.name: column.title for column in board.columns()},
        "troubles": troubles,
        **_decided(behind, board, card, document),
        "run": _run(behind, run_id) if run_id else None,
        "form": question(behind, run_id) if run_id else None,
        **_history(board, card, now),
    }


def _board(behind: Backstage, text: str, name: str) -> ShownBoard:
    """The board of that name; without one the first native board that has such a card, else the first of all."""
    boards: list[Any] = list(behind.wiring.boards.values())
    if name:
        boards = [each for each in boards if each.name == name]
    natives = [each for each in boards if isinstance(each, NativeBoard)]
    for board in natives:
        with suppress(UnknownCard):
            board.resolve(text)
            return board
    if not boards or (natives and not name):
        raise UnknownCard(f"There is no card {text}.", "Look at the board: /.")
    found: ShownBoard = boards[0]
    return found


def _card(board: ShownBoard, text: str, troubles: list[str]) -> Card:
    """The card; where the forge cannot be asked, as it was read last. Raises ``UnknownCard``, ``ConnectorError``."""
    found = board.resolve(text)
    try:
        card = board.get(found)
    except ForgeError as error:
        listing = board.shown() if isinstance(board, LabelBoard) else None
        last = next((each for each in listing.cards if each.id == found), None) if listing is not None else None
        if last is None:
            raise
        troubles.append(f"The forge cannot be asked now, this is the card as it was read last: {error.message}")
        return last
    if isinstance(card, Card):
        return card
    moved = f": it moved to {card.moved_to}" if card.moved_to else ""
    raise UnknownCard(f"There is no card {text} on {board.name}{moved}.", "Look at the board: /.")


def _document(behind: Backstage, board: ShownBoard, card: Card, troubles: list[str]) -> dict[str, Any]:
    """The card's document with its comments, without them where the forge cannot be asked."""
    ledger, runs = behind.wiring.ledger, behind.wiring.store.runs
    try:
        return whole_document(board, card, ledger, runs)
    except ForgeError as error:
        if not troubles:
            troubles.append(f"The comments cannot be read now: {error.message}")
        return {**documents_of([card], ledger, runs)[0], "comments": []}


def _decided(behind: Backstage, board: ShownBoard, card: Card, document: dict[str, Any]) -> dict[str, Any]:
    """What happens next: of a native card as a tick would judge it now, of a forge's as the last tick did."""
    if isinstance(board, NativeBoard):
        told = explain(behind.wiring, process_environment(), card.id).document()
        return {"decision": told["decision"], "gates": told["gates"]}
    idle = document.get("idle_reason")
    if idle:
        return {"decision": {"reason": idle["code"], **idle, "action": ""}, "gates": []}
    return {"decision": {"reason": "", "action": "looks at the card again"}, "gates": []}


def _history(board: ShownBoard, card: Card, now: datetime) -> dict[str, Any]:
    """The card's events; a forge keeps its own."""
    if not isinstance(board, NativeBoard):
        return {"events": None, "older": 0}
    events = [event_document(event) for event in board.history(card.id)]
    for each in events:
        each["age"] = age(each["time"], now)
    return {"events": list(reversed(events[-EVENTS:])), "older": max(0, len(events) - EVENTS)}


def _run(behind: Backstage, run_id: str) -> dict[str, object] | None:
    """The run that the card points at; None when it is gone or cannot be read."""
    try:
        return run_document(behind.wiring.engine.inspect(run_id))
    except EngineError:
        return None
