"""Scheduled starts over all zones (dispatcher.md 18)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from connectors.errors import InvalidNotBefore
from connectors.not_before import instant_of, parse_not_before, read_not_before

ZONES = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("posix"))
LOCAL = some.datetimes(datetime(2020, 1, 1), datetime(2040, 12, 31))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2027-03-28 02:30 Europe/Berlin", "2027-03-28T01:00:00+00:00"),
        ("2027-10-31 02:30 Europe/Berlin", "2027-10-31T00:30:00+00:00"),
        ("2030-03-30 23:30 America/Nuuk", "2030-03-31T01:00:00+00:00"),
        ("2027-03-28 03:00 Europe/Berlin", "2027-03-28T01:00:00+00:00"),
        ("2027-03-28 01:59:59 Europe/Berlin", "2027-03-28T00:59:59+00:00"),
        ("2027-06-01 Europe/Berlin", "2027-05-31T22:00:00+00:00"),
        ("2027-06-01T10:00:00+02:00", "2027-06-01T08:00:00+00:00"),
        ("2027-06-01t10:00z", "2027-06-01T10:00:00+00:00"),
        ("  2027-06-01 10:00 UTC ", "2027-06-01T10:00:00+00:00"),
        ("2027-06-01 10:00 -0330", "2027-06-01T13:30:00+00:00"),
    ],
)
def test_a_local_time_becomes_one_instant(text: str, instant: str) -> None:
    """D156, D157, D158, F49."""
    assert parse_not_before(text).instant == datetime.fromisoformat(instant)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("2027-03-28 02:30", "zone"),
        ("2027-03-28", "zone"),
        ("2027-02-30 02:30 Europe/Berlin", "day"),
        ("2027-03-28 25:00 UTC", "hour"),
        ("2027-03-28 02:30 Europe/Berln", "Europe/Berlin"),
        ("tomorrow", "tomorrow"),
        ("0001-01-01 00:00 Asia/Tokyo", "start time"),
        ("2027-03-28 02:30 ../../etc/passwd", "no start time"),
    ],
)
def test_what_is_no_start_time_is_refused_and_says_why(text: str, named: str) -> None:
    with pytest.raises(InvalidNotBefore, match=named):
        parse_not_before(text)
    stored = read_not_before(text)
    assert stored.instant is None
    assert named in stored.problem


@settings(max_examples=300, deadline=None)
@given(some.sampled_from(ZONES), LOCAL, some.integers(0, 7 * 86400))
def test_the_instant_is_always_defined_and_never_decreases_in_the_local_time(
    zone: str, local: datetime, later: int
) -> None:
    """D158."""
    where = ZoneInfo(zone)
    assert instant_of(local, where) <= instant_of(local + timedelta(seconds=later), where)


@settings(max_examples=300, deadline=None)
@given(some.sampled_from(ZONES), LOCAL)
def test_outside_gaps_and_repeated_hours_it_is_the_plain_conversion(zone: str, local: datetime) -> None:
    """D158."""
    where = ZoneInfo(zone)
    early, late = local.replace(tzinfo=where, fold=0), local.replace(tzinfo=where, fold=1)
    instant = instant_of(local, where)
    if early.utcoffset() == late.utcoffset():
        assert instant == early.astimezone(UTC)
    assert instant.astimezone(where).replace(tzinfo=None) >= local
