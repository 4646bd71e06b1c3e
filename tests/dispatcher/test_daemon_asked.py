"""What people ask of a daemon between ticks: refreshes, reloads, its state (dispatcher.md 23 to 26)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatcher.daemon.clockwork import Clockwork
from engine.ports import SystemClock
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard, tool, waits


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    made.close()


def test_no_number_of_refreshes_shortens_a_wait(yard: Yard, clock: FakeClock) -> None:
    """D124."""
    yard.bot(tool("exit 1"))
    card = yard.make()
    yard.settled()
    clock.advance(9)
    for _ in range(20):
        yard.daemon.refresh("http")
        yard.tick()
    assert (yard.run(card).epoch, yard.reason(card)) == (1, "retry_wait")


def test_a_cap_applies_with_the_next_tick_and_another_store_needs_a_new_start(yard: Yard) -> None:
    """D180, D181: seen by the file's look alone, without being told."""
    yard.bot(waits(yard.folder))
    cards = [yard.make() for _ in range(3)]
    text = CONFIG + f"concurrency: {{max: 1}}\nstore: {{url: 'sqlite:///{yard.folder}/other.db'}}\n"
    (yard.folder / "pointsman.yaml").write_text(text)
    assert yard.daemon.reload()
    yard.tick(wait=False)
    config = yard.daemon.state()["config"]
    assert isinstance(config, dict)
    assert (config["generation"], config["watch"]) == (2, "polling")
    assert [key.split(".")[0] for key in config["restart_required"]] == ["store"]
    assert [yard.reason(card) for card in cards] == ["", "no_slot", "no_slot"]
    assert not (yard.folder / "other.db").exists()


def test_the_state_is_always_that_of_one_whole_tick(yard: Yard) -> None:
    """D192."""
    for number in range(5):
        yard.make(f"c{number}", bot="nobody")
    yard.tick()
    whole = set(yard.daemon.state())
    seen: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            state = yard.daemon.state()
            held = state["held"]
            assert isinstance(held, list)
            seen.append((set(state) == whole, len(held)))

    reader = threading.Thread(target=look)
    reader.start()
    yard.tick(20)
    done.set()
    reader.join()
    assert set(seen) == {(True, 5)}


def test_fifty_refreshes_in_a_moment_are_at_most_two_ticks(tmp_path: Path) -> None:
    """D185: each is accepted at once; what they ask for is one tick, and one for those that came while it ran."""
    ticks: list[int] = []
    ended, begun = threading.Event(), threading.Event()

    def tick() -> None:
        begun.set()
        ticks.append(1)
        if len(ticks) == 2:
            ended.wait(10)

    clockwork = Clockwork(SystemClock(), 600.0, tick)
    clockwork.start()
    try:
        assert begun.wait(10)
        begun.clear()
        for _ in range(25):
            clockwork.wake()
        assert begun.wait(10)
        for _ in range(25):
            clockwork.wake()
        ended.set()
        quiet = threading.Event()
        quiet.wait(1.0)
    finally:
        clockwork.stop()
    assert len(ticks) == 3, "the first of the start, one for the first half, one for the second"
