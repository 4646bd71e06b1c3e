"""Reads of one board: columns, fields, one card, many cards, a filtered page. Core statements, no objects of an ORM.

Called by ``board.py`` with an open look, and by the modules that write with their change. A board that was never
written to has the default columns; reading makes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    String,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from connectors.base import AbsentKind, CardQuery, Unread
from connectors.card import BoardEventType, Card, Column
from connectors.errors import CardDeleted, DamagedCard, UnknownCard
from connectors.fields import FieldSpec
from connectors.native import schema
from connectors.native.defaults import DEFAULT_COLUMNS
from connectors.native.rows import UNMAPPED, Decoder, column_of, encode, field_of
from connectors.native.unit import Look
from connectors.queries import column_named
from connectors.text import same_name

CHUNK = 500
"""How many ids one statement names."""

_CARD = schema.CARD.c
NOT_ARCHIVED = _CARD.archived_at == ""
_PRESENT: ColumnElement[bool] = literal_column(schema.PRESENT)
"""The same, in the words of the index that has the whole list in its order."""

_BOARD: BindParameter[str] = bindparam("the_board")
_WANTED: BindParameter[str] = bindparam("the_card")
_COLUMNS = (
    select(schema.COLUMN)
    .where(schema.COLUMN.c.board == _BOARD)
    .order_by(schema.COLUMN.c.position, schema.COLUMN.c.name)
)
_ONE = select(schema.CARD).where(_CARD.board == _BOARD, _CARD.id == _WANTED)
_ITS_BLOCKERS = (
    select(schema.BLOCKER.c.blocker_id).where(schema.BLOCKER.c.card_id == _WANTED).order_by(schema.BLOCKER.c.position)
)
_NEWEST = select(schema.META.c.event_seq).where(schema.META.c.board == _BOARD)
"""What every tick and every move asks, made once: making a statement costs more than its answer."""


class _Folded(FunctionElement[str]):
    """Text without its letters' case, as the database can do it (``engine/store/sqlite.py`` teaches SQLite)."""

    name = "folded"
    type = String()
    inherit_cache = True


@compiles(_Folded)
def _plain_fold(element: _Folded, compiler: SQLCompiler, **how: Any) -> str:
    return f"lower({compiler.process(element.clauses, **how)})"


@compiles(_Folded, "sqlite")
def _sqlite_fold(element: _Folded, compiler: SQLCompiler, **how: Any) -> str:
    return f"folded({compiler.process(element.clauses, **how)})"


def columns_of(look: Look) -> tuple[Column, ...]:
    """All columns in their order."""
    rows = look.ask(_COLUMNS, the_board=look.board)
    return tuple(column_of(row) for row in iter(rows.fetchone, None)) or DEFAULT_COLUMNS


def fields_of(look: Look) -> tuple[FieldSpec, ...]:
    """The declared fields in their order."""
    table = schema.FIELD
    rows = look.connection.execute(
        select(table).where(table.c.board == look.board).order_by(table.c.position, table.c.name)
    )
    return tuple(field_of(row) for row in rows)


def decoder_of(look: Look) -> Decoder:
    """What makes cards of this board's rows."""
    return Decoder.of(look.board, columns_of(look))


def find_card(look: Look, card_id: str, decoder: Decoder | None = None) -> Card | Unread | None:
    """One card by its full id, None when there is none; ``decoder`` of one who has it already."""
    row = look.ask(_ONE, the_board=look.board, the_card=card_id).fetchone()
    if row is None:
        return None
    blockers = [each[0] for each in iter(look.ask(_ITS_BLOCKERS, the_card=card_id).fetchone, None)]
    return (decoder or decoder_of(look)).card(row, blockers)


def need_card(look: Look, card_id: str, decoder: Decoder | None = None) -> Card:
    """As ``find_card``. Raises ``UnknownCard``, ``CardDeleted`` or ``DamagedCard``."""
    card = find_card(look, card_id, decoder)
    if isinstance(card, Unread):
        raise DamagedCard(f"Card {card_id}: {card.why}.", "Repair or delete it: card delete.")
    if card is None:
        raise absence(look, card_id)
    return card


def absence(look: Look, card_id: str) -> UnknownCard | CardDeleted:
    """The exception for a card that is not there."""
    if absent_kind(look, card_id) is AbsentKind.GONE:
        return CardDeleted(f"Card {card_id} was deleted.", "Its history is in: board history.")
    return UnknownCard(f"There is no card {card_id}.", "See which there are: card list.")


def absent_kind(look: Look, card_id: str) -> AbsentKind:
    """Whether a card that is not there ever was."""
    event = schema.EVENT.c
    deleted = select(event.seq).where(
        event.board == look.board, event.card_id == card_id, event.type == BoardEventType.CARD_DELETED.value
    )
    return AbsentKind.GONE if look.connection.execute(deleted.limit(1)).first() is not None else AbsentKind.UNKNOWN


def cards_where(
    look: Look, conditions: Collection[ColumnElement[bool]], page: CardQuery | None = None
) -> Iterator[Card | Unread]:
    """The cards for which all conditions hold, in the order of dispatcher.md 17, each with its blockers."""
    mine = [_CARD.board == look.board, *conditions]
    statement = select(schema.CARD).where(*mine).order_by(*_order())
    if page is not None and (page.limit is not None or page.offset):
        statement = statement.limit(-1 if page.limit is None else page.limit).offset(page.offset)
    rows = look.connection.execute(statement).all()
    few = len(rows) <= CHUNK
    blockers = links_of(look, [row.id for row in rows]) if few else _blockers_where(look, _among(mine))
    decoder = decoder_of(look)
    for row in rows:
        yield decoder.card(row, blockers.get(row.id, ()))


def cards_by_id(look: Look, ids: Collection[str]) -> dict[str, Card | Unread]:
    """Those of the cards that are there."""
    found: dict[str, Card | Unread] = {}
    for some in chunks(ids):
        found.update({card.id: card for card in cards_where(look, [_CARD.id.in_(some)])})
    return found


def conditions_of(query: CardQuery, columns: tuple[Column, ...]) -> list[ColumnElement[bool]]:
    """The query's filters as conditions. Raises ``UnknownColumn``."""
    present = NOT_ARCHIVED if query.columns else _PRESENT
    conditions: list[ColumnElement[bool]] = [_CARD.archived_at != "" if query.archived else present]
    if query.text:
        wanted = _Folded(literal(f"%{query.text.replace('~', '~~').replace('%', '~%').replace('_', '~_')}%"))
        inside = (_Folded(each).like(wanted, escape="~") for each in (_CARD.title, _CARD.body))
        conditions.append(or_(*inside))
    if query.columns:
        conditions.append(_CARD.column_id.in_({column_named(columns, name).id for name in query.columns}))
    if query.label:
        conditions.append(func.replace(_CARD.label_keys, encode(same_name(query.label)), "") != _CARD.label_keys)
    if query.assignee:
        conditions.append(_CARD.assignee == query.assignee)
    if query.only is not None:
        conditions.append(_CARD.id.in_(query.only))
    if query.without:
        conditions.append(_CARD.id.not_in(query.without))
    return conditions


def resolve_id(look: Look, text: str) -> str:
    """The full id behind a number, a full id, or a unique prefix. Raises ``UnknownCard``, ``CardDeleted``."""
    number = text.strip().removeprefix("#")
    if not number:
        raise UnknownCard("No card is named.", "Name it by its number, its id, or the beginning of its id.")
    if number.isascii() and number.isdigit():
        wanted = select(_CARD.id).where(_CARD.board == look.board, _CARD.number == int(number[:18]))
        found = look.connection.execute(wanted).scalar()
        if found is None:
            raise UnknownCard(f"There is no card #{number} on board {look.board}.", "See which there are: card list.")
        return str(found)
    ids = look.connection.execute(_by_prefix(look.board, text)).scalars().all()
    if text in ids or (len(ids) == 1 and text):
        return text if text in ids else str(ids[0])
    if len(ids) > 1:
        raise UnknownCard(f'"{text}" is the beginning of more than one card id.', "Give more of the id, or the number.")
    raise absence(look, text)


def links_of(look: Look, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each of the cards, the ids of the cards that it waits for."""
    found: dict[str, tuple[str, ...]] = {}
    for some in chunks(ids):
        found.update(_blockers_where(look, schema.BLOCKER.c.card_id.in_(some)))
    return found


def chunks(ids: Collection[str]) -> Iterator[list[str]]:
    """The ids in pieces that fit into one statement."""
    every = list(dict.fromkeys(ids))
    for start in range(0, len(every), CHUNK):
        yield every[start : start + CHUNK]


def unmapped_condition(columns: tuple[Column, ...]) -> ColumnElement[bool]:
    """Cards whose column the board does not have."""
    return _CARD.column_id.not_in([column.id for column in columns]) | _CARD.column_id.startswith(UNMAPPED)


def _among(conditions: Collection[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Links of the cards for which these hold, looked up link by link: there are fewer links than cards."""
    return exists().where(_CARD.id == schema.BLOCKER.c.card_id, *conditions)


def _blockers_where(look: Look, condition: ColumnElement[bool]) -> dict[str, tuple[str, ...]]:
    table = schema.BLOCKER.c
    statement = select(table.card_id, table.blocker_id).where(condition).order_by(table.position)
    found: dict[str, list[str]] = {}
    for card_id, blocker in look.connection.execute(statement):
        found.setdefault(card_id, []).append(blocker)
    return {card_id: tuple(each) for card_id, each in found.items()}


def _order() -> tuple[ColumnElement[Any], ...]:
    return (
        _CARD.priority.desc(),
        _CARD.position.is_(None),
        _CARD.position,
        _CARD.created_at,
        _CARD.number,
        _CARD.id,
    )


def _by_prefix(board: str, text: str) -> Select[Any]:
    return (
        select(_CARD.id)
        .where(_CARD.board == board, func.substr(_CARD.id, 1, len(text)) == text)
        .order_by(func.length(_CARD.id), _CARD.id)
        .limit(2)
    )


def newest_event(look: Look) -> int:
    """The ``seq`` of the board's newest event, 0 for a board without any."""
    row = look.ask(_NEWEST, the_board=look.board).fetchone()
    return 0 if row is None else int(row[0])
