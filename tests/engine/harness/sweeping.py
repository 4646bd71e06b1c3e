"""Run as a process of its own: strikes a run of one graph at each of its write transactions in turn, then brings it to
its end.

Usage: ``sweeping FAULT GRAPH FOLDER [MOST]`` with a fault of ``FAULTS`` and a graph of ``GRAPHS`` or the path of a
workflow whose questions are approved; at most ``MOST`` strikes, evenly chosen. The undisturbed run is played first, in
this process, so that everything is imported and known when the attempts are forked, two at a time. Each strike has a
folder of its own; ``left`` in it is what the fault left behind. Prints one JSON object: how each strike ended.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.errors import StoreError
from tests.engine.harness.driving import RUN, Driver, driver, opened, trace_of, wait_for_free
from tests.engine.harness.faults import FAULTS, Strike
from tests.engine.harness.graphs import APPROVED, GRAPHS, Graph
from tests.engine.harness.laws import told
from tests.engine.harness.watched import AFTER

AT_ONCE = 2


@dataclass(frozen=True)
class Round:
    """One strike: its folder, and what it does."""

    folder: Path
    graph: Graph
    strike: Strike

    def prepare(self) -> None:
        """The program and a workspace."""
        (self.folder / "work").mkdir(parents=True)
        (self.folder / "main.bot").write_text(self.graph.text)
        for name, text in self.graph.files.items():
            (self.folder / name).write_text(text)

    def struck(self) -> None:
        """The attempts up to the fault. A store that refuses is met as a person meets it: with an error to read."""
        with self.driver(self.strike) as mine:
            try:
                mine.bring_to_end()
            except StoreError as refused:
                (self.folder / "refused").write_text(f"{type(refused).__name__}: {refused.message}; {refused.hint}")

    def went_on(self) -> None:
        """What was left, then everything that is still to be done, undisturbed."""
        wait_for_free(self.folder)
        with self.driver() as mine:
            seen = None if mine.record() is None else told(mine.store, RUN)
            (self.folder / "left").write_bytes(pickle.dumps((seen, trace_of(self.folder))))
            if self.strike.when != AFTER:  # half of the orphans are found by a daemon, half taken over by hand
                mine.reconcile()
            mine.bring_to_end()

    @contextmanager
    def driver(self, strike: Strike | None = None) -> Iterator[Driver]:
        """Whoever looks after the run, with the fault in the store or without."""
        with opened(self.folder, busy_timeout=strike.patience if strike else 30.0) as database:
            made = driver(self.folder, self.graph.answers, database, strike.clock() if strike else None)
            if strike is not None:
                strike.aim(database)
            yield made


def forked(act: Callable[[], None]) -> int:
    """Start it in a process of its own; the id of that."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        except BaseException:  # noqa: BLE001 - told on the way out of a forked process
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def undisturbed(folder: Path, graph: Graph) -> int:
    """Play the run without a fault; how many write transactions it took."""
    play = Round(folder, graph, Strike("never", 0))
    play.prepare()
    with play.driver() as mine:
        before = mine.database.count
        mine.bring_to_end()
        count = mine.database.count - before
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(10)
    return count


def main(fault: str, name: str, where: Path, most: int = 1000) -> None:
    """The strikes; prints ``{folder: [status of the struck attempts, status of those behind it]}``."""
    graph = GRAPHS.get(name) or Graph(Path(name).read_text(), answers=APPROVED)
    strikes = FAULTS[fault](undisturbed(where / "undisturbed", graph))
    chosen = (
        strikes
        if len(strikes) <= most
        else [strikes[(2 * each + 1) * len(strikes) // (2 * most)] for each in range(most)]
    )
    rounds = [Round(where / strike.name, graph, strike) for strike in chosen]
    for each in rounds:
        each.prepare()
    ends: dict[str, list[int]] = {each.folder.name: [] for each in rounds}
    waiting: list[tuple[Round, Callable[[], None]]] = [(each, each.struck) for each in reversed(rounds)]
    running: dict[int, Round] = {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            each, act = waiting.pop()
            running[forked(act)] = each
        child, status = os.wait()
        each = running.pop(child)
        ends[each.folder.name].append(os.waitstatus_to_exitcode(status))
        if len(ends[each.folder.name]) == 1:
            waiting.append((each, each.went_on))
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *map(int, sys.argv[4:]))
