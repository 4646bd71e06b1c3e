"""The time that a caller has in all, above the deadline of each of its calls."""

from __future__ import annotations

import threading

from connectors.deadline import Deadline, within
from tests.kit.clock import FakeClock


def test_the_earlier_of_two_ends_counts_and_only_inside(clock: FakeClock) -> None:
    """dispatcher.md 4: a board's reads end with ``tick.board_deadline``, whatever each may take."""
    call = Deadline.after(clock, 30)
    with within(Deadline.after(clock, 5)):
        assert call.bounded().remaining() == 5
        assert Deadline.after(clock, 2).bounded().remaining() == 2
        with within(Deadline.after(clock, 1)):
            assert call.bounded().remaining() == 1
        elsewhere: list[float] = []
        other = threading.Thread(target=lambda: elsewhere.append(call.bounded().remaining()))
        other.start()
        other.join()
        clock.advance(5)
        assert call.bounded().passed()
    assert (elsewhere, call.bounded()) == ([30], call)
