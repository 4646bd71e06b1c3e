"""A stop: nothing starts behind it, and nothing that hangs keeps the process (dispatcher.md 24)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.fake_forge.running import Setup
from dispatcher.daemon.clockwork import Clockwork
from dispatcher.daemon.inbox import Message
from dispatcher.daemon.loops import Done, forever, until_idle
from dispatcher.refusals import Refused
from dispatcher.station import INTERRUPT_SHUTDOWN
from dispatcher.tick import Mode, run
from engine.failures import FailureCode
from engine.ports import SystemClock
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import CONFIG, Yard, tool


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    made.close()


def test_a_stop_that_comes_during_a_tick_is_heard_by_the_next_card(yard: Yard) -> None:
    card = yard.make()

    def mark(phase: str) -> None:
        if phase == "pick":
            yard.daemon.stopping()

    report = run(yard.daemon.station, Mode(mark=mark))
    assert (dict(report.counts), yard.column(card), yard.reason(card)) == ({"hold": 1}, "ready", "stopping")


def test_a_run_that_begins_behind_a_stop_is_interrupted_at_its_first_boundary(yard: Yard) -> None:
    """Its start was under way when the signal came; the attempt is given back (section 12)."""
    yard.bot(tool("touch ran"))
    card = yard.make()
    yard.wiring.engine.drain_all(INTERRUPT_SHUTDOWN)
    yard.settled()
    assert (yard.run(card).failure_code, yard.view(card).attempts) == (FailureCode.INTERRUPTED, 0)
    yard.again().settled()
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


def test_a_tick_that_breaks_off_ends_readiness_until_another_is_complete(yard: Yard) -> None:
    """Section 35, 18: no health is claimed while no tick comes to its end."""
    yard.tick()
    told = threading.Event()

    def broke(error: str) -> None:
        yard.daemon.broke(error)
        told.set()

    def tick() -> None:
        raise ValueError("odd")

    clockwork = Clockwork(SystemClock(), 600.0, tick, broke)
    clockwork.start()
    assert told.wait(10)
    clockwork.stop()
    assert yard.daemon.not_ready() == ["the last tick broke off: ValueError('odd')"]
    assert "the last tick broke off" in yard.daemon.status()
    assert b'pointsman_ticks_total{result="failed"} 1.0' in yard.daemon.metrics.text()
    yard.tick()
    assert (yard.daemon.not_ready(), "broke" in yard.daemon.status()) == ([], False)


def test_a_stop_ends_a_hook_with_its_group_and_gives_the_attempt_back(tmp_path: Path, clock: FakeClock) -> None:
    """A hook that went on behind the daemon would meet itself at the next start."""
    script = f"cd {tmp_path}; [ -e pid ] && exit; sleep 300 & echo $! > pid; wait"
    yard = Yard(tmp_path, clock, f'{CONFIG}hooks: {{before_run: {{script: "{script}"}}}}\n')
    card = yard.make()
    yard.tick(wait=False)
    yard.until("pid")
    yard.daemon.interrupt()
    yard.join()
    assert (yard.view(card).attempts, yard.ledger().retries["native", card].code) == (0, INTERRUPT_SHUTDOWN)
    child = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not child.exists() or ") Z " in child.read_text(), "at most its corpse is left"
    yard.again().settled()
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
    yard.close()


@pytest.mark.timeout(25)
def test_a_tick_that_hangs_in_a_forge_does_not_keep_the_process(tmp_path: Path) -> None:
    """A second signal ends the waiting at once; without one it ends after five seconds."""
    with fake("github", Setup(clock=SystemClock())) as forge:
        yard = ForgeYard(tmp_path, SystemClock(), forge, tool("true"))
        forge.script({"fault": "act_then_hang", "match": {"operation": "issue.list"}})
        living = threading.Thread(target=forever, args=(yard.daemon,))
        living.start()
        end = time.monotonic() + 20
        while not any(each["fault"] == "act_then_hang" for each in forge.requests()):
            assert time.monotonic() < end
            threading.Event().wait(0.01)
        tick: Any = yard.daemon.state()["tick"]
        assert tick["phase"] == "read"
        begun = time.monotonic()
        yard.daemon.inbox.put(Message.STOP)
        yard.daemon.inbox.put(Message.STOP)
        living.join(10)
        assert (living.is_alive(), time.monotonic() - begun < 3) == (False, True)
        assert yard.daemon.report is None
        (tmp_path / "idle").mkdir()
        bounded = ForgeYard(tmp_path / "idle", SystemClock(), forge, tool("true"))
        for _ in range(2):
            bounded.daemon.inbox.put(Message.STOP)
        assert until_idle(bounded.daemon, 0.0) == Done([])
    yard.close()
    bounded.close()


def test_a_daemon_whose_store_was_removed_or_replaced_says_so_and_ends(yard: Yard) -> None:
    """It would work for ever on a file that nobody else sees, and claim to be well (section 35, 18)."""
    yard.tick()
    file = yard.wiring.store_dir / "pointsman.db"
    file.rename(file.with_suffix(".away"))
    with pytest.raises(Refused, match="was removed or replaced"):
        yard.tick()
    file.write_bytes(file.with_suffix(".away").read_bytes())
    with pytest.raises(Refused, match="was removed or replaced"):
        yard.tick()
    file.with_suffix(".away").rename(file)
    assert yard.tick().complete
