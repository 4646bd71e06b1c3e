"""Is it working time now, and when does it begin again? Pure; ``facts`` asks for the gate ``outside_hours``.

Windows are local times of a zone. A local time that the clocks skip means the first instant after the gap, one that
comes twice the first of the two, as everywhere (dispatcher.md 18): a window never opens twice and never stays shut.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from config.hours import Window, WorkingHours
from connectors.not_before import instant_of

AHEAD = 400
"""So many days ahead an opening is looked for; hours that are closed for longer never open."""


def opening(hours: WorkingHours, now: datetime) -> datetime | None:
    """None inside the hours; else the instant (UTC) at which they begin next, ``datetime.max`` when that is never."""
    zone = ZoneInfo(hours.zone)
    windows, closed = hours.windows, frozenset(hours.closed)
    today = now.astimezone(zone).date()
    for ahead in range(-1, AHEAD):
        stretches = [
            each
            for each in _of_day(windows, today + timedelta(days=ahead), zone)
            if each[0] < each[1] and each[1] > now
        ]
        if today + timedelta(days=ahead) in closed or not stretches:
            continue
        begin = min(begin for begin, _ in stretches)
        return None if begin <= now else begin
    return datetime.max.replace(tzinfo=now.tzinfo)


def _of_day(windows: tuple[Window, ...], day: date, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """The stretches that begin on that day."""
    tomorrow = day + timedelta(days=1)
    for window in windows:
        if day.weekday() not in window.days:
            continue
        begin = instant_of(datetime.combine(day, window.start), zone)
        ends_on = tomorrow if window.end is None or window.overnight else day
        yield begin, instant_of(datetime.combine(ends_on, window.end or time()), zone)
