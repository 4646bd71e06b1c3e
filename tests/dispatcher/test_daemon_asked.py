"""What people ask of a daemon between ticks: refreshes, reloads, its state (dispatcher.md 23 to 26)."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.base import Listing
from connectors.native.board import NativeBoard
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


class Hanging(NativeBoard):
    """A board whose listing hangs while it is told to."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hangs, self.reached, self.go = False, threading.Event(), threading.Event()

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        if self.hangs:
            self.reached.set()
            self.go.wait(60)
        return super().list_cards(columns)


def test_a_run_is_cancelled_while_the_tick_hangs_in_a_read(tmp_path: Path) -> None:
    """D140, F20: it waits for the stop of its tool alone, never for the tick."""
    yard = Yard(tmp_path, SystemClock(), CONFIG, waits(tmp_path))
    board = Hanging("native", yard.wiring.database, yard.clock, yard.wiring.ids)
    yard.wiring.boards = {"native": board}
    (tmp_path / "pointsman.yaml").write_text(CONFIG.replace("name: yard", "name: hung"))
    yard.daemon.reload()
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    board.hangs = True
    yard.make("another, so that the board is read again")
    stuck = threading.Thread(target=yard.tick)
    stuck.start()
    assert board.reached.wait(30)
    since = yard.clock.monotonic()
    yard.wiring.engine.cancel(yard.view(card).last_run, "no")
    yard.join()
    assert yard.run(card).status == "cancelled"
    assert yard.clock.monotonic() - since < 2 + 6, "two seconds, and five for a tool that does not end by itself"
    board.hangs = False
    (tmp_path / "go").touch()
    board.go.set()
    stuck.join(30)
    yard.tick(pick=False)
    assert yard.column(card) == "backlog"
    yard.close()
