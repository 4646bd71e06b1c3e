"""Taking cards over from a document: idempotent, ids kept, nothing with a claim touched (dispatcher.md 29).

The document is what ``board export`` prints (``dispatcher/documents.py``), or one from a forge whose cards carry a
``source``; the same source always becomes the same card id. Columns and fields of the document are not made: a card
whose column does not exist here is shown as unmapped and never started, a field that this board does not declare is
refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import bindparam, delete, insert, select, update

from connectors.base import Unread
from connectors.card import BoardEventType, Card, Column, Mover
from connectors.drafts import check_not_before
from connectors.errors import BadCard, InvalidImport
from connectors.fields import FieldSpec, fit_import
from connectors.native import schema
from connectors.native.cards import column_values, write_blockers
from connectors.native.incoming import Incoming, incoming
from connectors.native.moving import tell_move
from connectors.native.reading import columns_of, fields_of, find_card
from connectors.native.rows import UNMAPPED, Decoder, encode, encode_labels, encode_start
from connectors.native.talk import take_comments
from connectors.native.unit import Unit
from connectors.text import same_name

_TYPE = BoardEventType
_META = schema.META.c
_MINE = _META.board == bindparam("the_board")
_FOLLOWING = select(_META.next_number).where(_MINE)
_NEXT = update(schema.META).where(_MINE).values(next_number=bindparam("the_number"))
_WHERE = select(schema.CARD.c.board).where(schema.CARD.c.id == bindparam("the_card"))
"""What is asked for every card of a document, made once: making a statement costs more than its answer."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, by card id; ``unmapped`` are those whose column does not exist here."""

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    skipped_claimed: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    renumbered: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Here:
    """What an import reads once: the columns and fields of this board, and who imports."""

    columns: Sequence[Column]
    fields: Sequence[FieldSpec]
    mover: Mover


def import_cards(unit: Unit, documents: Sequence[object], claimed: Collection[str], mover: Mover) -> ImportReport:
    """Take all cards over or none. Raises ``InvalidImport`` naming the card that cannot be used."""
    every = incoming(documents)
    here = _Here(columns_of(unit), fields_of(unit), mover)
    decoder = Decoder.of(unit.board, here.columns)
    made: dict[str, int] = {}
    told: dict[str, str] = {}
    for at, one in sorted(enumerate(every, start=1), key=lambda each: (each[1].number or float("inf"), each[0])):
        if one.id in claimed:
            told[one.id] = "skipped_claimed"
            continue
        before = find_card(unit, one.id, decoder)
        values = _values(here, one, before, at)
        if before is None:
            made[one.id] = _insert(unit, one, values, mover)
            told[one.id] = "created"
        else:
            told[one.id] = "updated" if _overwrite(unit, one, values, (before, here)) else "unchanged"
    lists = {
        name: tuple(one.id for one in every if told[one.id] == name)
        for name in ("created", "updated", "unchanged", "skipped_claimed")
    }
    lost = (one for one in every if one.id not in claimed and _column_id(here.columns, one).startswith(UNMAPPED))
    other = {one.id: made[one.id] for one in every if one.number and made.get(one.id, one.number) != one.number}
    report = ImportReport(**lists, unmapped=tuple(one.id for one in lost), renumbered=other)
    if report.created or report.updated:
        what = {"created": list(report.created), "updated": list(report.updated)}
        unit.event(_TYPE.BOARD_IMPORTED, "", mover, what)
    return report


def _column_id(columns: Sequence[Column], one: Incoming) -> str:
    name = one.draft.column
    wanted = same_name(name)
    for column in columns:
        if not name or wanted == column.name or name in column.aliases:
            return column.id
    return UNMAPPED + name


def _values(here: _Here, one: Incoming, before: Card | Unread | None, at: int) -> dict[str, object]:
    """The columns of a card row as the document wants them, its fields as this board takes them."""
    draft = one.draft
    present = None if before is None else before.fields if isinstance(before, Card) else {}
    try:
        fields = fit_import(here.fields, draft.fields, present)
    except BadCard as error:
        told = f"Card {at} of the document cannot be used: {error.message}"
        raise InvalidImport(told, f"{error.hint} Nothing was taken over.") from error
    return {
        "title": draft.title,
        "body": draft.body,
        **encode_labels(draft.labels),
        "priority": draft.priority,
        "position": one.position,
        "assignee": draft.assignee,
        "bot": draft.bot,
        "bot_args": encode(dict(draft.bot_args)),
        "fields": encode(fields),
        "url": draft.url,
        **encode_start(check_not_before(draft.not_before)),
        "column_id": _column_id(here.columns, one),
    }


def _insert(unit: Unit, one: Incoming, values: Mapping[str, object], mover: Mover) -> int:
    table = schema.CARD
    taken = unit.ask(_WHERE, the_card=one.id).fetchone()
    if taken is not None:
        raise InvalidImport(
            f"Card {one.id} is on board {taken[0]} of this store.", "Import it there, or into another store."
        )
    number = _free_number(unit, one.number)
    column_id = str(values["column_id"])
    row = {
        **values,
        "id": one.id,
        "board": unit.board,
        "number": number,
        **column_values(unit, column_id, mover),
        "author": one.author or mover.name,
        "version": 1,
        "created_at": one.created_at or unit.stamp,
        "updated_at": unit.stamp,
        "archived_at": unit.stamp if one.archived else "",
    }
    unit.connection.execute(insert(table), row)
    write_blockers(unit, one.id, dict.fromkeys(one.draft.blockers))
    told = {"number": number, "title": one.draft.title, "column": column_id.removeprefix(UNMAPPED), "imported": True}
    unit.event(_TYPE.CARD_CREATED, one.id, mover, told)
    take_comments(unit, one.id, one.comments, mover)
    return number


def _overwrite(unit: Unit, one: Incoming, wanted: Mapping[str, object], past: tuple[Card | Unread, _Here]) -> bool:
    """Bring a card that is there to the document's values; answers whether anything was different."""
    before, here = past
    table, mover = schema.CARD, here.mover
    row = unit.connection.execute(select(table).where(table.c.id == one.id)).mappings().one()
    values = {name: value for name, value in wanted.items() if row[name] != value}
    moved = values.pop("column_id", None)
    away = one.archived is not None and one.archived != bool(row["archived_at"])
    blockers = tuple(dict.fromkeys(one.draft.blockers))
    present = tuple(ref.id for ref in before.blockers or ()) if isinstance(before, Card) else ()
    said = take_comments(unit, one.id, one.comments, mover)
    if not values and moved is None and not away and blockers == present:
        return said
    changed: dict[str, object] = dict(values)
    if moved is not None:
        changed.update(column_values(unit, str(moved), mover))
    if away:
        changed["archived_at"] = unit.stamp if one.archived else ""
    if blockers != present:
        unit.connection.execute(delete(schema.BLOCKER).where(schema.BLOCKER.c.card_id == one.id))
        write_blockers(unit, one.id, blockers)
        unit.event(_TYPE.BLOCKERS_CHANGED, one.id, mover, {"from": list(present), "to": list(blockers)})
    changed |= {"version": table.c.version + 1, "updated_at": unit.stamp}
    unit.connection.execute(update(table).where(table.c.id == one.id).values(changed))
    if values:
        unit.event(_TYPE.CARD_UPDATED, one.id, mover, {"imported": sorted(values)})
    if moved is not None:
        ways = (_named(here.columns, str(row["column_id"])), _named(here.columns, str(moved)))
        tell_move(unit, one.id, ways, mover, {"reason": "imported", "sequence": changed["column_sequence"]})
    if away:
        kind = _TYPE.CARD_ARCHIVED if one.archived else _TYPE.CARD_UNARCHIVED
        unit.event(kind, one.id, mover, {"column": _named(here.columns, str(moved or row["column_id"])).name})
    return True


def _named(columns: Sequence[Column], column_id: str) -> Column:
    """The column of that id; one that is not there has the name that its cards keep."""
    name = column_id.removeprefix(UNMAPPED)
    return next((column for column in columns if column.id == column_id), Column(column_id, name, name))


def _free_number(unit: Unit, wanted: int) -> int:
    """The document's number when nobody here ever had it, else the next one."""
    following = int(unit.ask(_FOLLOWING, the_board=unit.board).fetchone()[0])
    if wanted < following:
        return unit.next_number()
    unit.ask(_NEXT, the_board=unit.board, the_number=wanted + 1)
    return wanted
