"""Working hours: windows over nights, free days and clock changes; and what the gate does with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from config.hours import WorkingHours
from dispatcher.explaining import explain
from dispatcher.hours import opening
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, Yard

BERLIN = "Europe/Berlin"
WEEK = WorkingHours(zone=BERLIN, open=("mon-fri 08:00-18:00", "fri 22:00-02:00"), closed=("2026-12-25",))  # type: ignore[arg-type]


def at(text: str, zone: str = BERLIN, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "begins"),
    [
        ("2026-11-30T07:59", "2026-11-30T08:00"),
        ("2026-11-30T08:00", None),
        ("2026-11-30T17:59", None),
        ("2026-11-30T18:00", "2026-12-01T08:00"),
        ("2026-12-04T21:00", "2026-12-04T22:00"),
        ("2026-12-05T01:59", None),
        ("2026-12-05T02:00", "2026-12-07T08:00"),
        ("2026-12-24T20:00", "2026-12-28T08:00"),
        ("2026-12-26T01:00", "2026-12-28T08:00"),
    ],
)
def test_windows_begin_and_end_as_written_over_nights_and_free_days(now: str, begins: str | None) -> None:
    assert opening(WEEK, at(now)) == (None if begins is None else at(begins))


def test_a_window_in_the_gap_or_the_repeated_hour_opens_once() -> None:
    """dispatcher.md 18: first instant after the gap, first of the two."""
    night = WorkingHours(zone=BERLIN, open=("sun 02:30-06:00",))
    assert opening(night, at("2027-03-28T01:00")) == datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert opening(night, at("2027-03-28T03:01")) is None
    assert opening(night, at("2027-10-31T02:29")) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    assert opening(night, at("2027-10-31T02:15", fold=1)) is None
    gone = WorkingHours(zone=BERLIN, open=("sun 02:10-02:50",))
    assert opening(gone, at("2027-03-28T00:00")) == at("2027-04-04T02:10")


def test_hours_that_are_never_open_say_so() -> None:
    days = [datetime(2026, 11, 1) + timedelta(days=n) for n in range(500)]  # noqa: DTZ001 - local days
    shut = WorkingHours(zone="UTC", open=("mon-sun 00:00-24:00",), closed=tuple(day.date() for day in days))
    assert opening(shut, datetime(2026, 11, 29, tzinfo=UTC)) == datetime.max.replace(tzinfo=UTC)


@given(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)), st.sampled_from(["UTC", BERLIN, "America/Nuuk"]))  # noqa: DTZ001
def test_an_opening_lies_ahead_and_is_open(moment: datetime, zone: str) -> None:
    hours = WorkingHours(zone=zone, open=("mon-wed 23:30-00:30", "sat 02:15-24:00"))
    now = moment.replace(tzinfo=UTC)
    begins = opening(hours, now)
    assert begins is None or (begins > now and opening(hours, begins) is None)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"zone": "Mars/Base", "open": ("mon 08:00-09:00",)}, "no time zone"),
        ({"zone": "UTC", "open": ("weekdays 8-17",)}, "is no working time"),
        ({"zone": "UTC", "open": ("mon 25:00-26:00",)}, "no clock shows"),
        ({"zone": "UTC", "open": ("mon 24:00-02:00",)}, "begins at the end of a day"),
        ({"zone": "UTC", "open": ()}, "at least 1 item"),
    ],
)
def test_hours_that_cannot_be_meant_are_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        WorkingHours.model_validate(values)


HOURS = 'working_hours: {zone: UTC, open: ["mon-sun 08:00-18:00"]}\n'


def test_outside_the_hours_nothing_is_picked_up_and_what_runs_or_is_resumed_by_a_person_goes_on(
    tmp_path: Path, clock: FakeClock
) -> None:
    yard = Yard(tmp_path, clock, CONFIG + HOURS, ASKS)
    clock.advance(
        (datetime(2026, 11, 30, 17, 59, 59, tzinfo=UTC) - clock.now()) % timedelta(days=1) // timedelta(seconds=1)
    )
    asked = yard.make()
    yard.settled()
    clock.advance(3600)
    late = yard.make()
    yard.settled()
    told = explain(yard.wiring, yard.environment, late).judgement.decision
    assert (yard.column(asked), yard.reason(late), told.reason) == ("awaiting_input", "outside_hours", "outside_hours")
    assert "mon-sun 08:00-18:00 UTC" in told.text
    yard.resume(asked, answers={"ok": True})
    yard.settled()
    assert (yard.column(asked), yard.column(late)) == ("review", "ready")
    clock.advance(13 * 3600 + 1)
    yard.settled()
    assert yard.column(late) == "awaiting_input"
    yard.close()


def test_a_boards_own_hours_beat_those_of_all(tmp_path: Path, clock: FakeClock) -> None:
    always = 'working_hours: {zone: UTC, open: ["mon-sun 00:00-24:00"]}'
    never = 'working_hours: {zone: UTC, open: ["mon-sun 00:00-00:01"]}\n'
    config = CONFIG.replace("kind: native,", f"kind: native, {always},") + never
    yard = Yard(tmp_path, clock, config)
    clock.advance(600)
    card = yard.make()
    yard.settled()
    assert yard.column(card) == "review"
    yard.close()
