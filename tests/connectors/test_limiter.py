"""One limiter per credential: hysteresis, waits that nobody shortens, writes in turn."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.deadline import Deadline
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeRefused, NotSent, RateLimited, Unreachable, Withdrawn
from connectors.limiter.decisions import PACES, Facts, Pace, admission, learned, mode_of, reserved, returned, throttled
from connectors.limiter.limiter import LONGEST_TURN, PARALLEL_READS, Limiter, Limiters
from connectors.limiter.state import Budget, LimitState, MemoryLimiterStore, Mode
from tests.kit.clock import FakeClock
from tests.kit.listening import Listener

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WRITE = Errand(Purpose.ACTION, effect_id="e1")


class Desk:
    """A limiter with everything around it that a test looks at."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.clock = FakeClock(NOW)
        self.store = MemoryLimiterStore()
        self.heard = Listener()
        self.pace = pace or Pace()
        self.limiter = self.again()

    def again(self) -> Limiter:
        """Another process over the same rows."""
        return Limiter("forge/abc", self.store, self.clock, self.pace, self.heard)

    def told(self, remaining: int, limit: int = 100, reset: float = 3600) -> None:
        self.limiter.learn(Facts("core", remaining, limit, NOW + timedelta(seconds=reset)))

    def read(self, purpose: Purpose, limiter: Limiter | None = None) -> None:
        with (limiter or self.limiter).reading(purpose, "core", Deadline.after(self.clock, 1)):
            pass

    def write_at(self) -> float:
        self.limiter.admit(WRITE, lambda: False)
        return (self.clock.now() - NOW).total_seconds()


def test_low_begins_below_a_fifth_and_ends_above_a_half_with_two_events() -> None:
    """C110."""
    desk = Desk()
    modes = []
    for remaining in (21, 19, 30, 50, 51):
        desk.told(remaining)
        modes.append(desk.limiter.mode())
    assert modes == [Mode.NORMAL, Mode.LOW, Mode.LOW, Mode.LOW, Mode.NORMAL]
    assert desk.heard.names == ["limiter.low_entered", "limiter.low_left"]


def test_in_low_lists_stop_and_the_watch_goes_on() -> None:
    """C111."""
    desk = Desk()
    desk.told(19)
    for purpose in (Purpose.WATCH, Purpose.SETTLE, Purpose.PROBE):
        desk.read(purpose)
    for purpose in (Purpose.LIST, Purpose.ACTION, Purpose.DOCTOR):
        with pytest.raises(RateLimited) as held:
            desk.read(purpose)
        assert held.value.until == NOW + timedelta(hours=1)
    desk.told(9)
    desk.read(Purpose.PROBE)
    with pytest.raises(RateLimited):
        desk.read(Purpose.WATCH)


def test_a_reset_ends_low_and_says_so_once() -> None:
    desk = Desk()
    desk.told(5, reset=60)
    desk.clock.advance(61)
    desk.read(Purpose.LIST)
    desk.read(Purpose.LIST)
    desk.told(30, reset=3661)
    assert desk.limiter.mode() is Mode.NORMAL
    assert desk.heard.names == ["limiter.low_entered", "limiter.low_left"]


def test_a_new_window_is_judged_afresh() -> None:
    desk = Desk()
    desk.told(5, reset=3600)
    desk.told(30, reset=7200)
    assert desk.limiter.mode() is Mode.NORMAL


def test_an_empty_budget_sends_nothing_until_its_reset() -> None:
    desk = Desk()
    desk.told(0, reset=120)
    with pytest.raises(RateLimited) as held:
        desk.read(Purpose.PROBE)
    assert held.value.until == NOW + timedelta(seconds=120)


def test_budgets_of_two_resources_are_apart() -> None:
    state = learned(LimitState("k"), Facts("graphql", 1, 5000, NOW + timedelta(hours=1)), NOW)
    assert admission(state, Purpose.LIST, NOW, "graphql") is not None
    assert admission(state, Purpose.LIST, NOW, "core") is None


def test_a_wait_outlives_the_process_and_fifty_wake_ups() -> None:
    """C112: the row is what a new process reads; the kill itself is in the fault matrix."""
    desk = Desk()
    until = desk.limiter.throttle(NOW + timedelta(seconds=600), "secondary")
    for _ in range(50):
        with pytest.raises(RateLimited) as held:
            desk.read(Purpose.PROBE, desk.again())
        assert held.value.until == until
    with pytest.raises(RateLimited):
        desk.again().admit(WRITE, lambda: False)
    desk.clock.advance(600)
    desk.read(Purpose.LIST, desk.again())
    assert desk.heard.names == ["limiter.blocked", "limiter.unblocked"]


def test_a_wait_without_a_time_doubles_up_to_a_quarter_of_an_hour() -> None:
    """C108."""
    state, waits = LimitState("k"), []
    now = NOW
    for _ in range(6):
        state = throttled(state, None, now)
        assert state.until is not None
        waits.append((state.until - now).total_seconds())
        now = state.until
    assert waits == [60, 120, 240, 480, 900, 900]
    state = throttled(learned(state, Facts(), now + timedelta(seconds=1)), None, now)
    assert state.until == now + timedelta(seconds=60)


def test_a_credential_that_is_refused_three_times_is_tried_by_one_read_in_five_minutes() -> None:
    """C143: in whichever process; writes wait for the read that finds it taken again; two lines in all."""
    desk = Desk()
    desk.limiter.refused(401)
    desk.limiter.accepted()
    for _ in range(2):
        desk.limiter.refused(401)
    desk.read(Purpose.LIST)
    desk.again().refused(401)
    for wait in (0.0, 299.0):
        desk.clock.advance(wait)
        with pytest.raises(ForgeRefused, match="401"):
            desk.read(Purpose.SETTLE, desk.again())
    desk.clock.advance(1)
    with pytest.raises(ForgeRefused):
        desk.write_at()
    desk.read(Purpose.LIST)
    with pytest.raises(ForgeRefused):
        desk.read(Purpose.LIST, desk.again())
    assert desk.limiter.standing().refused == 401
    desk.limiter.accepted()
    desk.read(Purpose.LIST)
    assert desk.write_at() == 300.0
    assert desk.limiter.standing().refused == 0
    assert [event for event in desk.heard.names if event.startswith("connection.")] == [
        "connection.refused",
        "connection.recovered",
    ]


def test_a_shorter_wait_never_replaces_a_longer_one() -> None:
    state = throttled(LimitState("k"), NOW + timedelta(hours=1), NOW)
    assert throttled(state, NOW + timedelta(seconds=1), NOW).until == NOW + timedelta(hours=1)
    assert mode_of(learned(state, Facts("core", 99, 100), NOW), NOW) is Mode.BLOCKED


def test_thirty_comments_start_at_least_a_second_apart_and_reads_are_not_delayed() -> None:
    """C114."""
    desk = Desk()
    starts = []
    for _ in range(30):
        starts.append(desk.write_at())
        before = desk.clock.now()
        desk.read(Purpose.LIST)
        assert desk.clock.now() == before
    assert starts[0] == 0
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(starts))


def test_the_minute_and_the_hour_have_room_for_so_many() -> None:
    desk = Desk(Pace(per_minute=3))
    assert [desk.write_at() for _ in range(4)] == [0, 1, 2, 60]
    state, starts = LimitState("k"), []
    for _ in range(451):
        state, start = reserved(state, PACES["github"], 0.0)
        starts.append(start)
    assert starts[450] >= 3600
    assert starts[449] < 3600


@given(st.lists(st.floats(0, 500), max_size=60), st.integers(1, 20))
def test_no_minute_ever_holds_more_writes_than_the_pace_allows(arrivals: list[float], most: int) -> None:
    pace, state, starts = Pace(per_minute=most), LimitState("k"), []
    for arrival in sorted(arrivals):
        state, start = reserved(state, pace, arrival)
        starts.append(start)
    for index in range(most, len(starts)):
        assert starts[index] - starts[index - most] >= 60 - 1e-6
    assert all(later - earlier >= 1 - 1e-6 for earlier, later in pairwise(starts))


def test_two_boards_with_one_token_share_limiter_and_pace() -> None:
    """C113."""
    limiters = Limiters(MemoryLimiterStore(), FakeClock(NOW))
    first, second = (limiters.of("github", "api.github.com", "d" * 64) for _ in range(2))
    assert first is second
    assert limiters.of("github", "ghe.example.org", "d" * 64) is not first


def test_two_processes_of_one_store_share_the_turns() -> None:
    desk = Desk()
    other = desk.again()
    desk.write_at()
    other.admit(WRITE, lambda: False)
    assert (desk.clock.now() - NOW).total_seconds() == 1.0


def test_an_order_taken_back_while_it_waits_gives_its_turn_back() -> None:
    desk = Desk()
    desk.write_at()
    with pytest.raises(Withdrawn) as withdrawn:
        desk.limiter.admit(WRITE, lambda: True)
    assert withdrawn.value.nothing_sent()
    assert len(desk.store.read("forge/abc").writes) == 1


def test_a_turn_too_far_away_is_told_and_not_waited_for() -> None:
    desk = Desk(Pace(per_minute=1, per_hour=1))
    desk.write_at()
    with pytest.raises(RateLimited) as held:
        desk.write_at()
    assert held.value.until == NOW + timedelta(hours=1)
    assert LONGEST_TURN < 3600
    assert desk.clock.now() == NOW


def test_a_throttle_that_comes_while_a_write_waits_stops_it() -> None:
    desk = Desk()
    desk.write_at()
    state = desk.store.read("forge/abc")
    assert state.writes
    asked = iter([False, False, False, False])

    def stopped() -> bool:
        desk.again().throttle(NOW + timedelta(hours=1), "secondary")
        return next(asked)

    with pytest.raises(RateLimited):
        desk.limiter.admit(WRITE, stopped)


def test_four_reads_run_at_once_and_the_fifth_waits_no_longer_than_its_deadline() -> None:
    desk = Desk()
    inside, leave = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        with desk.limiter.reading(Purpose.LIST, "core", Deadline.after(desk.clock, 10)):
            inside.release()
            leave.wait(10)

    threads = [threading.Thread(target=hold) for _ in range(PARALLEL_READS)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert inside.acquire(timeout=10)
    with pytest.raises(Unreachable), desk.limiter.reading(Purpose.LIST, "core", Deadline.after(desk.clock, 0)):
        pass
    with desk.limiter.in_flight(Deadline.after(desk.clock, 1)):
        leave.set()
    for thread in threads:
        thread.join(10)


def test_one_write_is_under_way_at_a_time() -> None:
    desk = Desk()
    with (
        desk.limiter.in_flight(Deadline.after(desk.clock, 1)),
        pytest.raises(NotSent),
        desk.limiter.in_flight(Deadline.after(desk.clock, 0)),
    ):
        pass


def test_usage_is_counted_by_purpose() -> None:
    desk = Desk()
    desk.read(Purpose.LIST)
    desk.read(Purpose.LIST)
    desk.write_at()
    desk.told(90)
    assert desk.limiter.usage() == {"list/core": 2, "action/core": 1}
    desk.clock.advance(6)
    desk.told(89)
    assert desk.again().usage() == {"list/core": 2, "action/core": 1}


def test_the_row_survives_as_text() -> None:
    state = LimitState(
        "k", {"core": Budget(3, 10, NOW, low=True), "graphql": Budget(1, 2)}, NOW, 2, (1.5, 2.5), {"list/core": 7}
    )
    assert LimitState.from_json(state.to_json()) == state
    assert returned(state, 1.5).writes == (2.5,)
