"""What is remembered of forges: limits, columns' ids, where cards were seen, claims (connectors.md 4, 13, 19)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False)


def _whole(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def upgrade() -> None:
    op.create_table("forge_limit", _text("credential"), _text("state"), sa.PrimaryKeyConstraint("credential"))
    op.create_table(
        "forge_column",
        _text("board"),
        _text("name"),
        _text("configured"),
        _text("label_id"),
        _text("label_name"),
        sa.PrimaryKeyConstraint("board", "name"),
    )
    op.create_table(
        "forge_card",
        _text("board"),
        _text("card_id"),
        _text("column"),
        _text("by"),
        _text("mover"),
        _text("run_id"),
        _whole("sequence"),
        sa.Column("since", sa.Text(), nullable=False),
        _text("origin"),
        _text("target"),
        _text("note"),
        _text("entrant"),
        _text("pinned"),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "forge_claim",
        _text("board"),
        _text("card_id"),
        _text("what"),
        _text("comment_id"),
        _text("instance"),
        _whole("epoch"),
        _text("state"),
        sa.Column("until", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id", "what"),
    )
    op.create_table("forge_store", _text("name"), _text("identity"), sa.PrimaryKeyConstraint("name"))
    op.create_table(
        "forge_mirror",
        _text("board"),
        _text("source_id"),
        _text("card_id"),
        _text("column"),
        _text("version"),
        sa.PrimaryKeyConstraint("board", "source_id"),
    )
    op.create_table(
        "forge_delivery",
        _text("forge"),
        _text("delivery_id"),
        _text("board"),
        _text("event"),
        sa.Column("received_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("forge", "delivery_id"),
    )
