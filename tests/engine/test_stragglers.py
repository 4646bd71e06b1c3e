"""Branches that do not stop in time, beside a crash: whatever commit it strikes, nothing late is written and nothing
finished runs again (engine.md 9.4; R219).

One branch fails, or a person cancels the run; the other ignores that for longer than its grace. It comes to its end
only when the attempt is over, and what it says then must not be in the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.dsl.graph import NodeKind
from engine.failures import FailureCode
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Failed, Outcome
from engine.ports import SystemClock
from engine.states import RunStatus
from tests.engine.harness import laws
from tests.engine.harness.driving import RUN, Driver, opened
from tests.engine.harness.graphs import SAFE, tool
from tests.engine.harness.watched import AFTER, BEFORE, Crash, crashing

GRAPH = (
    tool("first")
    + "router split:\n  mode: fan_out_all\n"
    + "".join(tool(name, SAFE) for name in ("done_before", "quick", "stubborn", "behind"))
    + tool("join", "  await: wait_all\n")
    + "workflow w:\n  entry: first\n  first -> split\n  split -> done_before\n  split -> stubborn\n"
    + "  done_before -> quick -> join\n  stubborn -> behind -> join\n  join -> done\n"
)
GRACE = 0.05
FAIL, CANCEL = "fail", "cancel"


class Bench:
    """The tools of one run: ``quick`` ends the fan-out as ``how`` says, ``stubborn`` waits until it is let go."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.mended = False
        self.inside, self.let_go, self.late = threading.Event(), threading.Event(), threading.Event()
        self.beside = threading.Event()
        self.trace: list[str] = []
        self.cancel: Callable[[], object] = lambda: None

    def mend(self) -> None:
        self.mended = True

    def __call__(self, context: NodeContext) -> Outcome:
        name = context.node.name
        if not self.mended:
            if name == "stubborn":
                self.inside.set()
                self.beside.set()
                self.let_go.wait(30)
                self.late.set()
            if name == "quick":
                self.beside.wait(30)
                if self.how == FAIL:
                    return Failed(FailureCode.EXECUTION_FAILED, "no")
                self.cancel()
        self.trace.append(name)
        return Completed({"line": name})

    def hearing_of_the_crash(self, told: Callable[[str, int], None]) -> Callable[[str, int], None]:
        """Where the crash keeps ``stubborn`` from starting, ``quick`` does not wait for it."""

        def heard(moment: str, number: int) -> None:
            try:
                told(moment, number)
            except Crash:
                self.beside.set()
                raise

        return heard


@contextmanager
def looked_after(folder: Path, bench: Bench) -> Iterator[Driver]:
    with opened(folder) as database:
        settings = {"branch_cancel_grace": GRACE}
        made = Driver(folder, database, {}, SystemClock(), {NodeKind.TOOL: bench}, bench.mend, settings)
        bench.cancel = lambda: made.engine.cancel(RUN, "enough")
        yield made


def first_attempt(driver: Driver, bench: Bench) -> None:
    """The launch, up to its stop or its crash; then the straggler is let go and comes to its end."""
    with suppress(Crash):
        driver.attempt(None)
    bench.let_go.set()
    if bench.inside.is_set():
        assert bench.late.wait(30)
    for thread in threading.enumerate():
        if thread.name.startswith("split"):
            thread.join(30)


def played(folder: Path, how: str, strike: tuple[str, int] | None = None) -> tuple[Bench, int]:
    """One run, struck or not, until it has finished; the tools that it used, and the commits of its first attempt."""
    (folder / "work").mkdir(parents=True)
    (folder / "main.bot").write_text(GRAPH)
    bench = Bench(how)
    with looked_after(folder, bench) as driver:
        driver.database.count = 0
        if strike is not None:
            told, driver.database.around = crashing(*strike)
            driver.database.told = bench.hearing_of_the_crash(told)
        first_attempt(driver, bench)
        count = driver.database.count
    left = list(bench.trace)
    bench.mend()
    with looked_after(folder, bench) as driver:
        record = driver.record()
        seen = laws.told(driver.store, RUN) if record else None
        if strike is None:
            assert record is not None
            assert record.status == (RunStatus.FAILED_RESUMABLE if how == FAIL else RunStatus.CANCELLED)
            abandoned = [event for event in driver.store.timeline.events(RUN) if event.type == "branch_abandoned"]
            assert [event.data["branch_id"] for event in abandoned] == ["branch_split_stubborn"]
        assert seen is None or "stubborn" not in seen.lines, "a straggler was recorded"
        driver.bring_to_end()
        end = laws.told(driver.store, RUN)
        laws.nothing_lost(end, seen)
        laws.no_finished_node_repeated(bench.trace, sorted(end.lines), left, seen)
        laws.store_is_sound(driver.database)
        assert end.status == RunStatus.FINISHED
        assert set(end.lines) == {"first", "done_before", "quick", "stubborn", "behind", "join"}
        assert set(end.lines.values()) == {1}, "a node was recorded twice"
    return bench, count


@pytest.mark.parametrize("how", [FAIL, CANCEL])
def test_a_straggler_and_a_crash_at_any_commit(tmp_path: Path, how: str) -> None:
    """R219, 1.7, 9.4."""
    _, count = played(tmp_path / "undisturbed", how)
    for number in range(1, count + 1):
        when = BEFORE if number % 2 else AFTER
        played(tmp_path / f"{when}-{number}", how, (when, number))
