"""Rows to records and back: pure. One damaged row becomes one unread card and hides nothing else (dispatcher.md 29)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from connectors.base import Unread
from connectors.card import BoardEvent, Card, CardRef, Column, Comment, Mover, MoverKind, NotBefore
from connectors.fields import FieldSpec, FieldType
from connectors.native.stamp import from_text, to_text
from connectors.not_before import read_not_before
from connectors.text import same_name

UNMAPPED = "?"
"""How the ``column_id`` of a card begins whose column the board does not have; the name follows."""

_T = TypeVar("_T")
_log = logging.getLogger("pointsman.board")


@dataclass(frozen=True, slots=True)
class Decoder:
    """Makes cards of one board's rows; ``columns`` by id."""

    board: str
    columns: Mapping[str, Column]

    def card(self, row: Any, blockers: Sequence[str] = ()) -> Card | Unread:
        """The card of a row, or what is wrong with it."""
        try:
            return self._card(row, blockers)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            number = row.number if isinstance(row.number, int) else 0
            return Unread(str(row.id), f"the stored card cannot be read: {error}", number)

    def _card(self, row: Any, blockers: Sequence[str]) -> Card:
        column = self.columns.get(row.column_id)
        name = column.name if column is not None else row.column_id.removeprefix(UNMAPPED)
        return Card(
            board=self.board,
            id=row.id,
            number=_typed(int, row.number),
            title=_typed(str, row.title),
            column=column.name if column is not None else None,
            created_at=from_text(row.created_at),
            updated_at=from_text(row.updated_at),
            column_since=from_text(row.column_since),
            column_by=MoverKind(row.column_by),
            column_sequence=_typed(int, row.column_sequence),
            column_run=row.column_run,
            column_mover=row.column_mover,
            body=_typed(str, row.body),
            columns_seen=(name,),
            closed=column.terminal if column is not None else False,
            labels=() if row.labels == "[]" else _texts(row.labels),
            priority=_typed(int, row.priority),
            position=None if row.position is None else float(row.position),
            assignees=(row.assignee,) if row.assignee else (),
            author=row.author,
            bot=row.bot,
            bot_args={} if row.bot_args == "{}" else _object(row.bot_args),
            fields={} if row.fields == "{}" else _object(row.fields),
            blockers=tuple(CardRef(self.board, blocker) for blocker in blockers),
            url=row.url,
            not_before=_start(row.id, row.not_before, row.not_before_at) if row.not_before else None,
            version=str(_typed(int, row.version)),
        )


def column_of(row: Any) -> Column:
    """The column of a row."""
    return Column(row.id, row.name, row.title, bool(row.eligible), bool(row.terminal), _texts(row.aliases))


def field_of(row: Any) -> FieldSpec:
    """The declared field of a row."""
    return FieldSpec(
        row.name, FieldType(row.type), bool(row.required), json.loads(row.default_value), _texts(row.choices)
    )


def comment_of(row: Any) -> Comment:
    """The comment of a row."""
    author = Mover(MoverKind(row.author_kind), row.author_name, row.author_run)
    edited = from_text(row.edited_at) if row.edited_at else None
    return Comment(row.id, row.card_id, author, row.text, from_text(row.created_at), edited)


def event_of(row: Any) -> BoardEvent:
    """The event of a row."""
    mover = Mover(MoverKind(row.mover_kind), row.mover_name, row.mover_run)
    return BoardEvent(row.board, row.seq, from_text(row.time), row.type, row.card_id, mover, json.loads(row.data))


def encode(value: object) -> str:
    """JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_labels(labels: Sequence[str]) -> dict[str, str]:
    """The two columns of labels: as given, and in the form in which they are compared."""
    return {"labels": encode(list(labels)), "label_keys": encode([same_name(label) for label in labels])}


def encode_start(start: NotBefore | None) -> dict[str, str]:
    """The two columns of a scheduled start: the text as given, and the instant."""
    instant = to_text(start.instant) if start is not None and start.instant is not None else ""
    return {"not_before": start.text if start is not None else "", "not_before_at": instant}


def _start(card_id: str, text: str, stored: str) -> NotBefore:
    """The start as the present zone database has it; a shift against the stored instant is logged."""
    start = read_not_before(text)
    if stored and start.instant is not None and from_text(stored) != start.instant:
        _log.warning("card.not_before_shifted", extra={"card_id": card_id, "was": stored, "is": to_text(start.instant)})
    return start


def _typed(kind: type[_T], value: object) -> _T:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def _texts(text: str) -> tuple[str, ...]:
    values = json.loads(text)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{text!r} is no list of texts")
    return tuple(values)


def _object(text: str) -> dict[str, object]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text!r} is no object")
    return value
