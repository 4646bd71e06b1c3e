"""``dispatch --until-idle`` in this process: when a daemon is at rest."""

from __future__ import annotations

from pathlib import Path

from dispatcher.daemon.daemon import Daemon
from dispatcher.daemon.inbox import Inbox
from dispatcher.daemon.loops import until_idle
from dispatcher.tick import TickReport
from engine.ports import SystemClock
from tests.kit.yard import CONFIG, FAILS_FOR_GOOD, Yard, waits


class Late(Daemon):
    """A daemon whose run ends between a tick's look at it and the end of that tick."""

    yard: Yard

    def tick(self, *, pick: bool = True, dry: bool = False) -> TickReport:
        report = super().tick(pick=pick, dry=dry)
        if not set(report.counts) - {"hold"} and self.slots.executing():
            (self.yard.folder / "go").touch()
            self.yard.join()
        return report


def test_a_run_that_ends_during_a_tick_is_settled_before_the_daemon_is_idle(tmp_path: Path) -> None:
    """interface.md 5: until nothing is running and no card is actionable; the tick only saw it working."""
    yard = Yard(tmp_path, SystemClock(), CONFIG + "tick: {interval: 100ms}\n")
    yard.bot(waits(tmp_path))
    card = yard.make()
    yard.daemon.close()
    yard.daemon = late = Late(yard.wiring, yard.environment, Inbox())
    late.yard = yard
    late.open()
    assert until_idle(late, 60).exit_code == 0
    assert (yard.column(card), len(yard.runs())) == ("review", 1)
    yard.close()


def test_outcomes_that_wait_for_a_breaker_keep_nobody_waiting(tmp_path: Path) -> None:
    """interface.md 5: a card that is held is not actionable, also where its outcome is not on it yet."""
    more = "tick: {interval: 100ms}\nbreakers: {board_failures: 1}\nconcurrency: {max: 2}\n"
    yard = Yard(tmp_path, SystemClock(), CONFIG + more, FAILS_FOR_GOOD)
    cards = [yard.make() for _ in range(3)]
    assert until_idle(yard.daemon, 60).exit_code == 0
    assert sorted(str(yard.column(card)) for card in cards) == ["blocked", "in_progress", "ready"]
    assert {yard.reason(card) for card in cards} == {"", "board_breaker_open"}
    yard.close()
