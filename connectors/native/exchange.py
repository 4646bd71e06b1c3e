"""Taking cards over from a document: idempotent, ids kept, nothing with a claim touched (dispatcher.md 29).

The document is what ``board export`` prints (``dispatcher/documents.py``), or one from a forge whose cards carry a
``source``; the same source always becomes the same card id. Columns and fields of the document are not made: a card
whose column does not exist here is shown as unmapped and never started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select, update

from connectors.base import Unread
from connectors.card import BoardEventType, Card, Column, Mover
from connectors.drafts import CardDraft, check_draft, check_not_before
from connectors.errors import BadCard, InvalidImport
from connectors.native import schema
from connectors.native.cards import column_values, write_blockers
from connectors.native.reading import columns_of, find_card
from connectors.native.rows import UNMAPPED, encode, encode_labels, encode_start
from connectors.native.stamp import from_text, to_text
from connectors.native.unit import Unit
from connectors.text import same_name

_ANY_ID = 64


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, by card id; ``unmapped`` are those whose column does not exist here."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    skipped_claimed: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    renumbered: Mapping[str, int] = field(default_factory=dict)


def import_cards(unit: Unit, documents: Sequence[object], claimed: Collection[str], mover: Mover) -> ImportReport:
    """Take all cards over or none. Raises ``InvalidImport`` naming the card that cannot be read."""
    columns = columns_of(unit)
    drafts = [_draft_of(document, at) for at, document in enumerate(documents)]
    lists: dict[str, list[str]] = {name: [] for name in ("created", "updated", "unchanged", "skipped_claimed")}
    unmapped: list[str] = []
    renumbered: dict[str, int] = {}
    for one in drafts:
        if one.id in claimed:
            lists["skipped_claimed"].append(one.id)
            continue
        before = find_card(unit, one.id)
        column_id = _column_id(columns, one.draft.column)
        if column_id.startswith(UNMAPPED):
            unmapped.append(one.id)
        if before is None:
            number = _insert(unit, one, column_id, mover)
            lists["created"].append(one.id)
            if one.number and number != one.number:
                renumbered[one.id] = number
        else:
            changed = _overwrite(unit, one, column_id, (before, mover))
            lists["updated" if changed else "unchanged"].append(one.id)
    report = ImportReport(
        tuple(lists["created"]),
        tuple(lists["updated"]),
        tuple(lists["unchanged"]),
        tuple(lists["skipped_claimed"]),
        tuple(unmapped),
        renumbered,
    )
    if report.created or report.updated:
        told = {"created": list(report.created), "updated": list(report.updated)}
        unit.event(BoardEventType.BOARD_IMPORTED, "", mover, told)
    return report


@dataclass(frozen=True, slots=True)
class _Imported:
    """One card of the document, checked."""

    id: str
    number: int
    draft: CardDraft
    created_at: str
    position: float | None
    archived: bool


def _draft_of(document: object, at: int) -> _Imported:
    if not isinstance(document, dict):
        raise InvalidImport(f"Card {at + 1} of the document is no object.", "Use what board export prints.")
    try:
        draft = check_draft(
            CardDraft(
                title=_text(document, "title"),
                body=_text(document, "body"),
                column=_text(document, "column"),
                labels=tuple(_texts(document, "labels")),
                priority=_number(document, "priority"),
                assignee=_text(document, "assignee"),
                blockers=tuple(_texts(document, "blockers")),
                fields=_object(document, "fields"),
                bot=_text(document, "bot"),
                bot_args=_object(document, "bot_args"),
                not_before=_text(document, "not_before"),
                url=_text(document, "url"),
            )
        )
        check_not_before(draft.not_before)
        created = _text(document, "created_at")
        created_at = to_text(from_text(created)) if created else ""
        position = document.get("position")
        place = float(position) if isinstance(position, int | float) else None
        put_away = document.get("archived") is True
        return _Imported(_id_of(document), _number(document, "number"), draft, created_at, place, put_away)
    except (BadCard, ValueError, TypeError) as error:
        raise InvalidImport(
            f"Card {at + 1} of the document cannot be used: {error}", "Correct it; nothing was taken over."
        ) from error


def _id_of(document: Mapping[str, object]) -> str:
    source = _text(document, "source")
    if source:
        return "s" + hashlib.sha256(source.encode()).hexdigest()[:26]
    card_id = _text(document, "id")
    if not card_id.isascii() or not card_id.isalnum() or card_id.isdigit() or len(card_id) > _ANY_ID:
        raise ValueError(f"{card_id!r} is no card id, and there is no source")
    return card_id


def _column_id(columns: Sequence[Column], name: str) -> str:
    wanted = same_name(name)
    for column in columns:
        if not name or wanted == column.name or name in column.aliases:
            return column.id
    return UNMAPPED + name


def _values(one: _Imported) -> dict[str, object]:
    draft = one.draft
    return {
        "title": draft.title,
        "body": draft.body,
        **encode_labels(draft.labels),
        "priority": draft.priority,
        "position": one.position,
        "assignee": draft.assignee,
        "bot": draft.bot,
        "bot_args": encode(dict(draft.bot_args)),
        "fields": encode(dict(draft.fields)),
        "url": draft.url,
        **encode_start(check_not_before(draft.not_before)),
    }


def _insert(unit: Unit, one: _Imported, column_id: str, mover: Mover) -> int:
    table = schema.CARD
    taken = unit.connection.execute(select(table.c.board).where(table.c.id == one.id)).scalar()
    if taken is not None:
        raise InvalidImport(
            f"Card {one.id} is on board {taken} of this store.", "Import it there, or into another store."
        )
    number = _free_number(unit, one.number)
    values = {
        "id": one.id,
        "board": unit.board,
        "number": number,
        **_values(one),
        **column_values(unit, column_id, mover),
        "author": mover.name,
        "version": 1,
        "created_at": one.created_at or unit.stamp,
        "updated_at": unit.stamp,
        "archived_at": unit.stamp if one.archived else "",
    }
    unit.connection.execute(insert(table).values(values))
    write_blockers(unit, one.id, dict.fromkeys(one.draft.blockers))
    told = {"number": number, "title": one.draft.title, "column": column_id.removeprefix(UNMAPPED), "imported": True}
    unit.event(BoardEventType.CARD_CREATED, one.id, mover, told)
    return number


def _overwrite(unit: Unit, one: _Imported, column_id: str, past: tuple[Card | Unread, Mover]) -> bool:
    """Bring a card that is there to the document's values; answers whether anything was different."""
    before, mover = past
    table = schema.CARD
    row = unit.connection.execute(select(table).where(table.c.id == one.id)).mappings().one()
    values = {name: value for name, value in _values(one).items() if row[name] != value}
    blockers = tuple(dict.fromkeys(one.draft.blockers))
    present = tuple(ref.id for ref in before.blockers or ()) if isinstance(before, Card) else ()
    moved = row["column_id"] != column_id
    if not values and not moved and blockers == present:
        return False
    if moved:
        values.update(column_values(unit, column_id, mover))
    changed = {**values, "version": table.c.version + 1, "updated_at": unit.stamp}
    unit.connection.execute(update(table).where(table.c.id == one.id).values(changed))
    if blockers != present:
        unit.connection.execute(delete(schema.BLOCKER).where(schema.BLOCKER.c.card_id == one.id))
        write_blockers(unit, one.id, blockers)
    unit.event(BoardEventType.CARD_UPDATED, one.id, mover, {"imported": sorted(values)})
    return True


def _free_number(unit: Unit, wanted: int) -> int:
    """The document's number when nobody here ever had it, else the next one."""
    meta = schema.META
    mine = meta.c.board == unit.board
    following = unit.connection.execute(select(meta.c.next_number).where(mine)).scalar_one()
    if wanted < following:
        return unit.next_number()
    unit.connection.execute(update(meta).where(mine).values(next_number=wanted + 1))
    return wanted


def _text(document: Mapping[str, object], name: str) -> str:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value or ""


def _texts(document: Mapping[str, object], name: str) -> list[str]:
    value = document.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is no list of texts")
    return value


def _number(document: Mapping[str, object], name: str) -> int:
    value = document.get(name) or 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is no whole number")
    return value


def _object(document: Mapping[str, object], name: str) -> dict[str, object]:
    value = document.get(name) or {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no object")
    return value
