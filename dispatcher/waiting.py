"""Whether a retry's wait is over, measured so that a clock that jumps neither frees everything nor holds for hours.

A row says when it was scheduled and when it is due, both by the wall clock. From the first look of a process on, the
rest of the wait is measured on the monotonic clock (dispatcher.md 12, 30). Pure but for the marks that it is handed.
"""

from __future__ import annotations

from datetime import datetime

from dispatcher.ledger.records import Key, Retry

Marks = dict[tuple[Key, datetime], tuple[float, float]]
"""(card, scheduled at) -> (monotonic second of the first look, seconds left then)."""


def waited(marks: Marks, row: Retry, now: datetime, monotonic: float) -> bool:
    """Whether the wait of ``row`` is over. A wall clock before ``scheduled_at`` lets it begin again in full, once."""
    full = (row.not_before - row.scheduled_at).total_seconds()
    left = full if now < row.scheduled_at else (row.not_before - now).total_seconds()
    mark = ((row.board, row.card_id), row.scheduled_at)
    first, rest = marks.setdefault(mark, (monotonic, min(max(left, 0.0), full)))
    return monotonic - first >= rest
