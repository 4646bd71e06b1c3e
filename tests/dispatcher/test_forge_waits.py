"""A run that waits for a forge: however long it was asked to wait, it is not silent (dispatcher.md 13)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.fake_forge.running import Setup
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import ForgeYard

RESET = 900
"""Seconds that the forge asks to wait."""
BOT = """vars:
  title: string = ""

tool say:
  action: github.issue.comment
  connection: web
  params:
    number: 1
    body: "{{vars.title}}"

workflow work:
  entry: say
  say -> done
"""


class Standing(FakeClock):
    """A clock whose waits last until the test has moved it, for runs; ``looks`` counts how often one began to wait."""

    looks = 0

    def wait(self, event: threading.Event, seconds: float) -> bool:
        if not threading.current_thread().name.startswith("run "):
            return super().wait(event, seconds)
        until, self.looks = self.monotonic() + seconds, self.looks + 1
        while self.monotonic() < until and not event.wait(0.002):
            pass
        return event.is_set()

    def past(self, looks: int) -> None:
        """Wait in real time until somebody has begun to wait once more than so many times."""
        end, looking = time.monotonic() + 30, threading.Event()
        while self.looks <= looks:
            assert time.monotonic() < end, "nobody waits"
            looking.wait(0.002)


@pytest.fixture
def clock() -> Standing:
    return Standing()


@pytest.fixture
def yard(tmp_path: Path, clock: Standing) -> Iterator[ForgeYard]:
    with fake("github", Setup(clock=clock)) as forge:
        made = ForgeYard(tmp_path, clock, forge, BOT)
        yield made
        clock.advance(2 * RESET)
        made.close()


def test_a_node_that_waits_for_the_forges_reset_is_no_stall(yard: ForgeYard, clock: Standing) -> None:
    """D128: fifteen minutes, behind a stall limit of ten; then the call is made, once, by the same attempt."""
    card = yard.issue()
    yard.forge.script(
        {"match": {"operation": "issue.comment", "nth": 1}, "fault": "throttle_primary", "with": {"seconds": RESET}}
    )
    yard.tick(wait=False)
    clock.past(0)
    for _ in range(14):
        looks = clock.looks
        clock.advance(60)
        clock.past(looks)
        yard.tick(wait=False)
    assert yard.run(card).status == RunStatus.RUNNING
    clock.advance(RESET)
    yard.join()
    yard.tick(pick=False)
    assert yard.events(card, "run_interrupted") == []
    assert (yard.run(card).status, yard.run(card).epoch, yard.place(card)) == (RunStatus.FINISHED, 1, "review")
    assert len(yard.forge.card(int(card)).comments) == 1
