"""Scheduled starts: from what a person wrote to the instant that is compared (dispatcher.md 18).

Pure but for the zone database of the machine. Called by ``drafts`` for what people write, and by the boards when they
read a stored value again, since a new zone database may shift a local time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from connectors.card import NotBefore
from connectors.errors import InvalidNotBefore

_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?"
    r"\s*(?P<zone>[Zz]|[+-]\d{2}:?\d{2}|[A-Za-z][A-Za-z0-9_+\-/]*)?"
)
_HINT = 'Write "2027-03-28T02:30:00+01:00", or "2027-03-28 02:30 Europe/Berlin".'


def parse_not_before(text: str) -> NotBefore:
    """The start time in ``text``. Raises ``InvalidNotBefore`` when it is none, or has neither offset nor zone."""
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise InvalidNotBefore(f'"{text}" is no start time.', _HINT)
    if not form["zone"]:
        raise InvalidNotBefore(f'The start time "{text}" has neither an offset nor a zone.', _HINT)
    try:
        local = datetime.fromisoformat(f"{form['date']}T{form['time'] or '00:00'}")
        instant = instant_of(local, _zone(form["zone"]))
    except (ValueError, OverflowError) as error:
        raise InvalidNotBefore(f'"{text}" is no start time: {error}.', _HINT) from error
    return NotBefore(text.strip(), instant)


def read_not_before(text: str) -> NotBefore:
    """As ``parse_not_before``, for a stored or foreign text: one that cannot be read comes back with its problem."""
    try:
        return parse_not_before(text)
    except InvalidNotBefore as error:
        return NotBefore(text, None, error.message)


def instant_of(local: datetime, zone: tzinfo) -> datetime:
    """The instant (UTC) of a naive local time in a zone: the first of two, or the first after a gap."""
    early = local.replace(tzinfo=zone, fold=0)
    late = local.replace(tzinfo=zone, fold=1)
    before, after = _offset(early), _offset(late)
    if after <= before:
        return early.astimezone(UTC)
    return _end_of_gap(local, zone, (local - after).replace(tzinfo=UTC), (local - before).replace(tzinfo=UTC))


def _end_of_gap(local: datetime, zone: tzinfo, low: datetime, high: datetime) -> datetime:
    """The first instant in (low, high] whose local time is not before ``local``, to the second."""
    second = timedelta(seconds=1)
    start = low.replace(microsecond=0)
    below, above = 0, int((high - start) / second) + 1
    while above - below > 1:
        middle = (below + above) // 2
        there = (start + middle * second).astimezone(zone).replace(tzinfo=None)
        if there >= local:
            above = middle
        else:
            below = middle
    return start + above * second


def _offset(moment: datetime) -> timedelta:
    offset = moment.utcoffset()
    assert offset is not None
    return offset


def _zone(name: str) -> tzinfo:
    if name in {"Z", "z"}:
        return UTC
    if name[0] in "+-":
        return _fixed(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        near = get_close_matches(name, available_timezones(), n=1)
        meant = f' Did you mean "{near[0]}"?' if near else ""
        raise InvalidNotBefore(f'There is no time zone "{name}".{meant}', _HINT) from error


def _fixed(name: str) -> tzinfo:
    parsed = datetime.strptime(name.replace(":", ""), "%z").tzinfo
    assert parsed is not None
    return parsed
