"""Comments and the history of a board: appended inside a change, read in order (dispatcher.md 29)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert, select, update

from connectors.card import BoardEvent, BoardEventType, Comment, Mover
from connectors.errors import Conflict, InvalidImport, InvalidText, UnknownCard
from connectors.native import schema
from connectors.native.incoming import Said
from connectors.native.reading import need_card
from connectors.native.rows import comment_of, event_of
from connectors.native.unit import Look, Unit
from connectors.text import check_text


def add_comment(unit: Unit, card_id: str, text: str, author: Mover) -> Comment:
    """One comment under a card. It does not touch the card's version: nobody's edit is refused for it."""
    _check(text)
    need_card(unit, card_id)
    comment_id = unit.host.ids.new("m")
    values = {
        "id": comment_id,
        "card_id": card_id,
        "author_kind": author.kind.value,
        "author_name": author.name,
        "author_run": author.run_id,
        "text": text,
        "created_at": unit.stamp,
        "edited_at": "",
    }
    unit.connection.execute(insert(schema.COMMENT).values(values))
    unit.event(BoardEventType.COMMENT_ADDED, card_id, author, {"comment": comment_id, "text": text})
    return Comment(comment_id, card_id, author, text, unit.now)


def take_comments(unit: Unit, card_id: str, said: Sequence[Said], mover: Mover) -> bool:
    """Add the comments of an imported card that are not here yet; whether there was any. Raises ``InvalidImport``."""
    table = schema.COMMENT
    wanted = {each.id: each for each in said}
    there = select(table.c.id, table.c.card_id).where(table.c.id.in_(wanted))
    known = {row.id: row.card_id for row in unit.connection.execute(there)} if wanted else {}
    for comment_id, owner in known.items():
        if owner != card_id:
            told = f"Comment {comment_id} of card {card_id} is under card {owner} here."
            raise InvalidImport(told, "Leave it out of the document.")
    for each in (each for each in wanted.values() if each.id not in known):
        author = each.author
        values = {
            "id": each.id,
            "card_id": card_id,
            "author_kind": author.kind.value,
            "author_name": author.name,
            "author_run": author.run_id,
            "text": each.text,
            "created_at": each.created_at,
            "edited_at": each.edited_at,
        }
        unit.connection.execute(insert(table).values(values))
        told_too = {"comment": each.id, "text": each.text, "imported": True}
        unit.event(BoardEventType.COMMENT_ADDED, card_id, mover, told_too)
    return len(known) < len(wanted)


def edit_comment(unit: Unit, comment_id: str, text: str, mover: Mover) -> Comment:
    """Change a comment of the same author; the earlier text goes into the history. Raises ``Conflict`` for others'."""
    _check(text)
    table = schema.COMMENT
    row = unit.connection.execute(select(table).where(table.c.id == comment_id)).first()
    if row is None:
        raise UnknownCard(f"There is no comment {comment_id}.", "See the card's comments: card show.")
    old = comment_of(row)
    need_card(unit, old.card_id)
    if (old.author.kind, old.author.name) != (mover.kind, mover.name):
        raise Conflict(f"Comment {comment_id} was written by somebody else.", "Add a comment of your own.")
    if old.text == text:
        return old
    statement = update(table).where(table.c.id == comment_id).values(text=text, edited_at=unit.stamp)
    unit.connection.execute(statement)
    told = {"comment": comment_id, "from": old.text, "to": text}
    unit.event(BoardEventType.COMMENT_EDITED, old.card_id, mover, told)
    return Comment(comment_id, old.card_id, old.author, text, old.created_at, unit.now)


def comments_of(look: Look, card_id: str) -> tuple[Comment, ...]:
    """A card's comments, oldest first."""
    table = schema.COMMENT
    rows = look.connection.execute(
        select(table).where(table.c.card_id == card_id).order_by(table.c.created_at, table.c.id)
    )
    return tuple(comment_of(row) for row in rows)


def every_comment(look: Look) -> dict[str, list[Comment]]:
    """The comments of every card of the board that has any, oldest first."""
    table, card = schema.COMMENT.c, schema.CARD.c
    wanted = select(schema.COMMENT).join(schema.CARD, card.id == table.card_id).where(card.board == look.board)
    found: dict[str, list[Comment]] = {}
    for row in look.connection.execute(wanted.order_by(table.created_at, table.id)):
        found.setdefault(row.card_id, []).append(comment_of(row))
    return found


def events_of(look: Look, card_id: str, since: int, limit: int | None) -> tuple[BoardEvent, ...]:
    """Events above ``since``, oldest first; of one card when it is named."""
    event = schema.EVENT
    statement = select(event).where(event.c.board == look.board, event.c.seq > since).order_by(event.c.seq)
    if card_id:
        statement = statement.where(event.c.card_id == card_id)
    if limit is not None:
        statement = statement.limit(limit)
    return tuple(event_of(row) for row in look.connection.execute(statement))


def _check(text: str) -> None:
    check_text("comment", text)
    if not text.strip():
        raise InvalidText("The comment is empty.", "Write something.")
