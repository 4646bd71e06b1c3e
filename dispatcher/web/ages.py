"""Instants as people read them: how long ago, or how long until. Pure; texts of RFC 3339 in, words out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))
_LONG = 60 * 86400
"""Seconds from which on a date says more than a number of days."""


@dataclass(frozen=True, slots=True)
class Age:
    """``iso`` for machines, ``words`` for people; both empty for no instant."""

    iso: str = ""
    words: str = ""


def age(text: object, now: datetime) -> Age:
    """``3 minutes ago``, ``in 2 hours``, ``just now``."""
    if not isinstance(text, str) or not text:
        return Age()
    moment = datetime.fromisoformat(text)
    seconds = (now - moment).total_seconds()
    if abs(seconds) >= _LONG:
        return Age(text, f"{'in' if seconds < 0 else 'on'} {moment:%-d %B %Y}".replace("in ", "on "))
    words = _words(abs(seconds))
    if not words:
        return Age(text, "just now" if seconds >= 0 else "in a moment")
    return Age(text, f"{words} ago" if seconds > 0 else f"in {words}")


def _words(seconds: float) -> str:
    for size, unit in _UNITS:
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{int(seconds)} seconds" if seconds >= 10 else ""
