"""``/api/cards``: the cards of every board (interface.md 6). Each view is one verb of the board.

Cards of a forge are listed, shown, moved and commented on through it; what else there is to change is changed there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Header, Query, Request

from connectors.base import CardQuery, Move, Moved, Place, ShownBoard
from connectors.base import Refused as NotMoved
from connectors.card import Card, Mover, MoverKind
from connectors.drafts import CardDraft, CardPatch
from connectors.errors import UnknownCard
from connectors.native.board import NativeBoard
from dispatcher.card_reading import documents_of, whole_document
from dispatcher.documents import Document as Json
from dispatcher.documents import comment_document, event_document, listing_marks, view_document
from dispatcher.pointing import point
from dispatcher.refusals import Refused
from dispatcher.web import answered
from dispatcher.web.answers import Document, next_page
from dispatcher.web.backstage import Backstage, Behind
from dispatcher.web.contract import refusals
from dispatcher.web.models import (
    RUN_ID,
    CardFilters,
    CommentCard,
    CreateCard,
    HistoryPage,
    MoveCard,
    Nothing,
    PatchCard,
    PlaceCard,
)
from dispatcher.web.validators import names, tag_of

router = APIRouter(prefix="/api/cards", tags=["cards"], default_response_class=Document)
LIST, READ, WRITE = refusals(502), refusals(404, 410, 502), refusals(404, 409, 410, 412, 502)

Run = Annotated[
    str,
    Header(alias="X-Pointsman-Run", pattern=RUN_ID, description="the run whose tool asks; it counts as a bot"),
]
Board = Annotated[str, Query(description="the board; default: the first native one")]
Match = Annotated[
    str, Header(alias="If-Match", description="the ETag of the card as it was read; 412 when it is another")
]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a change says beside its body: on which board, by which run, of which reading of the card."""

    board: str
    run: str
    match: str


def asked(board: Board = "", x_run: Run = "", if_match: Match = "") -> Asked:
    """From query and headers."""
    return Asked(board, x_run, if_match)


How = Annotated[Asked, Depends(asked)]


@router.get("", response_model=answered.Cards, responses=LIST)
def list_cards(request: Request, behind: Behind, wanted: Annotated[CardFilters, Query()]) -> Document:
    """The cards that pass all filters, the most urgent first; with a limit, ``Link`` names the next page."""
    board = _shown(behind, wanted.board)
    with behind.in_time():
        listing = board.query(_query(behind, board, wanted))
    document: Json = {"cards": _documents(behind, listing.cards), **listing_marks(listing)}
    shown = len(listing.cards) + len(listing.unread)
    return Document(document, headers=next_page(request, wanted.limit, wanted.offset, shown))


def _query(behind: Backstage, board: ShownBoard, wanted: CardFilters) -> CardQuery:
    """The filters as asked, over those of a saved view where one is named."""
    claims = frozenset() if wanted.claimed is None else _claimed(behind, board.name)
    only, without = (claims, frozenset[str]()) if wanted.claimed else (None, claims)
    saved = _board(behind, wanted.board).view(wanted.view) if wanted.view else CardQuery()
    return CardQuery(
        columns=tuple(wanted.column) or saved.columns,
        label=wanted.label or saved.label,
        assignee=wanted.assignee or saved.assignee,
        only=only,
        without=without,
        limit=wanted.limit,
        offset=wanted.offset,
        text=wanted.text or saved.text,
        archived=wanted.archived or saved.archived,
    )


@router.get("/views", response_model=answered.Views)
def list_views(behind: Behind, board: Board = "") -> Document:
    """The saved views; ``view=NAME`` of the list uses one."""
    found = _board(behind, board).views()
    return Document({"views": [view_document(name, query) for name, query in found.items()]})


@router.post("", status_code=201, response_model=answered.Card)
def create_card(behind: Behind, body: CreateCard, x_run: Run = "") -> Document:
    """Make a card; 422 names what does not fit, and nothing is made then."""
    draft = CardDraft(
        title=body.title,
        body=body.body or "",
        column=body.column or "",
        labels=tuple(body.labels or ()),
        priority=body.priority or 0,
        assignee=body.assignee or "",
        blockers=tuple(body.blockers or ()),
        fields=body.fields or {},
        bot=body.bot or "",
        bot_args=body.bot_args or {},
        not_before=body.not_before or "",
        url=body.url or "",
    )
    card = _board(behind, body.board).create(draft, _mover(x_run))
    return Document(_documents(behind, [card])[0], 201)


@router.get("/{card_id}", response_model=answered.WholeCard, responses=READ)
def show_card(behind: Behind, card_id: str, board: Board = "") -> Document:
    """One card with its comments, by number, id or unique prefix."""
    with behind.in_time():
        shown, card = _card(behind, card_id, board)
        return Document(whole_document(shown, card, behind.wiring.ledger, behind.wiring.store.runs))


@router.patch("/{card_id}", response_model=answered.Card, responses=WRITE)
def patch_card(behind: Behind, card_id: str, body: PatchCard, how: How) -> Document:
    """Change what the body names; 409 when it carries a version that is not the card's, 412 by ``If-Match``."""
    native, card = _own_card(behind, card_id, how.board)
    version = _version(behind, native, card, body.version, how.match)
    patch = CardPatch(
        title=body.title,
        body=body.body,
        labels=None if body.labels is None else tuple(body.labels),
        priority=body.priority,
        assignee=body.assignee,
        blockers=None if body.blockers is None else tuple(body.blockers),
        fields=body.fields,
        bot=body.bot,
        bot_args=body.bot_args,
        not_before=body.not_before,
        url=body.url,
        column=body.column,
        version=version,
    )
    with behind.wiring.ledger.together():
        if body.last_run is not None:
            point(behind.wiring, card, body.last_run)
        card = native.update(card.id, patch, _mover(how.run))
    return Document(_documents(behind, [card])[0])


@router.post("/{card_id}/move", response_model=answered.Card, responses=WRITE)
def move_card(behind: Behind, card_id: str, body: MoveCard, how: How) -> Document:
    """Move a card; 409 when it is not where, or not as, the body expects it, 412 by ``If-Match``."""
    shown, card = _card(behind, card_id, how.board)
    version = _version(behind, shown, card, body.version, how.match)
    move = Move(body.to, _mover(how.run), body.expect, version or card.version, body.reason)
    card = _moved(shown, card, move)
    return Document(_documents(behind, [card])[0])


@router.post("/{card_id}/place", response_model=answered.Card, responses=refusals(404, 409, 410, 412))
def place_card(behind: Behind, card_id: str, body: PlaceCard, how: How) -> Document:
    """Put a card right before or right behind another of its column."""
    native, card = _own_card(behind, card_id, how.board)
    _as_read(behind, native, card, how.match)
    before, behind_ = (native.resolve(text) if text else "" for text in (body.before, body.after))
    if bool(before) == bool(behind_):
        raise Refused("bad_input", "It is not said where the card goes.", "Name one of before and after.")
    card = native.place(card.id, Place(before, behind_), _mover(how.run))
    return Document(_documents(behind, [card])[0])


@router.post("/{card_id}/comments", status_code=201, response_model=answered.Comment, responses=WRITE)
def comment_card(behind: Behind, card_id: str, body: CommentCard, how: How) -> Document:
    """Add a comment."""
    shown, card = _card(behind, card_id, how.board)
    _as_read(behind, shown, card, how.match)
    return Document(comment_document(shown.comment(card.id, body.text, _mover(how.run))), 201)


@router.post("/{card_id}/archive", response_model=answered.Card, responses=refusals(404, 409, 410, 412))
def archive_card(behind: Behind, card_id: str, how: How, _body: Nothing | None = None) -> Document:
    """Put a card away: no list shows it; 409 while somebody works on it."""
    native, card = _own_card(behind, card_id, how.board)
    _as_read(behind, native, card, how.match)
    if card.id in _claimed(behind, native.name):
        raise Refused("card_conflict", f"Card {card_id} is being worked on.", "Cancel its run first.")
    return Document(_documents(behind, [native.archive(card.id, _mover(how.run))])[0])


@router.post("/{card_id}/unarchive", response_model=answered.Card, responses=refusals(404, 409, 410, 412))
def unarchive_card(behind: Behind, card_id: str, how: How, _body: Nothing | None = None) -> Document:
    """Bring a card back to where it was put away from."""
    native, card = _own_card(behind, card_id, how.board)
    _as_read(behind, native, card, how.match)
    return Document(_documents(behind, [native.unarchive(card.id, _mover(how.run))])[0])


@router.get("/{card_id}/history", response_model=answered.History, responses=refusals(404, 410))
def card_history(behind: Behind, card_id: str, wanted: Annotated[HistoryPage, Query()]) -> Document:
    """The card's events above ``since``, oldest first, at most ``limit``; ``more`` says whether there are others."""
    native = _board(behind, wanted.board)
    found = native.history(native.resolve(card_id), since=wanted.since, limit=wanted.limit)
    more = len(found) == wanted.limit
    return Document({"events": [event_document(event) for event in found], "more": more})


def _board(behind: Backstage, name: str) -> NativeBoard:
    """The native board of that name, else the first: for what is done to cards that live here."""
    boards = behind.wiring.boards
    found = boards.get(name) if name else next((b for b in boards.values() if isinstance(b, NativeBoard)), None)
    if isinstance(found, NativeBoard):
        return found
    if name in boards:
        raise Refused("bad_input", f'Board "{name}" is a forge\'s.', "Cards of a forge are changed on the forge.")
    raise _no_board(behind, name)


def _no_board(behind: Backstage, name: str) -> Refused:
    boards = ", ".join(behind.wiring.boards) or "none"
    return Refused("bad_input", f'There is no board "{name}".', f"Boards here: {boards}.")


def _shown(behind: Backstage, name: str) -> ShownBoard:
    """The board of that name, of any kind; else the first native one, else the first."""
    boards = behind.wiring.boards
    natives = [each for each in boards.values() if isinstance(each, NativeBoard)]
    found = boards.get(name) if name else next(iter((*natives, *boards.values())), None)
    if found is None:
        raise _no_board(behind, name)
    return cast("ShownBoard", found)


def _card(behind: Backstage, text: str, board: str) -> tuple[ShownBoard, Card]:
    shown = _shown(behind, board)
    return shown, _found(shown, text)


def _own_card(behind: Backstage, text: str, board: str) -> tuple[NativeBoard, Card]:
    native = _board(behind, board)
    return native, _found(native, text)


def _found(board: ShownBoard, text: str) -> Card:
    card = board.get(board.resolve(text))
    if isinstance(card, Card):
        return card
    moved = f": it moved to {card.moved_to}" if card.moved_to else ""
    raise UnknownCard(f"There is no card {text} on {board.name}{moved}.", "See which there are: GET /api/cards.")


def _moved(board: ShownBoard, card: Card, move: Move) -> Card:
    answer = board.move(card.id, move)
    if isinstance(answer, Moved):
        return answer.card
    why = answer.why if isinstance(answer, NotMoved) else "it was deleted"
    raise Refused("card_conflict", f"Card #{card.number} was not moved: {why}.", "Read it again, then move it.")


def _version(behind: Backstage, board: ShownBoard, card: Card, told: str | int | None, match: str) -> str | None:
    """The version that the change must find: the body's, else the one whose document ``If-Match`` names.

    Raises Refused (412) when the card reads otherwise by now; what changes behind this look is the version's matter.
    """
    _as_read(behind, board, card, match)
    version = None if told is None else str(told)
    return version or (card.version if match else None)


def _as_read(behind: Backstage, board: ShownBoard, card: Card, match: str) -> None:
    """Raises Refused (412) when ``If-Match`` names another reading of the card than the present one."""
    if not match:
        return
    read = Document(whole_document(board, card, behind.wiring.ledger, behind.wiring.store.runs))
    if not names(match.encode("latin-1"), tag_of(bytes(read.body))):
        text = f"Card #{card.number} is no longer as it was read."
        raise Refused("precondition_failed", text, "Read it again, then change it.")


def _documents(behind: Backstage, cards: list[Card] | tuple[Card, ...]) -> list[Json]:
    return documents_of(cards, behind.wiring.ledger, behind.wiring.store.runs)


def _claimed(behind: Backstage, board: str) -> frozenset[str]:
    return frozenset(card_id for name, card_id in behind.wiring.ledger.snapshot().claims if name == board)


def _mover(run_id: str) -> Mover:
    return Mover(MoverKind.BOT, "", run_id) if run_id else Mover(MoverKind.PERSON, "http")
