"""What the page ``/cards/{id}`` shows: the card, its gates, its run, comments and history, as one plain mapping."""

from __future__ import annotations

import re
from typing import Any

from config.environment import process_environment
from connectors.card import Card
from connectors.errors import UnknownCard
from connectors.native.board import NativeBoard
from dispatcher.card_reading import whole_document
from dispatcher.documents import event_document
from dispatcher.explaining import explain
from dispatcher.refusals import Refused
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
    """Everything that the template names. Raises ``UnknownCard``, ``CardDeleted``, ``Refused``."""
    board, card = _find(behind, card_id, board_name)
    wiring, now = behind.wiring, behind.wiring.clock.now()
    document = whole_document(board, card, wiring.ledger, wiring.store.runs)
    told = explain(wiring, process_environment(), card.id).document()
    events = [event_document(event) for event in board.history(card.id)]
    for each in events:
        each["age"] = age(each["time"], now)
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
        "decision": told["decision"],
        "gates": told["gates"],
        "run": _run(behind, run_id) if run_id else None,
        "form": question(behind, run_id) if run_id else None,
        "events": list(reversed(events[-EVENTS:])),
        "older": max(0, len(events) - EVENTS),
    }


def _find(behind: Backstage, text: str, name: str) -> tuple[NativeBoard, Card]:
    natives = [each for each in behind.wiring.boards.values() if isinstance(each, NativeBoard)]
    for board in natives:
        if name in ("", board.name):
            card = board.get(board.resolve(text))
            if isinstance(card, Card):
                return board, card
    if not natives or name:
        raise Refused("not_found", f"There is no card {text} here.", "Cards of a forge are shown on their forge.")
    raise UnknownCard(f"There is no card {text}.", "Look at the board: /.")


def _run(behind: Backstage, run_id: str) -> dict[str, object] | None:
    """The run that the card points at; None when it is gone or cannot be read."""
    try:
        return run_document(behind.wiring.engine.inspect(run_id))
    except EngineError:
        return None
