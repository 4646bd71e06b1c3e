"""Making, changing and deleting cards, each inside one open change (dispatcher.md 19 and 29)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Update, bindparam, delete, insert, select, update

from connectors.base import Unread
from connectors.card import BoardEventType, Card, Mover
from connectors.chains import find_cycle
from connectors.drafts import CardDraft, CardPatch, check_arguments, check_draft, check_not_before, check_patch, merged
from connectors.errors import BlockerCycle, CardDeleted, Conflict, UnknownBlocker, UnknownCard
from connectors.fields import fit_changes, fit_fields
from connectors.native import schema
from connectors.native.reading import (
    columns_of,
    fields_of,
    find_card,
    links_of,
    need_card,
    resolve_id,
)
from connectors.native.rows import encode, encode_labels, encode_start
from connectors.native.unit import Unit
from connectors.queries import column_named

_TYPE = BoardEventType
_CARD = schema.CARD.c


@cache
def _touching(names: tuple[str, ...]) -> Update:
    """The statement that writes these columns, made once."""
    there = (_CARD.id == bindparam("the_card"), _CARD.version == bindparam("the_version"))
    values: dict[str, object] = {name: bindparam(name) for name in names}
    return update(schema.CARD).where(*there).values(**values, version=_CARD.version + 1).returning(*_CARD)


def create(unit: Unit, draft: CardDraft, author: Mover) -> Card:
    """Make a card; everything is checked before the first row is written."""
    draft = check_draft(draft)
    columns = columns_of(unit)
    column = column_named(columns, draft.column) if draft.column else columns[0]
    fields = fit_fields(fields_of(unit), draft.fields)
    start = check_not_before(draft.not_before)
    card_id = unit.host.ids.new("c")
    blockers = resolve_blockers(unit, card_id, draft.blockers)
    number = unit.next_number()
    values: dict[str, object] = {
        "id": card_id,
        "board": unit.board,
        "number": number,
        "title": draft.title,
        "body": draft.body,
        **column_values(unit, column.id, author),
        **encode_labels(draft.labels),
        "priority": draft.priority,
        "position": None,
        "assignee": draft.assignee,
        "author": author.name,
        "bot": draft.bot,
        "bot_args": encode(dict(draft.bot_args)),
        "fields": encode(fields),
        "url": draft.url,
        **encode_start(start),
        "version": 1,
        "created_at": unit.stamp,
        "updated_at": unit.stamp,
        "archived_at": "",
    }
    unit.connection.execute(insert(schema.CARD), values)
    write_blockers(unit, card_id, blockers)
    unit.event(_TYPE.CARD_CREATED, card_id, author, {"number": number, "title": draft.title, "column": column.name})
    return need_card(unit, card_id)


def update_card(unit: Unit, card_id: str, patch: CardPatch, mover: Mover) -> Card:
    """Change what the patch names; a patch that changes nothing writes nothing."""
    card = need_card(unit, card_id)
    if patch.version is not None and patch.version != card.version:
        raise Conflict(
            f"Card #{card.number} changed meanwhile: it is at version {card.version}, not {patch.version}.",
            "Read it again and repeat the change.",
        )
    changes = _changes(unit, card, patch)
    blockers = None if patch.blockers is None else resolve_blockers(unit, card_id, patch.blockers)
    present = tuple(ref.id for ref in card.blockers or ())
    if blockers == present:
        blockers = None
    if not changes and blockers is None:
        return card
    touch(unit, card, _encoded(changes))
    if blockers is not None:
        unit.connection.execute(delete(schema.BLOCKER).where(schema.BLOCKER.c.card_id == card_id))
        write_blockers(unit, card_id, blockers)
        unit.event(_TYPE.BLOCKERS_CHANGED, card_id, mover, {"from": list(present), "to": list(blockers)})
    if changes:
        unit.event(_TYPE.CARD_UPDATED, card_id, mover, {"changed": _told(card, changes)})
    return need_card(unit, card_id)


def delete_card(unit: Unit, card_id: str, mover: Mover) -> tuple[str, ...]:
    """Delete a card, damaged or not; its number and id stay spent. Answers the cards that wait for it."""
    card = find_card(unit, card_id)
    if card is None:
        need_card(unit, card_id)
    waiting = select(schema.BLOCKER.c.card_id).where(schema.BLOCKER.c.blocker_id == card_id)
    dependents = tuple(unit.connection.execute(waiting.order_by(schema.BLOCKER.c.card_id)).scalars())
    unit.connection.execute(delete(schema.BLOCKER).where(schema.BLOCKER.c.card_id == card_id))
    unit.connection.execute(delete(schema.COMMENT).where(schema.COMMENT.c.card_id == card_id))
    unit.connection.execute(delete(schema.CARD).where(schema.CARD.c.id == card_id))
    title = "" if card is None or isinstance(card, Unread) else card.title
    number = 0 if card is None else card.number
    unit.event(_TYPE.CARD_DELETED, card_id, mover, {"number": number, "title": title, "waiting": list(dependents)})
    return dependents


def resolve_blockers(unit: Unit, card_id: str, texts: Collection[str]) -> tuple[str, ...]:
    """The full ids of the blockers. Raises ``UnknownBlocker`` and ``BlockerCycle``, whose message names the chain."""
    found: list[str] = []
    for text in texts:
        try:
            found.append(resolve_id(unit, text))
        except (UnknownCard, CardDeleted) as error:
            raise UnknownBlocker(
                f'The blocker "{text}" is no card of board {unit.board}.', "Name a card that exists: card list."
            ) from error
    blockers = tuple(dict.fromkeys(found))
    chain = find_cycle(card_id, blockers, lambda ids: links_of(unit, ids))
    if chain:
        names = " -> ".join(_label(unit, each) for each in chain)
        raise BlockerCycle(f"The card would wait for itself: {names}.", "Leave one of these blockers out.")
    return blockers


def write_blockers(unit: Unit, card_id: str, blockers: Collection[str]) -> None:
    """Store the links of a card that has none."""
    rows = [{"card_id": card_id, "blocker_id": each, "position": at} for at, each in enumerate(blockers)]
    if rows:
        unit.connection.execute(insert(schema.BLOCKER), rows)


def column_values(unit: Unit, column_id: str, mover: Mover) -> dict[str, object]:
    """The columns of a card row that tell where it is since when and by whom; takes a store sequence."""
    return {
        "column_id": column_id,
        "column_since": unit.stamp,
        "column_by": mover.kind.value,
        "column_mover": mover.name,
        "column_run": mover.run_id,
        "column_sequence": unit.sequence(),
    }


def touch(unit: Unit, card: Card, values: Mapping[str, object]) -> Sequence[Any]:
    """Write values into a card row if it is still at the card's version; the row as it is then. Raises ``Conflict``."""
    changed = {**values, "updated_at": unit.stamp}
    there = {"the_card": card.id, "the_version": int(card.version)}
    row: Sequence[Any] | None = unit.ask(_touching(tuple(changed)), **changed, **there).fetchone()
    if row is None:
        raise Conflict(f"Card #{card.number} changed meanwhile.", "Read it again and repeat the change.")
    return row


def _changes(unit: Unit, card: Card, patch: CardPatch) -> dict[str, object]:
    wanted = check_patch(patch)
    if patch.fields is not None:
        wanted["fields"] = fit_changes(fields_of(unit), card.fields, patch.fields)
    if patch.bot_args is not None:
        wanted["bot_args"] = check_arguments(merged(card.bot_args, patch.bot_args))
    if patch.not_before is not None:
        wanted["not_before"] = check_not_before(patch.not_before)
    return {name: value for name, value in wanted.items() if value != getattr(card, name)}


def _encoded(changes: Mapping[str, object]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in changes.items():
        if name == "labels" and isinstance(value, tuple):
            values.update(encode_labels(value))
        elif name == "not_before":
            values.update(encode_start(value))  # type: ignore[arg-type]
        else:
            values[name] = encode(value) if isinstance(value, dict) else value
    return values


def _told(card: Card, changes: Mapping[str, object]) -> dict[str, object]:
    """What the history keeps: old and new, but for the body, of which it keeps the old text only."""
    told: dict[str, object] = {}
    for name, value in changes.items():
        old = getattr(card, name)
        if name == "not_before":
            told[name] = {"from": getattr(old, "text", ""), "to": getattr(value, "text", "")}
        elif name == "body":
            told[name] = {"from": old}
        else:
            told[name] = {"from": old, "to": value}
    return told


def _label(unit: Unit, card_id: str) -> str:
    card = find_card(unit, card_id)
    return f"#{card.number}" if card is not None and card.number else "this card"
