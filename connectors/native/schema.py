"""The names of the board's tables and columns, for Core statements; ``tables.py`` says what they are.

Kept apart since it loads in no time. A test proves that both name the same.
"""

from __future__ import annotations

from sqlalchemy import TableClause, column, table


def _table(name: str, columns: str) -> TableClause:
    return table(name, *(column(each) for each in columns.split()))


META = _table("board_meta", "board next_number event_seq created_at")
COLUMN = _table("board_column", "board id name title position eligible terminal aliases")
FIELD = _table("board_field", "board name type required default_value choices position")
CARD = _table(
    "board_card",
    "id board number title body column_id column_since column_by column_mover column_run column_sequence labels"
    " label_keys priority position assignee author bot bot_args fields url not_before not_before_at version created_at"
    " updated_at archived_at",
)
BLOCKER = _table("board_blocker", "card_id blocker_id position")
COMMENT = _table("board_comment", "id card_id author_kind author_name author_run text created_at edited_at")
VIEW = _table("board_view", "board name query")
EVENT = _table("board_event", "board seq time type card_id mover_kind mover_name mover_run data")

ALL = (META, COLUMN, FIELD, VIEW, CARD, BLOCKER, COMMENT, EVENT)

PRESENT = "length(archived_at) = 0"
"""The condition of the index of the whole list. Only who asks in these words is answered from it: a few columns of a
board with many cards are read by their own index."""

JSON_COLUMNS = {
    "board_column": ("aliases",),
    "board_field": ("default_value", "choices"),
    "board_view": ("query",),
    "board_card": ("labels", "label_keys", "bot_args", "fields"),
    "board_event": ("data",),
}
"""By table, the columns whose text is JSON."""
