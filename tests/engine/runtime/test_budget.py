"""Budgets as tables: thresholds, grace, warnings, the price of a pass, deadlines (engine.md 10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoint import Spent
from engine.dsl.graph import Budget
from engine.run import BudgetAsk
from engine.runtime.budget import (
    NANO,
    Axis,
    Caps,
    Grace,
    GracePolicy,
    Refused,
    affordable,
    after_router,
    before_node,
    remaining_duration,
    still_warned,
    to_warn,
)

TEN = Caps(iterations=10)
GRACE = GracePolicy(0.10)
NO_GRACE = GracePolicy()
HOUR = 3600 * NANO


def used(count: int) -> Spent:
    return Spent(iterations=count)


@pytest.mark.parametrize(
    ("spent", "caps", "grace", "refused", "hard"),
    [
        (used(8), TEN, GRACE, False, False),
        (used(9), TEN, GRACE, True, True),
        (used(10), TEN, GRACE, False, False),
        (used(11), TEN, GRACE, True, False),
        (used(10), TEN, NO_GRACE, True, False),
        (used(109), Caps(iterations=100), GRACE, False, False),
        (used(110), Caps(iterations=100), GRACE, True, False),
        (Spent(tokens=95, iterations=1), Caps(tokens=100), GRACE, True, True),
        (Spent(cost_usd=4.5), Caps(cost_usd=5.0), GRACE, True, True),
        (Spent(elapsed_ns=int(2.5 * HOUR)), Caps(duration=2.5 * 3600), GRACE, False, False),
        (Spent(elapsed_ns=int(2.75 * HOUR)), Caps(duration=2.5 * 3600), GRACE, True, False),
        (used(10_000), Caps(), GRACE, False, False),
    ],
)
def test_before_a_node(spent: Spent, caps: Caps, grace: GracePolicy, refused: bool, hard: bool) -> None:
    """R191, R192, R194, R195: 90 to 99 percent has no grace, 100 to 110 has."""
    verdict = before_node(spent, caps, grace)
    assert isinstance(verdict, Refused) is refused
    if isinstance(verdict, Refused):
        assert verdict.hard_limit is hard
        assert verdict.reading.axis in verdict.message


def test_the_band_below_the_cap_does_not_stop_a_router() -> None:
    assert isinstance(after_router(used(9), TEN, NO_GRACE), Grace)
    assert isinstance(after_router(used(10), TEN, NO_GRACE), Refused)


def test_grace_ends_for_all_axes_when_one_is_beyond_it() -> None:
    caps = Caps(iterations=100, tokens=100)
    assert isinstance(before_node(Spent(105, 50), caps, GRACE), Grace)
    assert isinstance(before_node(Spent(105, 130), caps, GRACE), Refused)


def test_axes_are_looked_at_in_their_order() -> None:
    verdict = before_node(Spent(95, 95), Caps(iterations=100, tokens=100), GRACE)
    assert isinstance(verdict, Refused)
    assert verdict.reading.axis is Axis.ITERATIONS


def test_a_warning_once_per_axis_and_armed_again_by_a_raise() -> None:
    """R198, and 10.5: a raise arms the warnings again."""
    assert [each.axis for each in to_warn(used(8), TEN, ())] == [Axis.ITERATIONS]
    assert to_warn(used(9), TEN, ("iterations",)) == ()
    assert still_warned(used(9), TEN, ("iterations",)) == ("iterations",)
    assert still_warned(used(9), Caps(iterations=100), ("iterations",)) == ()


@pytest.mark.parametrize(
    ("now", "mark", "wanted"), [(2, 0, True), (4, 0, True), (5, 0, False), (8, 7, False), (7, 6, True)]
)
def test_one_more_pass_must_stay_below_ninety_percent(now: int, mark: int, wanted: bool) -> None:
    assert affordable(used(now), used(mark), TEN) is wanted


@pytest.mark.parametrize(("elapsed", "left"), [(0, 100.0), (60, 40.0), (100, 10.0), (105, 5.0), (120, 0.0)])
def test_a_node_may_take_what_is_left_of_the_duration(elapsed: int, left: float) -> None:
    """R187, R199: beyond the cap, what the grace leaves."""
    found = remaining_duration(Spent(elapsed_ns=elapsed * NANO), Caps(duration=100.0), GRACE)
    assert found == pytest.approx(left, abs=1e-6)


def test_no_cap_no_deadline() -> None:
    assert remaining_duration(used(5), TEN, GRACE) is None


def test_the_stored_ask_wins_over_the_workflow_per_field() -> None:
    """R185, R186: without an ask of its own, a field takes the workflow's cap."""
    budget = Budget(max_iterations=10, max_tokens=100, max_cost_usd=5.0)
    caps = Caps.of(budget, BudgetAsk(max_iterations=50), 60.0)
    assert (caps.iterations, caps.tokens, caps.cost_usd, caps.duration) == (50, 100, 5.0, 60.0)


@given(st.integers(0, 200), st.integers(1, 100))
def test_whoever_is_let_through_has_room_or_grace(count: int, cap: int) -> None:
    verdict = before_node(used(count), Caps(iterations=cap), GRACE)
    if isinstance(verdict, Grace):
        assert count < 0.9 * cap or cap <= count < 1.1 * cap
        assert bool(verdict.axes) is (count >= cap)


def test_a_refusal_names_a_cap_that_its_flag_takes() -> None:
    """4.3: whole numbers for counts, a unit for a duration."""
    counted = before_node(used(4), Caps(iterations=3), GRACE)
    timed = before_node(Spent(elapsed_ns=int(0.5 * HOUR)), Caps(duration=100.0), GRACE)
    assert isinstance(counted, Refused)
    assert counted.message.endswith("resume with --max-iterations above 4 to go on")
    assert isinstance(timed, Refused)
    assert timed.message.endswith("resume with --max-duration above 2000s to go on")
