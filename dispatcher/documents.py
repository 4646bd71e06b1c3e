"""The JSON documents of boards and cards, for the command line and the web: pure, JSON values only (interface.md 4).

A card's document joins what the board says with what the ledger says of the same card (pointer, claim, idle reason) and
with the status of the run it points at. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connectors.card import BoardEvent, Card, Column, Comment, Mover

if TYPE_CHECKING:
    from connectors.base import CardQuery, Listing, Unread
    from connectors.fields import FieldSpec
    from dispatcher.ledger.records import CardView, Claim, IdleReason

Document = dict[str, object]

UNMAPPED = "unmapped"
"""What the document of a card says whose column the board does not have."""
FORMAT = 1
"""The version of the export document."""


def instant(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds and Z."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"


def card_document(card: Card, view: CardView | None = None, run_status: str | None = None) -> Document:
    """The document of interface.md 4 with the additions of dispatcher.md 29; ``run_status`` is that of ``last_run``."""
    last_run = view.last_run if view is not None else ""
    return {
        "id": card.id,
        "number": card.number,
        "board": card.board,
        "title": card.title,
        "body": card.body,
        "column": UNMAPPED if card.column is None else card.column,
        "labels": list(card.labels),
        "priority": card.priority,
        "position": card.position,
        "assignee": card.assignee,
        "author": card.author,
        "bot": card.bot,
        "bot_args": dict(card.bot_args),
        "fields": dict(card.fields),
        "blockers": [ref.id for ref in card.blockers or ()],
        "not_before": card.not_before.text if card.not_before is not None else None,
        "not_before_at": _maybe(card.not_before.instant) if card.not_before is not None else None,
        "closed": card.closed,
        "archived": card.archived,
        "url": card.url,
        "last_run": last_run or None,
        "last_run_status": run_status if last_run else None,
        "claim": claim_document(view.claim) if view is not None and view.claim is not None else None,
        "column_since": instant(card.column_since),
        "column_by": card.column_by.value,
        "column_run": card.column_run or None,
        "idle_reason": idle_document(view.idle) if view is not None and view.idle is not None else None,
        "version": card.version,
        "created_at": instant(card.created_at),
        "updated_at": instant(card.updated_at),
    }


def unread_document(unread: Unread) -> Document:
    """What is shown of a card that cannot be read."""
    return {"id": unread.id, "number": unread.number, "error": unread.why}


def listing_marks(listing: Listing) -> Document:
    """What the document of a list says besides its cards: those that cannot be read, and that it is not whole."""
    marks: Document = {}
    if listing.unread:
        marks["unread"] = [unread_document(each) for each in listing.unread]
    if not listing.complete:
        marks |= {"complete": False, "why": listing.why or str(listing.stopped)}
    return marks


def claim_document(claim: Claim) -> Document:
    """Who works on a card, or keeps it between attempts."""
    owner = {"instance": claim.owner.instance, "host": claim.owner.host, "pid": claim.owner.pid}
    return {
        "state": claim.state.value,
        "epoch": claim.epoch,
        "run_id": claim.run_id or None,
        "owner": owner,
        "claimed_at": instant(claim.claimed_at),
    }


def idle_document(reason: IdleReason) -> Document:
    """Why a card does not run, and what would change it."""
    return {"code": reason.code, "text": reason.text, "unblock": reason.unblock, "since": instant(reason.since)}


def comment_document(comment: Comment) -> Document:
    """One comment."""
    return {
        "id": comment.id,
        "author": mover_document(comment.author),
        "text": comment.text,
        "created_at": instant(comment.created_at),
        "edited_at": _maybe(comment.edited_at),
    }


def event_document(event: BoardEvent) -> Document:
    """One entry of a board's history."""
    return {
        "seq": event.seq,
        "time": instant(event.time),
        "type": str(event.type),
        "card": event.card_id or None,
        "by": mover_document(event.mover),
        "data": dict(event.data),
    }


def mover_document(mover: Mover) -> Document:
    """Who did something."""
    return {"kind": mover.kind.value, "name": mover.name, "run_id": mover.run_id or None}


def column_document(column: Column, wip: int | None) -> Document:
    """One column; ``wip`` is the configuration's limit, None for none."""
    return {
        "name": column.name,
        "title": column.title,
        "eligible": column.eligible,
        "terminal": column.terminal,
        "wip": wip,
    }


def view_document(name: str, query: CardQuery) -> Document:
    """One saved view."""
    return {
        "name": name,
        "columns": list(query.columns),
        "label": query.label,
        "assignee": query.assignee,
        "text": query.text,
        "archived": query.archived,
    }


def field_document(spec: FieldSpec) -> Document:
    """One declared field."""
    return {
        "name": spec.name,
        "type": spec.type.value,
        "required": spec.required,
        "default": spec.default,
        "values": list(spec.values),
    }


def board_document(
    name: str, columns: Sequence[Document], fields: Sequence[FieldSpec], cards: Sequence[Document]
) -> Document:
    """The export: everything that ``board import`` takes back."""
    return {
        "format": FORMAT,
        "board": name,
        "columns": list(columns),
        "fields": [field_document(spec) for spec in fields],
        "cards": list(cards),
    }


def wip_of(limits: Mapping[str, int], column: Column) -> int | None:
    """The configured limit of a column, also under one of its earlier names."""
    return next((limits[name] for name in (column.name, *column.aliases) if name in limits), None)


def _maybe(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment)
