"""The tables of the native board, as SQLModel declares them. The one description of the schema.

Statements are built over ``schema.py``, which names the same columns without loading SQLModel (a listing starts in a
third of the time); tests prove that this, ``schema.py`` and the migrations agree. Instants are texts of one fixed width
(``stamp.py``), so that they sort; structured values are JSON texts, decoded per card, so that one damaged card does not
hide the others.
"""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import Index, MetaData, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from connectors.native.schema import PRESENT

metadata = MetaData()
ORDER = ("board", "priority DESC", "(position IS NULL)", "position", "created_at", "number", "id")
"""The order of a board's cards (dispatcher.md 17)."""


class _Table(SQLModel):
    """What the tables share: a metadata of their own."""

    metadata: ClassVar[MetaData] = metadata


class BoardMeta(_Table, table=True):
    """One row per board: the counters that never go back. A board without this row was never written to."""

    __tablename__ = "board_meta"

    board: str = Field(primary_key=True)
    next_number: int
    event_seq: int
    created_at: str


class BoardColumn(_Table, table=True):
    """A column; the id stays when the name changes."""

    __tablename__ = "board_column"
    __table_args__ = (UniqueConstraint("board", "name", name="uq_board_column_name"),)

    board: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    name: str
    title: str
    position: int
    eligible: bool
    terminal: bool
    aliases: str


class BoardField(_Table, table=True):
    """A declared field."""

    __tablename__ = "board_field"

    board: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    type: str
    required: bool
    default_value: str
    choices: str
    position: int


class BoardView(_Table, table=True):
    """A saved view: the filters of a list, as JSON."""

    __tablename__ = "board_view"

    board: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    query: str


class BoardCard(_Table, table=True):
    """A card; ``archived_at`` is empty unless it was put away.

    ``column_id`` starts with ``?`` and goes on with the name when the board has no such column.
    """

    __tablename__ = "board_card"
    __table_args__ = (
        UniqueConstraint("board", "number", name="uq_board_card_number"),
        Index("ix_board_card_column", "board", "column_id"),
        Index("ix_board_card_order", *map(text, ORDER), sqlite_where=text(PRESENT), postgresql_where=text(PRESENT)),
    )

    id: str = Field(primary_key=True)
    board: str
    number: int
    title: str
    body: str
    column_id: str
    column_since: str
    column_by: str
    column_mover: str
    column_run: str
    column_sequence: int
    labels: str
    label_keys: str
    priority: int
    position: float | None = None
    assignee: str
    author: str
    bot: str
    bot_args: str
    fields: str
    url: str
    not_before: str
    not_before_at: str
    version: int
    created_at: str
    updated_at: str
    archived_at: str


class BoardBlocker(_Table, table=True):
    """``card_id`` waits for ``blocker_id``, which may have stopped existing."""

    __tablename__ = "board_blocker"
    __table_args__ = (Index("ix_board_blocker_blocker", "blocker_id"),)

    card_id: str = Field(primary_key=True)
    blocker_id: str = Field(primary_key=True)
    position: int


class BoardComment(_Table, table=True):
    """A comment; earlier texts of an edited one are in the history."""

    __tablename__ = "board_comment"
    __table_args__ = (Index("ix_board_comment_card", "card_id", "created_at"),)

    id: str = Field(primary_key=True)
    card_id: str
    author_kind: str
    author_name: str
    author_run: str
    text: str
    created_at: str
    edited_at: str


class BoardEvent(_Table, table=True):
    """The history: append-only, ``seq`` contiguous from 1 per board."""

    __tablename__ = "board_event"
    __table_args__ = (Index("ix_board_event_card", "card_id", "seq"),)

    board: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    time: str
    type: str
    card_id: str
    mover_kind: str
    mover_name: str
    mover_run: str
    data: str
