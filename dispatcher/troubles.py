"""The last thing that went wrong, kept until a success of the same place clears it (dispatcher.md 25).

Pure over what a tick found; publishing asks once per tick. Shown by ``GET /api/dispatcher`` as ``last_error``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong, where (a board, ``store``, a card), since when, and since when it is over."""

    at: datetime
    where: str
    text: str
    cleared_at: datetime | None = None


def next_trouble(known: Trouble | None, found: Mapping[str, str], now: datetime) -> Trouble | None:
    """The trouble to show, after a tick that found these texts by place."""
    if known is not None and known.where in found:
        same = known.text == found[known.where] and known.cleared_at is None
        return known if same else Trouble(now, known.where, found[known.where])
    if found:
        where = next(iter(found))
        return Trouble(now, where, found[where])
    if known is not None and known.cleared_at is None:
        return replace(known, cleared_at=now)
    return known


def last_error_document(trouble: Trouble | None) -> dict[str, object] | None:
    """The entry of the state document."""
    if trouble is None:
        return None
    cleared = None if trouble.cleared_at is None else _instant(trouble.cleared_at)
    return {"at": _instant(trouble.at), "where": trouble.where, "text": trouble.text, "cleared_at": cleared}


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
