"""The tables of the dispatcher (dispatcher.md 3)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "breaker",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("window_start", sa.Text(), nullable=False),
        sa.Column("until", sa.Text(), nullable=True),
        sa.Column("about", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "name"),
    )
    op.create_table(
        "card_link",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("last_run", sa.String(), nullable=False),
        sa.Column("previous_run", sa.String(), nullable=False),
        sa.Column("ours", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("expected_column", sa.String(), nullable=False),
        sa.Column("column_sequence", sa.Integer(), nullable=False),
        sa.Column("handled_sequence", sa.Integer(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("bot", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_index("card_link_last_run", "card_link", ["last_run"])
    op.create_table(
        "claim",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("instance", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("boot", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("start_ticks", sa.Integer(), nullable=False),
        sa.Column("claimed_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "desired_state",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "give_up",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "hook_mark",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("hook", sa.String(), nullable=False),
        sa.Column("result", sa.String(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "attempt", "hook"),
    )
    op.create_table(
        "idle_reason",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("unblock", sa.String(), nullable=False),
        sa.Column("facts", sa.String(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "intent",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("instance", sa.String(), nullable=False),
        sa.Column("point", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("attended", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "orphan_sighting",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seen_at", sa.Text(), nullable=False),
        sa.Column("stopped", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_table(
        "park",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("column", sa.String(), nullable=False),
        sa.Column("seen", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Integer(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("facts", sa.String(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("released", sa.String(), nullable=False),
        sa.Column("released_at", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "park_open",
        "park",
        ["board", "card_id"],
        unique=True,
        sqlite_where=sa.text("released = ''"),
        postgresql_where=sa.text("released = ''"),
    )
    op.create_table(
        "pending_move",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("to", sa.String(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.Column("next_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "retry",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("ladder", sa.String(), nullable=False),
        sa.Column("scheduled_at", sa.Text(), nullable=False),
        sa.Column("not_before", sa.Text(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id"),
    )
    op.create_table(
        "settlement",
        sa.Column("board", sa.String(), nullable=False),
        sa.Column("card_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("outcome", sa.Integer(), nullable=False),
        sa.Column("follows", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("to_column", sa.String(), nullable=False),
        sa.Column("moved", sa.Boolean(), nullable=False),
        sa.Column("commented", sa.Boolean(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("board", "card_id", "run_id", "outcome"),
    )
    op.create_index(
        "settlement_open",
        "settlement",
        ["closed"],
        sqlite_where=sa.text("closed = 0"),
        postgresql_where=sa.text("closed = false"),
    )
