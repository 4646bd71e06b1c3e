"""The columns of a board that nobody changed (interface.md 4). A board has them before it was ever written to."""

from __future__ import annotations

from connectors.card import Column

DEFAULT_COLUMNS = (
    Column("inbox", "inbox", "Inbox"),
    Column("backlog", "backlog", "Backlog"),
    Column("ready", "ready", "Ready", eligible=True),
    Column("waiting_deps", "waiting_deps", "Waiting for others"),
    Column("in_progress", "in_progress", "In progress", eligible=True),
    Column("awaiting_input", "awaiting_input", "Awaiting input"),
    Column("review", "review", "Review"),
    Column("done", "done", "Done", terminal=True),
    Column("blocked", "blocked", "Blocked", terminal=True),
)
"""In their order; the id of each is its first name."""
