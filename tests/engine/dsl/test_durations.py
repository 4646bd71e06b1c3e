"""Durations read and write (language.md 10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dsl.durations import DurationError, format_duration, parse_duration, parse_nanoseconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("5us", 5e-6),
        ("7ns", 7e-9),
        ("0s", 0),
        ("1m1m", 120),
        ("0.1s", 0.1),
        ("1h2m3s4ms", 3723.004),
    ],
)
def test_a_duration_is_its_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "s", "1 s", " 1s", "-1s", "+1s", "1d", "1S", "1.s", ".5s", "1h 30m", "two hours", "١s", "1e3s"]
)
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(DurationError, match="no duration"):
        parse_duration(text)


def test_nanoseconds_are_exact() -> None:
    assert parse_nanoseconds("0.1s0.2s") == 300_000_000
    assert parse_nanoseconds("999999999999h1ns") == 999999999999 * 3_600_000_000_000 + 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-5, "0s"),
        (90, "1m30s"),
        (5400, "1h30m"),
        (1.5, "1.5s"),
        (0.25, "250ms"),
        (3600, "1h"),
        (1e-9, "1ns"),
        (61.001, "1m1.001s"),
    ],
)
def test_seconds_are_written_as_people_write_them(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_what_is_written_reads_back(nanoseconds: int) -> None:
    assert parse_nanoseconds(format_duration(nanoseconds / 1e9)) == pytest.approx(nanoseconds, abs=1)
