"""``pointsman card ...``: make, list, show, move and change cards of a native board (interface.md 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.board_access import (
    BOARD,
    board_anywhere,
    board_of,
    documents_of,
    glance_of,
    mover_of,
    named_board,
    need_card,
    pairs,
    shown_board_of,
    text_or_stdin,
    whole_document,
)
from dispatcher.cli.board_views import filter_options
from dispatcher.cli.numbers import FROM_ZERO
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from connectors.base import Listing, Move, ShownBoard
    from connectors.card import Card
    from connectors.native.board import NativeBoard

CLEARABLE = ("labels", "blockers", "fields", "bot-args", "not-before")


@click.group(help="Create, list, show, move and change cards.")
@click.option(
    "--board",
    "board_name",
    default="",
    metavar="NAME",
    help="which board; default: the first",
)
@click.pass_context
def command(context: click.Context, board_name: str) -> None:
    """The group; it only notes the board."""
    context.meta[BOARD] = board_name


def _board(session: Session) -> NativeBoard:
    return board_of(session, named_board())


def _shown(session: Session) -> ShownBoard:
    return shown_board_of(session, named_board())


def _content_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that ``create`` and ``update`` share."""
    options = (
        click.option("--body", metavar="TEXT|-", help="the text; - reads stdin"),
        click.option("--column", metavar="NAME", help="the column; default when creating: the first"),
        click.option(
            "--label", "labels", multiple=True, metavar="LABEL", help="may be repeated; update: the whole set"
        ),
        click.option("--priority", type=int, metavar="N", help="larger is more urgent; default 0"),
        click.option("--assignee", metavar="NAME"),
        click.option("--blocker", "blockers", multiple=True, metavar="ID", help="a card that must be done first"),
        click.option("--field", "fields", multiple=True, metavar="K=V"),
        click.option("--bot", metavar="NAME", help="the bot that works on the card, before any route"),
        click.option("--bot-arg", "bot_args", multiple=True, metavar="K=V", help="a value for the bot"),
        click.option("--not-before", metavar="WHEN", help='"2027-03-28 02:30 Europe/Berlin", or RFC 3339'),
        click.option("--url", metavar="URL"),
    )
    for option in reversed(options):
        function = option(function)
    return function


@command.command("create", help="Make a card.")
@click.option("--title", required=True, metavar="TEXT")
@_content_options
@click.pass_obj
def create(session: Session, /, title: str, **given: Any) -> None:
    """Make a card from the options."""
    from connectors.drafts import CardDraft

    draft = CardDraft(
        title=title,
        body=text_or_stdin(given["body"] or ""),
        column=given["column"] or "",
        labels=given["labels"],
        priority=given["priority"] or 0,
        assignee=given["assignee"] or "",
        blockers=given["blockers"],
        fields=pairs(given["fields"], "--field"),
        bot=given["bot"] or "",
        bot_args=pairs(given["bot_args"], "--bot-arg"),
        not_before=given["not_before"] or "",
        url=given["url"] or "",
    )
    card = _board(session).create(draft, mover_of(session))
    _tell(session, card, f"Made card #{card.number} in {card.column}: {card.title}")


@command.command("update", help="Change a card; what is not named stays.")
@click.argument("card_id", metavar="ID")
@click.option("--title", metavar="TEXT")
@click.option("--clear", multiple=True, type=click.Choice(CLEARABLE), help="empty it; may be repeated")
@click.option(
    "--last-run", "last_run", metavar="RUN", help="point the card at that run; refused while its run is alive"
)
@_content_options
@click.pass_obj
def update(session: Session, /, card_id: str, **given: Any) -> None:
    """Change what the options name, all of it or nothing."""
    from connectors.drafts import CardPatch

    _need_store(session, card_id)
    board = _board(session)
    card = need_card(board, card_id)
    clear = given["clear"]
    patch = CardPatch(
        title=given["title"],
        body=None if given["body"] is None else text_or_stdin(given["body"]),
        labels=given["labels"] if given["labels"] or "labels" in clear else None,
        priority=given["priority"],
        assignee=given["assignee"],
        blockers=given["blockers"] if given["blockers"] or "blockers" in clear else None,
        fields=_merged(card.fields, pairs(given["fields"], "--field"), "fields" in clear),
        bot=given["bot"],
        bot_args=_merged(card.bot_args, pairs(given["bot_args"], "--bot-arg"), "bot-args" in clear),
        not_before="" if "not-before" in clear else given["not_before"],
        url=given["url"],
        column=given["column"],
        version=card.version,
    )
    with session.wiring().ledger.together():
        if given["last_run"] is not None:
            from dispatcher.pointing import point

            point(session.wiring(), card, given["last_run"])
        card = board.update(card.id, patch, mover_of(session))
    _tell(session, card, f"Changed card #{card.number}.")


@command.command("list", help="List cards, the most urgent first.")
@filter_options
@click.option("--view", default="", metavar="NAME", help="the filters of a saved view; others narrow it further")
@click.option("--claimed/--unclaimed", default=None, help="only cards that are, or are not, worked on")
@click.option("--limit", type=FROM_ZERO, metavar="N", help="at most so many")
@click.option("--offset", type=FROM_ZERO, default=0, metavar="N", help="after skipping so many")
@click.pass_obj
def list_(session: Session, /, view: str, claimed: bool | None, **given: Any) -> None:
    """List the cards that pass all filters; a store that does not exist has none and is not made."""
    if not session.store_exists():
        _show_list(session, [])
        if all(each.kind != "native" for each in session.settings().boards):
            session.warn("There is no store yet, so no forge was asked; pointsman dispatch --once makes it.")
        return
    from connectors.base import CardQuery

    board = _shown(session)
    claims = frozenset() if claimed is None else glance_of(session).claimed(board.name)
    saved = _board(session).view(view) if view else CardQuery()
    asked = {name: value for name, value in given.items() if value or name in ("limit", "offset")}
    only, without = (claims, frozenset[str]()) if claimed else (None, claims)
    listing = board.query(replace(saved, **asked, only=only, without=without))
    _show_list(session, documents_of(session, listing.cards), listing)


def _show_list(session: Session, documents: list[dict[str, object]], listing: Listing | None = None) -> None:
    """The cards; on stderr what the list lacks, with which the document is marked as the HTTP side marks it."""
    from dispatcher.cli.card_text import cards_table
    from dispatcher.documents import listing_marks, unread_document

    unread = [unread_document(each) for each in listing.unread] if listing is not None else []
    if session.json:
        session.emit({"cards": documents, **(listing_marks(listing) if listing is not None else {})})
    else:
        session.output.line(cards_table(documents, session.output.out))
    for each in unread:
        session.warn(f"Card {each['id']} (#{each['number']}): {each['error']}. The others are shown.")
    if listing is not None and not listing.complete:
        why = (listing.why or str(listing.stopped)).rstrip(".")
        session.warn(f"This list is not whole: {why}.")
        session.warn("Cards that it lacks may be there all the same; ask again, or see: pointsman doctor.")


@command.command("show", help="Show one card with its comments.")
@click.argument("card_id", metavar="ID")
@click.pass_obj
def show(session: Session, card_id: str) -> None:
    """Print the whole document or page of a card."""
    from dispatcher.cli.card_text import card_page

    _need_store(session, card_id)
    board = _shown(session)
    card = need_card(board, card_id)
    document = whole_document(session, board, card)
    if session.json:
        session.emit(document)
    else:
        session.say(card_page(document, _waits(board, card)))


def _waits(board: ShownBoard, card: Card) -> list[str]:
    """The cards that a card waits for, as people know them: number and column; by id where one cannot be read."""
    from connectors.errors import ConnectorError

    ids = [ref.id for ref in card.blockers or () if ref.board in ("", board.name)]
    try:
        found = board.get_many(ids).found if ids else {}
    except ConnectorError:  # the card itself was read: what it waits for is shown as far as it is known
        found = {}
    named = {each: f"#{other.number} (in {other.column or 'no column'})" for each, other in found.items()}
    return [named.get(ref.id, ref.id) for ref in card.blockers or ()]


@command.command("move", help="Move a card to a column, or to a place within its column.")
@click.argument("card_id", metavar="ID")
@click.option("--to", "to", default="", metavar="COLUMN")
@click.option("--expect", default="", metavar="COLUMN", help="refuse when the card is elsewhere")
@click.option("--before", default="", metavar="ID", help="right before another card of the column")
@click.option("--after", default="", metavar="ID", help="right behind another card of the column")
@click.option("--reason", default="", metavar="TEXT", help="kept in the history")
@click.pass_obj
def move(session: Session, /, card_id: str, to: str, expect: str, **given: str) -> None:
    """Compare-and-set on the card as it was just read; a lost race exits 5."""
    from connectors.base import Move

    if (not to and not given["before"] and not given["after"]) or (given["before"] and given["after"]):
        raise Refused(
            "usage", "It is not said where the card goes.", "Use --to COLUMN, or one of --before and --after."
        )
    _need_store(session, card_id)
    board = _shown(session)
    card = need_card(board, card_id)
    before = card.column or "unmapped"
    wanted = Move(to or card.column or "", mover_of(session), expect or None, card.version, given["reason"])
    if given["before"] or given["after"]:
        native = _board(session)
        with session.wiring().ledger.together():
            card = _place(session, native, _move(native, card, wanted) if wanted.to else card, given)
    else:
        card = _move(board, card, wanted)
    told = f"Moved card #{card.number}: {before} -> {card.column}"
    _tell(session, card, told if card.column != before else f"Card #{card.number} is in {card.column}.")


@command.command("comment", help="Add a comment to a card; - reads stdin.")
@click.argument("card_id", metavar="ID")
@click.argument("text")
@click.option("--edit", default="", metavar="COMMENT", help="change this one of yours; the history keeps the old text")
@click.pass_obj
def comment(session: Session, card_id: str, text: str, edit: str) -> None:
    """Add one comment, or change one."""
    from dispatcher.documents import comment_document

    _need_store(session, card_id)
    board = _shown(session)
    card = need_card(board, card_id)
    if edit:
        native = _board(session)
        _need_comment(native, card, edit)
        made = native.edit_comment(edit, text_or_stdin(text), mover_of(session))
    else:
        made = board.comment(card.id, text_or_stdin(text), mover_of(session))
    if session.json:
        session.emit(comment_document(made))
    else:
        session.say(f"{'Changed a comment' if edit else 'Commented'} on card #{card.number}.")


def _need_comment(board: NativeBoard, card: Card, comment_id: str) -> None:
    known = [each.id for each in board.comments(card.id)]
    if comment_id not in known:
        hint = f"Its comments: {', '.join(known)}." if known else "It has none: card comment."
        raise Refused("not_found", f"Card #{card.number} has no comment {comment_id}.", hint)


@command.command("close", help="Close a card: move it to the first terminal column.")
@click.argument("card_id", metavar="ID")
@click.pass_obj
def close(session: Session, card_id: str) -> None:
    """Close a card; one that is closed already stays."""
    _need_store(session, card_id)
    board = _board(session)
    card = need_card(board, card_id)
    answer = board.close(card.id, mover_of(session), failed=session.settings().columns.failed or "")
    told = "Closed" if answer.changed else "Was closed already:"
    _tell(session, answer.card, f"{told} card #{card.number}, in {answer.card.column}.")


@command.command("archive", help="Put a card away: no list shows it, nothing starts from it, its history stays.")
@click.argument("card_id", metavar="ID")
@click.pass_obj
def archive(session: Session, card_id: str) -> None:
    """Archive a card that nobody works on."""
    _need_store(session, card_id)
    board = _board(session)
    found = board.resolve(card_id)
    if found in glance_of(session).claimed(board.name):
        raise Refused("card_conflict", f"Card {card_id} is being worked on.", "Cancel its run first, then put it away.")
    card = board.archive(found, mover_of(session))
    _tell(session, card, f"Card #{card.number} is put away; card list --archived shows it.")


@command.command("unarchive", help="Bring a card back to where it was put away from.")
@click.argument("card_id", metavar="ID")
@click.pass_obj
def unarchive(session: Session, card_id: str) -> None:
    """Bring an archived card back."""
    _need_store(session, card_id)
    board = _board(session)
    card = board.unarchive(board.resolve(card_id), mover_of(session))
    _tell(session, card, f"Card #{card.number} is back in {card.column}.")


@command.command("delete", help="Delete a card for good; its number is not used again.")
@click.argument("card_id", metavar="ID")
@click.pass_obj
def delete(session: Session, card_id: str) -> None:
    """Delete a card that nobody works on."""
    _need_store(session, card_id)
    board = _board(session)
    found = board.resolve(card_id)
    if found in glance_of(session).claimed(board.name):
        raise Refused("card_conflict", f"Card {card_id} is being worked on.", "Cancel its run first, then delete it.")
    waiting = board.delete(found, mover_of(session))
    if session.json:
        session.emit({"deleted": found, "waiting": list(waiting)})
        return
    session.say(f"Deleted card {card_id}.")
    if waiting:
        session.warn(f"{len(waiting)} cards wait for it and go on waiting: {', '.join(waiting)}.")


@command.command("history", help="Tell what happened to a card.")
@click.argument("card_id", metavar="ID")
@click.option("--since", type=FROM_ZERO, default=0, metavar="SEQ", help="only what came after this number")
@click.pass_obj
def history(session: Session, card_id: str, since: int) -> None:
    """Print a card's events, oldest first."""
    from dispatcher.cli.card_text import history_text
    from dispatcher.documents import event_document

    _need_store(session, card_id)
    board = _board(session)
    events = [event_document(event) for event in board.history(board.resolve(card_id), since=since)]
    if session.json:
        session.emit({"events": events})
    else:
        session.say(history_text(events))


def _tell(session: Session, card: Card, text: str) -> None:
    if session.json:
        session.emit(documents_of(session, [card])[0])
    else:
        session.say(text)


def _move(board: ShownBoard, card: Card, wanted: Move) -> Card:
    from connectors.base import Moved
    from connectors.base import Refused as NotMoved

    answer = board.move(card.id, wanted)
    if isinstance(answer, Moved):
        return answer.card
    why = answer.why if isinstance(answer, NotMoved) else "the card was deleted"
    raise Refused("card_conflict", f"Card #{card.number} was not moved: {why}.", "Look at it again, then move it.")


def _place(session: Session, board: NativeBoard, card: Card, given: dict[str, str]) -> Card:
    from connectors.base import Place

    before, behind = (board.resolve(given[name]) if given[name] else "" for name in ("before", "after"))
    return board.place(card.id, Place(before, behind), mover_of(session))


def _merged(present: Any, given: dict[str, str], clear: bool) -> dict[str, object] | None:
    if not given and not clear:
        return None
    return {**(dict.fromkeys(present) if clear else {}), **given}


def _need_store(session: Session, card_id: str) -> None:
    if not session.store_exists():
        forges = all(each.kind != "native" for each in session.settings().boards)
        hint = "Read the boards: pointsman dispatch --once." if forges else "Make a card: pointsman card create."
        raise Refused("card_unknown", f"There is no card {card_id}: there is no store yet.", hint)


board_anywhere(command)
