"""Rows to records and back: pure. One damaged row becomes one unread card and hides nothing else (dispatcher.md 29)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.base import Unread
from connectors.card import BoardEvent, Card, CardRef, Column, Comment, Mover, MoverKind, NotBefore
from connectors.errors import DamagedCard
from connectors.fields import FieldSpec, FieldType
from connectors.native.stamp import from_text, to_text
from connectors.not_before import read_not_before
from connectors.text import same_name

UNMAPPED = "?"
"""How the ``column_id`` of a card begins whose column the board does not have; the name follows."""

_MOVERS = {kind.value: kind for kind in MoverKind}
_log = logging.getLogger("pointsman.board")


@dataclass(frozen=True, slots=True)
class Decoder:
    """Makes cards of one board's rows; ``columns`` by id."""

    board: str
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, board: str, columns: Sequence[Column]) -> Decoder:
        """The decoder of a board with these columns."""
        return cls(board, {column.id: column for column in columns})

    def changed(self, card: Card, row: Sequence[Any]) -> Card:
        """The card as its row is by now; what it waits for did not change."""
        return self._card(row, [blocker.id for blocker in card.blockers or ()])

    def card(self, row: Sequence[Any], blockers: Sequence[str] = ()) -> Card | Unread:
        """The card of a row of ``schema.CARD``, or what is wrong with it. Ten thousand of these make a listing."""
        try:
            return self._card(row, blockers)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            number = row[2] if isinstance(row[2], int) else 0
            return Unread(str(row[0]), f"the stored card cannot be read: {error}", number)

    def _card(self, row: Sequence[Any], blockers: Sequence[str]) -> Card:
        card_id, _, number, title, body, column_id, since, by, mover, run, sequence, labels, _, *rest = row
        priority, position, assignee, author, bot, bot_args, fields, url, start, start_at, *times = rest
        version, made, changed, put_away = times
        _check_types((number, sequence, priority, version), (title, body, assignee, bot, url))
        column = self.columns.get(column_id)
        created_at = from_text(made)
        return Card(
            board=self.board,
            id=card_id,
            number=number,
            title=title,
            column=column.name if column is not None else None,
            created_at=created_at,
            updated_at=created_at if changed == made else from_text(changed),
            column_since=created_at if since == made else from_text(since),
            column_by=_MOVERS[by],
            column_sequence=sequence,
            column_run=run,
            column_mover=mover,
            body=body,
            columns_seen=(column.name if column is not None else column_id.removeprefix(UNMAPPED),),
            closed=bool(put_away) or (column is not None and column.terminal),
            archived=bool(put_away),
            labels=() if labels == "[]" else texts_of(labels),
            priority=priority,
            position=None if position is None else float(position),
            assignees=(assignee,) if assignee else (),
            author=author,
            bot=bot,
            bot_args={} if bot_args == "{}" else _object(bot_args),
            fields={} if fields == "{}" else _object(fields),
            blockers=tuple(CardRef(self.board, blocker) for blocker in blockers),
            url=url,
            not_before=_start(card_id, start, start_at) if start else None,
            version=str(version),
        )


def _check_types(numbers: Sequence[object], texts: Sequence[object]) -> None:
    """SQLite takes any value in any column; a card has whole numbers and texts where they belong."""
    for value in numbers:
        if not isinstance(value, int):
            raise TypeError(f"{value!r} is no whole number")
    for value in texts:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no text")


def column_of(row: Sequence[Any]) -> Column:
    """The column of a row. Raises DamagedCard when its earlier names cannot be read: cards may go by them."""
    _board, column_id, name, title, _position, eligible, terminal, aliases = row
    try:
        also = () if aliases == "[]" else texts_of(aliases)
    except ValueError as error:
        text = f"The column {name} cannot be read: its earlier names are damaged ({error})."
        raise DamagedCard(text, "Repair the store: pointsman db check.") from error
    return Column(column_id, name, title, bool(eligible), bool(terminal), also)


def field_of(row: Any) -> FieldSpec:
    """The declared field of a row."""
    return FieldSpec(
        row.name, FieldType(row.type), bool(row.required), json.loads(row.default_value), texts_of(row.choices)
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


def texts_of(text: str) -> tuple[str, ...]:
    """A JSON list of texts. Raises ``TypeError`` or ``ValueError`` for anything else."""
    values = json.loads(text)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{text!r} is no list of texts")
    return tuple(values)


def _object(text: str) -> dict[str, object]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text!r} is no object")
    return value
