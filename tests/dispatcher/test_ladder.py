"""Waits between attempts (dispatcher.md 12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dispatcher.ladder import RetrySettings, counted, due_at, next_wait, wait_after
from dispatcher.ledger.records import Retry
from dispatcher.waiting import Marks, waited
from engine.failures import FailureCode

NOW = datetime(2026, 11, 1, tzinfo=UTC)
DEFAULTS = RetrySettings()


def test_the_ladder_doubles_up_to_its_cap() -> None:
    """D016, R449."""
    assert [wait_after(n, DEFAULTS) for n in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]


def test_sandbox_failures_use_their_own_ladder() -> None:
    """D118."""
    waits = [next_wait(FailureCode.SANDBOX_CAPACITY, n, "", DEFAULTS).seconds for n in range(1, 6)]
    assert waits == [60, 180, 300, 3600, 3600]


def test_an_interrupted_run_is_due_at_once_except_by_a_stall() -> None:
    """D120, D121."""
    assert next_wait(FailureCode.INTERRUPTED, 2, "shutdown", DEFAULTS).seconds == 0
    assert next_wait(FailureCode.INTERRUPTED, 2, "stall", DEFAULTS).seconds == 20


def test_an_orphan_waits_by_the_ladder() -> None:
    """dispatcher.md 12."""
    assert next_wait(FailureCode.PROCESS_ORPHANED, 1, "", DEFAULTS).seconds == 10


def test_some_interrupts_give_their_attempt_back() -> None:
    """D120, D121."""
    assert [counted(2, cause) for cause in ("shutdown", "external_move", "stall", "")] == [1, 1, 2, 2]
    assert counted(0, "shutdown") == 0


def test_a_known_reset_wins_when_it_is_later() -> None:
    """D119."""
    wait = next_wait(FailureCode.RATE_LIMITED, 1, "", DEFAULTS)
    assert due_at(NOW, wait, NOW + timedelta(minutes=20)) == NOW + timedelta(minutes=20)
    assert due_at(NOW, wait, NOW + timedelta(seconds=1)) == NOW + timedelta(seconds=10)


def row(seconds: float) -> Retry:
    return Retry("native", "c1", "r1", 2, "TIMEOUT", "", "ladder", NOW, NOW + timedelta(seconds=seconds))


def test_a_wait_is_over_when_its_time_has_passed() -> None:
    """D112: what is left at the first look counts, also after a new start."""
    marks: Marks = {}
    later = NOW + timedelta(seconds=10)
    assert not waited(marks, row(40), later, 100.0)
    assert not waited(marks, row(40), later, 129.9)
    assert waited(marks, row(40), later, 130.0)


def test_a_clock_set_forward_frees_nothing() -> None:
    """D088, D123."""
    marks: Marks = {}
    assert not waited(marks, row(40), NOW, 100.0)
    assert not waited(marks, row(40), NOW + timedelta(hours=3), 101.0)
    assert waited(marks, row(40), NOW + timedelta(hours=3), 140.0)


def test_a_clock_set_back_holds_no_longer_than_the_full_wait() -> None:
    """dispatcher.md 12, due times."""
    marks: Marks = {}
    past = NOW - timedelta(hours=1)
    assert not waited(marks, row(40), past, 100.0)
    assert waited(marks, row(40), past, 140.0)


@given(st.integers(min_value=0, max_value=10_000), st.floats(0.01, 1e4), st.floats(0.01, 1e5))
def test_a_wait_never_exceeds_the_cap_and_never_shrinks(attempts: int, base: float, cap: float) -> None:
    settings = RetrySettings(base=base, cap=cap)
    assert 0 < wait_after(attempts, settings) <= cap
    assert wait_after(attempts, settings) <= wait_after(attempts + 1, settings)
