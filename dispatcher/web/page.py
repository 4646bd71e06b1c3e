"""``/`` and ``/cards/{id}``: the board, what runs, what waits for whom and why, for people with any browser.

Rendered here, whole and readable without a script; the script sends answers and keeps the page fresh. What is shown
comes from ``board_page`` and ``card_page``. Static files carry no data and are served to anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from dispatcher.reasons import ended
from dispatcher.refusals import Refused
from dispatcher.web import board_page, card_page
from dispatcher.web.backstage import Behind

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent
STATIC: Mapping[str, str] = MappingProxyType({"page.css": "text/css", "page.js": "text/javascript"})
"""name -> content type: everything that lies in the folder ``static``."""


@router.get("/", response_class=HTMLResponse)
def show_board(behind: Behind) -> HTMLResponse:
    """The board and what goes on, from one reading."""
    return page("board.html", board_page.model(behind))


@router.get("/cards/{card_id}", response_class=HTMLResponse)
def show_card(behind: Behind, card_id: str, board: str = "") -> HTMLResponse:
    """One card: its text, why it is idle gate by gate, its run, its comments and its history."""
    return page("card.html", card_page.model(behind, card_id, board))


@router.get("/static/{name}")
def static(name: str) -> Response:
    """The style and the script of the pages."""
    if name not in STATIC:
        raise Refused("not_found", f"There is no file {name}.", "The pages are / and /cards/NUMBER.")
    return Response((FOLDER / "static" / name).read_bytes(), media_type=f"{STATIC[name]}; charset=utf-8")


def sign_in() -> HTMLResponse:
    """The page that asks for the token, with the status 401."""
    return page("login.html", {"name": "Pointsman"}, 401)


def refusal_page(error: object, status: int) -> HTMLResponse:
    """What was found and what to do, for a person whose browser asked for a page."""
    return page("refused.html", {"name": "Pointsman", "error": error}, status)


def page(name: str, model: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A page from its template."""
    return HTMLResponse(_environment().get_template(name).render(model), status)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"sentence": sentence, "ended": ended}
    return made


def sentence(text: object) -> str:
    """A text that may have been written without capital and full stop, with both."""
    told = ended(str(text))
    return f"{told[:1].upper()}{told[1:]}" if told.split(" ", 1)[0].isalpha() else told
