"""``pointsman pickup``: the switch of the whole dispatcher, without a listener; stored, and obeyed by every start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.yard import CONFIG, Yard, tool

STORE = ("--store-dir", "store")


def ask(folder: Path, *words: str) -> Any:
    answer = pointsman(folder, *STORE, "pickup", *words, "--json", environment={"USER": "ann"})
    assert answer.code == 0, answer.err
    return answer.document


def test_a_pause_from_the_command_line_holds_over_new_starts_until_it_is_taken_back(
    tmp_path: Path, clock: FakeClock
) -> None:
    """D183: stored with who and when; running work and cards are left alone."""
    yard = Yard(tmp_path, clock, CONFIG, tool("true"))
    card = yard.make()
    assert (ask(tmp_path, "pause")["state"], ask(tmp_path)["by"]) == ("paused", "ann")
    yard.tick()
    yard.again().settled(2)
    assert (yard.reason(card), yard.column(card)) == ("daemon_paused", "ready")
    idle = yard.view(card).idle
    assert idle is not None
    assert "by ann" in idle.text
    assert "pickup resume" in idle.unblock
    assert ask(tmp_path, "drain")["state"] == "draining"
    yard.tick()
    assert yard.reason(card) == "daemon_draining"
    assert ask(tmp_path, "resume")["state"] == "running"
    yard.settled()
    assert yard.column(card) == "review"
    yard.close()


def test_without_a_store_it_is_running_and_nothing_is_made(tmp_path: Path) -> None:
    assert ask(tmp_path)["state"] == "running"
    assert list(tmp_path.iterdir()) == []
    assert "Pick-up is running" in pointsman(tmp_path, "pickup").out
