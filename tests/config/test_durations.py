from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("250ms", 0.25), ("0", 0), (" 15s ", 15)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "15", "soon", "5 parsecs", "-1s", "1h 30m", "1e3s", "s", "99999999h", "١s"])
def test_what_is_no_duration_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|longer"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**10))
def test_a_written_duration_reads_back_as_itself(milliseconds: int) -> None:
    assert round(parse_duration(format_duration(milliseconds / 1000)) * 1000) == milliseconds
