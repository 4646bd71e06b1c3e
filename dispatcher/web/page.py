"""``/``: the board, what runs, what waits for whom and why, on one plain page that a screen reader reads in order."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from connectors.native.board import NativeBoard
from dispatcher.card_reading import documents_of
from dispatcher.documents import UNMAPPED
from dispatcher.web.backstage import Backstage, Behind

router = APIRouter(include_in_schema=False)

TEMPLATES = Path(__file__).parent / "templates"
CARDS_PER_COLUMN = 200
"""How many cards of one column the page shows; it says how many more there are."""


@router.get("/", response_class=HTMLResponse)
def board_page(behind: Behind) -> HTMLResponse:
    """The page, rendered from one reading."""
    state = dict(behind.door.state())
    boards = [_board(behind, board) for board in behind.wiring.boards.values() if isinstance(board, NativeBoard)]
    names = {card["id"]: f"#{card['number']} {card['title']}" for board in boards for card in _cards(board)}
    reasons = list(behind.door.not_ready())
    return HTMLResponse(_template().render(state=state, boards=boards, reasons=reasons, names=names))


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("board.html")


def _cards(board: dict[str, Any]) -> list[Any]:
    return [card for column in board["columns"] for card in column["cards"]]


def _board(behind: Backstage, board: NativeBoard) -> dict[str, Any]:
    listing = board.list_cards(None)
    by_column: dict[str, list[Any]] = {column.name: [] for column in board.columns()}
    for card in listing.cards:
        by_column.setdefault(UNMAPPED if card.column is None else card.column, []).append(card)
    shown = [card for cards in by_column.values() for card in cards[:CARDS_PER_COLUMN]]
    documents = {str(each["id"]): each for each in documents_of(shown, behind.wiring.ledger, behind.wiring.store.runs)}
    titles = {column.name: column.title for column in board.columns()}
    columns = [
        {
            "title": titles.get(name, name),
            "cards": [documents[card.id] for card in cards[:CARDS_PER_COLUMN]],
            "count": len(cards),
            "more": max(0, len(cards) - CARDS_PER_COLUMN),
        }
        for name, cards in by_column.items()
    ]
    return {"name": board.name, "columns": columns, "unread": listing.unread}
