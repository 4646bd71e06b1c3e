"""The tables of the engine: runs, their heads, outputs, timeline and questions (engine.md 2.1)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.Text
FLAG = sa.Integer
TIME = sa.String(27)
OPEN = "status IN ('queued', 'running', 'paused_waiting_human', 'paused_operator')"


def _where(condition: str) -> dict[str, sa.TextClause]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String, primary_key=True, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("workflow", sa.String, nullable=False),
        sa.Column("file_path", sa.Text, nullable=False),
        sa.Column("bundle_path", sa.Text, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("preset", sa.String, nullable=False),
        sa.Column("parent_id", sa.String, nullable=False),
        sa.Column("inputs", JSON, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("failure_code", sa.String, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("end_reason", sa.String, nullable=False),
        sa.Column("continuation", sa.String, nullable=False),
        sa.Column("retry_at", TIME),
        sa.Column("retry_after_at", TIME),
        sa.Column("outcome_seq", sa.Integer, nullable=False),
        sa.Column("outcome_sequence", sa.Integer, nullable=False),
        sa.Column("skip_noted", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("event_seq", sa.Integer, nullable=False),
        sa.Column("output_seq", sa.Integer, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("owner", JSON, nullable=False),
        sa.Column("stop_request", sa.String, nullable=False),
        sa.Column("stop_reason", sa.Text, nullable=False),
        sa.Column("explicit_resume_required", FLAG, nullable=False),
        sa.Column("ask", JSON, nullable=False),
        sa.Column("raises", JSON),
        sa.Column("permissions", JSON),
        sa.Column("rules", JSON),
        sa.Column("children", JSON),
        sa.Column("cost_usd_total", sa.Float, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("queued_at", TIME),
        sa.Column("claimed_at", TIME),
        sa.Column("finished_at", TIME),
        sa.Column("last_event_at", TIME),
    )
    op.create_index("ix_run_created", "run", ["created_at", "id"])
    op.create_index("ix_run_open", "run", ["status", "claimed_at"], **_where(OPEN))
    op.create_index("ix_run_outcome", "run", ["outcome_sequence"], **_where("outcome_sequence > 0"))


def _run_source() -> None:
    op.create_table(
        "run_source",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("main_only", FLAG, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_run_source_digest", "run_source", ["digest"])
    op.create_table(
        "source_text",
        sa.Column("digest", sa.String, primary_key=True, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _checkpoint() -> None:
    op.create_table(
        "checkpoint",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("completed", FLAG, nullable=False),
        sa.Column("pending", JSON),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("body", JSON, nullable=False),
    )


def _node_output() -> None:
    op.create_table(
        "node_output",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("branch_path", sa.String, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("iteration_path", sa.String, nullable=False),
        sa.Column("iteration", sa.Integer, nullable=False),
        sa.Column("dropped_by", sa.Integer, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("output", JSON, nullable=False),
        sqlite_with_rowid=False,
    )


def _branch() -> None:
    op.create_table(
        "branch",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("invocation_key", sa.String, primary_key=True, nullable=False),
        sa.Column("branch_id", sa.String, primary_key=True, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("completed", FLAG, nullable=False),
        sa.Column("done", FLAG, nullable=False),
        sa.Column("state", JSON, nullable=False),
        sqlite_with_rowid=False,
    )


def _artifact() -> None:
    op.create_table(
        "artifact",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("name", sa.String, primary_key=True, nullable=False),
        sa.Column("node_id", sa.String, primary_key=True, nullable=False),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("labels", JSON, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("data", JSON),
        sqlite_with_rowid=False,
    )


def _interaction() -> None:
    op.create_table(
        "interaction",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("node_id", sa.String, primary_key=True, nullable=False),
        sa.Column("id", sa.String, primary_key=True, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("answered_at", TIME),
        sa.Column("retired_at", TIME),
        sa.Column("questions", JSON, nullable=False),
        sa.Column("fields", JSON, nullable=False),
        sa.Column("answers", JSON),
        sa.Column("turns", JSON, nullable=False),
        sqlite_with_rowid=False,
    )


def _attachment() -> None:
    op.create_table(
        "attachment",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("name", sa.String, primary_key=True, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("mime", sa.String, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("sha256", sa.String, nullable=False),
        sa.Column("origin", sa.String, nullable=False),
        sqlite_with_rowid=False,
    )


def _session() -> None:
    op.create_table(
        "session",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("slot", sa.String, primary_key=True, nullable=False),
        sa.Column("backend", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("state", JSON, nullable=False),
        sqlite_with_rowid=False,
    )


def _event() -> None:
    op.create_table(
        "event",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("branch_id", sa.String, nullable=False),
        sa.Column("tenant", sa.String, nullable=False),
        sa.Column("active_ms", sa.Integer, nullable=False),
        sa.Column("log_offset", sa.Integer, nullable=False),
        sa.Column("data", JSON, nullable=False),
        sqlite_with_rowid=False,
    )


def _effect() -> None:
    op.create_table(
        "effect",
        sa.Column("id", sa.String, primary_key=True, nullable=False),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("branch_path", sa.String, nullable=False),
        sa.Column("iteration_path", sa.String, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("connection", sa.String, nullable=False),
        sa.Column("operation", sa.String, nullable=False),
        sa.Column("effect_class", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("marker", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("settled_by", sa.String, nullable=False),
        sa.Column("stopped_run", FLAG, nullable=False),
        sa.Column("repeatable", FLAG, nullable=False),
        sa.Column("dropped_by", sa.Integer, nullable=False),
        sa.Column("probes", sa.Integer, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("settled_at", TIME),
        sa.Column("probed_at", TIME),
        sa.Column("params", JSON),
        sa.Column("response", JSON),
        sa.Column("sent_at", TIME),
        sa.Column("card", sa.String, nullable=False),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("http_status", sa.Integer, nullable=False),
        sa.Column("pending", FLAG, nullable=False),
        sa.Column("wire", JSON),
        sa.Column("asked", JSON),
        sa.Column("settler", sa.String, nullable=False),
    )
    op.create_index("ix_effect_run", "effect", ["run_id", "node_id"])
    op.create_index("ix_effect_state", "effect", ["state"])
    op.create_index("ix_effect_card", "effect", ["card", "place"])


def _spend_day() -> None:
    op.create_table(
        "spend_day",
        sa.Column("day", sa.String, primary_key=True, nullable=False),
        sa.Column("key", sa.String, primary_key=True, nullable=False),
        sa.Column("run_id", sa.String, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_spend_key", "spend_day", ["key", "day"])


def _workspace_mark() -> None:
    op.create_table(
        "workspace_mark",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("node_id", sa.String, nullable=False),
        sa.Column("parent", sa.Integer, nullable=False),
        sa.Column("ref", sa.String, nullable=False),
        sa.Column("time", TIME, nullable=False),
        sqlite_with_rowid=False,
    )


def _workspace_file() -> None:
    op.create_table(
        "workspace_file",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("path", sa.String, primary_key=True, nullable=False),
        sa.Column("mode", sa.Integer, nullable=False),
        sa.Column("hash", sa.String, nullable=False),
        sa.Column("skipped", sa.String, nullable=False),
        sqlite_with_rowid=False,
    )


def _tombstone() -> None:
    op.create_table(
        "tombstone",
        sa.Column("run_id", sa.String, primary_key=True, nullable=False),
        sa.Column("deleted_at", TIME, nullable=False),
    )


def _lease() -> None:
    op.create_table(
        "lease",
        sa.Column("resource", sa.String, primary_key=True, nullable=False),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("expires_at", TIME),
    )


def _store_counter() -> None:
    op.create_table(
        "store_counter",
        sa.Column("name", sa.String, primary_key=True, nullable=False),
        sa.Column("value", sa.Integer, nullable=False),
    )


def upgrade() -> None:
    _run()
    _run_source()
    _checkpoint()
    _node_output()
    _branch()
    _artifact()
    _interaction()
    _attachment()
    _session()
    _event()
    _effect()
    _spend_day()
    _workspace_mark()
    _workspace_file()
    _tombstone()
    _lease()
    _store_counter()
    op.execute("INSERT INTO store_counter (name, value) VALUES ('sequence', 0)")
