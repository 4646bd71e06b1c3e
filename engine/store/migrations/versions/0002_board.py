"""The tables of the native board (dispatcher.md 29)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def _text(name: str, **options: bool) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False, **options)


def _whole(name: str, **options: bool) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, **options)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def upgrade() -> None:
    _boards()
    _cards()
    _histories()


def _boards() -> None:
    op.create_table(
        "board_meta",
        _text("board", primary_key=True),
        _whole("next_number"),
        _whole("event_seq"),
        _text("created_at"),
    )
    op.create_table(
        "board_column",
        _text("board", primary_key=True),
        _text("id", primary_key=True),
        _text("name"),
        _text("title"),
        _whole("position"),
        _flag("eligible"),
        _flag("terminal"),
        _text("aliases"),
        sa.UniqueConstraint("board", "name", name="uq_board_column_name"),
    )
    op.create_table(
        "board_field",
        _text("board", primary_key=True),
        _text("name", primary_key=True),
        _text("type"),
        _flag("required"),
        _text("default_value"),
        _text("choices"),
        _whole("position"),
    )

    op.create_table(
        "board_view",
        _text("board", primary_key=True),
        _text("name", primary_key=True),
        _text("query"),
    )


def _cards() -> None:
    op.create_table(
        "board_card",
        _text("id", primary_key=True),
        _text("board"),
        _whole("number"),
        *map(_text, ("title", "body", "column_id", "column_since", "column_by", "column_mover", "column_run")),
        _whole("column_sequence"),
        *map(_text, ("labels", "label_keys")),
        _whole("priority"),
        sa.Column("position", sa.Float(), nullable=True),
        *map(_text, ("assignee", "author", "bot", "bot_args", "fields", "url", "not_before", "not_before_at")),
        _whole("version"),
        *map(_text, ("created_at", "updated_at", "archived_at")),
        sa.UniqueConstraint("board", "number", name="uq_board_card_number"),
    )
    op.create_index("ix_board_card_column", "board_card", ["board", "column_id"])
    order = ("board", "priority DESC", "(position IS NULL)", "position", "created_at", "number", "id")
    present = sa.text("length(archived_at) = 0")
    op.create_index(
        "ix_board_card_order",
        "board_card",
        [sa.text(each) for each in order],
        sqlite_where=present,
        postgresql_where=present,
    )
    op.create_table(
        "board_blocker",
        _text("card_id", primary_key=True),
        _text("blocker_id", primary_key=True),
        _whole("position"),
    )
    op.create_index("ix_board_blocker_blocker", "board_blocker", ["blocker_id"])


def _histories() -> None:
    op.create_table(
        "board_comment",
        _text("id", primary_key=True),
        *map(_text, ("card_id", "author_kind", "author_name", "author_run", "text", "created_at", "edited_at")),
    )
    op.create_index("ix_board_comment_card", "board_comment", ["card_id", "created_at"])
    op.create_table(
        "board_event",
        _text("board", primary_key=True),
        _whole("seq", primary_key=True),
        *map(_text, ("time", "type", "card_id", "mover_kind", "mover_name", "mover_run", "data")),
    )
    op.create_index("ix_board_event_card", "board_event", ["card_id", "seq"])
