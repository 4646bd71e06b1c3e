"""Instants as the board's tables hold them: RFC 3339 in UTC with six digits and Z, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime


def to_text(moment: datetime) -> str:
    """The text of an aware instant."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_text(text: str) -> datetime:
    """The instant of a text. Raises ``ValueError`` for one that is none, or has no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"no zone in {text!r}")
    return moment
