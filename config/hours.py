"""When cards may be picked up: the ``working_hours`` of a board or of the whole installation, as people write them.

Read through ``config.settings``; what they mean at an instant is decided by ``dispatcher/hours.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, time
from typing import Annotated, Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, model_validator

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FORM: Final = re.compile(
    rf"(?P<first>{'|'.join(DAYS)})(?:-(?P<last>{'|'.join(DAYS)}))?\s+"
    r"(?P<start>\d{1,2}:\d{2})\s*-\s*(?P<end>\d{1,2}:\d{2})",
    re.ASCII | re.IGNORECASE,
)
_HOW: Final = 'write it like "mon-fri 08:00-18:00"'


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a day: the weekdays (0 is Monday) on which it begins, its start and its end.

    ``end`` None is the end of that day. An end that is not after the start lies on the following day.
    """

    days: frozenset[int]
    start: time
    end: time | None

    @property
    def overnight(self) -> bool:
        """Whether it ends on the day after the one on which it begins."""
        return self.end is not None and self.end <= self.start


def read_window(text: str) -> Window:
    """The window that ``text`` says. Raises ``ValueError`` with a sentence for people."""
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise ValueError(f'"{text}" is no working time; {_HOW}')
    first = DAYS.index(form["first"].lower())
    last = DAYS.index(form["last"].lower()) if form["last"] else first
    span = (last - first) % 7
    days = frozenset((first + at) % 7 for at in range(span + 1))
    start, end = _time(form["start"], text), _time(form["end"], text)
    if start is None:
        raise ValueError(f'"{text}" begins at the end of a day; begin at 00:00 of the next one')
    return Window(days, start, end)


def _time(text: str, whole: str) -> time | None:
    hour, minute = (int(part) for part in text.split(":"))
    if (hour, minute) == (24, 0):
        return None
    try:
        return time(hour, minute)
    except ValueError as error:
        raise ValueError(f'"{whole}" names a time that no clock shows; {_HOW}') from error


class WorkingHours(BaseModel):
    """Windows in the local time of a zone, and whole days on which nothing is picked up."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    zone: str
    open: Annotated[tuple[str, ...], Field(min_length=1)]
    closed: tuple[date, ...] = ()

    @model_validator(mode="after")
    def _readable(self) -> Self:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f'there is no time zone "{self.zone}"; write one like Europe/Berlin or UTC') from error
        for text in self.open:
            read_window(text)
        return self

    @property
    def windows(self) -> tuple[Window, ...]:
        """What ``open`` says."""
        return tuple(read_window(text) for text in self.open)

    def __str__(self) -> str:
        """As a reason tells it: ``mon-fri 08:00-18:00 Europe/Berlin``."""
        return f"{', '.join(self.open)} {self.zone}"
