"""What the page ``/`` shows: from the state of the last tick, the boards and the paused runs to one plain mapping.

One reading of each; nothing is written and nothing decided. Rendered by ``page``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connectors.base import Board, Listing
from dispatcher.card_reading import documents_of
from dispatcher.documents import UNMAPPED
from dispatcher.reasons import PARK_CAUSES, Reason
from dispatcher.state import instant
from dispatcher.web.ages import age
from dispatcher.web.backstage import Backstage
from dispatcher.web.forms import Form, form_of
from engine.documents import run_document
from engine.errors import EngineError
from engine.events import EventType

CARDS_PER_COLUMN = 200
"""How many cards of one column the page shows; it says how many more there are."""
IDLE = 100
"""How many idle cards are listed with their reasons; the others have them in their columns."""
FORMS = 50
"""How many questions the page shows with their forms; the others are named."""
_TAIL = 400
"""So many events back the question of a paused run is looked for."""

Model = dict[str, Any]


def model(behind: Backstage) -> Model:
    """Everything that the template names."""
    state: Model = dict(behind.door.state())
    boards = [made for board in behind.wiring.boards.values() if (made := _board(behind, board))]
    shown = {str(board["name"]) for board in boards}
    known = {
        (board["name"], card["id"]): card for board in boards for column in board["columns"] for card in column["cards"]
    }
    now = behind.wiring.clock.now()

    def told(name: str, *instants: str) -> list[Model]:
        rows = state.get(name)
        return [_row(row, known, {key: age(row.get(key), now) for key in instants}) for row in rows or ()]

    waiting = [_waiting(behind, row, at < FORMS) for at, row in enumerate(told("parked", "since"))]
    return {
        "name": state.get("name", "pointsman"),
        "version": state.get("version", ""),
        "ready": not behind.door.not_ready(),
        "reasons": list(behind.door.not_ready()),
        "desired": state.get("desired") or {"state": "running", "by": None},
        "slots": state.get("slots") or {"used": 0, "max": 0},
        "config_error": (state.get("config") or {}).get("error"),
        "degraded": state.get("degraded") or [],
        "waiting": waiting,
        "waiting_cards": {f"{row['board']} {row['card']}": row["run_id"] for row in waiting},
        "running": told("running", "since", "last_sign_at"),
        "retries": told("retries", "not_before"),
        "idle": [row for row in told("held", "since") if row["code"] not in ("retry_wait", "run_alive")],
        "most": IDLE,
        "boards": boards,
        "elsewhere": [each for each in state.get("boards") or () if each.get("name") not in shown],
    }


def _row(row: Mapping[str, Any], known: Mapping[tuple[str, str], Any], ages: Mapping[str, object]) -> Model:
    card = known.get((row.get("board", ""), row["card"]), {})
    number = card.get("number") or row.get("number") or 0
    return {**row, **ages, "number": number, "title": card.get("title", ""), "shown": bool(card)}


def _waiting(behind: Backstage, row: Model, whole: bool) -> Model:
    """A card that waits for a person, with its form where a question waits."""
    form = (
        question(behind, str(row["run_id"]))
        if whole and row["cause"] == PARK_CAUSES[Reason.WAITING_FOR_ANSWERS]
        else None
    )
    return {**row, "form": form}


def question(behind: Backstage, run_id: str) -> Form | None:
    """The form of a paused run; None when it asks nothing, or cannot be read."""
    wiring = behind.wiring
    try:
        document = run_document(wiring.engine.inspect(run_id))
        newest = wiring.store.runs.get(run_id).event_seq
        events = list(wiring.store.timeline.events(run_id, max(0, newest - _TAIL)))
    except EngineError:
        return None
    asked = next((each.data for each in reversed(events) if each.type == EventType.HUMAN_INPUT_REQUESTED), {})
    return form_of(document, asked)


def _board(behind: Backstage, board: Board) -> Model | None:
    """The board's cards: a native one's as they are, a forge's as they were read last, without asking it."""
    last = getattr(board, "shown", None)
    listing: Listing | None = last() if last is not None else board.list_cards(None)
    if listing is None:
        return None
    by_column: dict[str, list[Any]] = {column.name: [] for column in board.columns()}
    for card in listing.cards:
        by_column.setdefault(UNMAPPED if card.column is None else card.column, []).append(card)
    shown = [card for cards in by_column.values() for card in cards[:CARDS_PER_COLUMN]]
    documents = {str(each["id"]): each for each in documents_of(shown, behind.wiring.ledger, behind.wiring.store.runs)}
    titles = {column.name: column.title for column in board.columns()}
    columns = [
        {
            "name": name,
            "title": titles.get(name, "Unmapped: no such column"),
            "cards": [documents[card.id] for card in cards[:CARDS_PER_COLUMN]],
            "count": len(cards),
            "more": max(0, len(cards) - CARDS_PER_COLUMN),
        }
        for name, cards in by_column.items()
    ]
    unread = [{"id": each.id, "number": each.number, "why": each.why} for each in listing.unread]
    read = age(instant(listing.read_at), behind.wiring.clock.now()) if last is not None else None
    return {"name": board.name, "kind": board.kind, "columns": columns, "unread": unread, "read": read}
