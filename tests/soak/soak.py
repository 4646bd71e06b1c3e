"""Cards without end through eight slots, while daemon and runs are killed at random; then the count.

Each run has two tool nodes. Every tool notes its card, and holds a file lock of its card while it works, so that two at
once would be seen. Whatever was killed, each card must have one run, finished, each of its nodes recorded once.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from config.load import load
from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.native.board import NativeBoard
from dispatcher.wiring import Wiring
from engine.states import RunStatus
from tests.kit.daemons import Site
from tests.soak.processes import Sample, kill_a_child, sample

BOT = """vars:
  card: string = ""

tool first:
  command: `exec 9>"$FOLDER/busy-{{vars.card}}"; flock -n 9 || echo {{vars.card}} >> "$FOLDER/doubles"; sleep 0.3`

tool last:
  command: `exec 9>"$FOLDER/busy-{{vars.card}}"; flock -n 9 || echo {{vars.card}} >> "$FOLDER/doubles"; sleep 0.1`

workflow work:
  entry: first
  first -> last
  last -> done
"""
CONFIG = """
name: soak
boards: [{{name: native, kind: native, bot: bots/work.bot, vars: {{card: "{{{{card.number}}}}"}}}}]
tick: {{interval: 100ms}}
concurrency: {{max: {slots}}}
retry: {{max_attempts: 1000, base: 100ms, cap: 300ms}}
runs: {{orphan_grace: 1s, workspace_boundaries: false}}
breakers: {{card_moves: 100000, same_cause: 100000, board_failures: 100000}}
workspace: {{persist: cleanup_on_terminal}}
columns: {{completed: done}}
shutdown: {{grace: 2s}}
"""
LOOK = 0.5
"""Seconds between two looks."""
WAITING = 3
"""So many cards per slot wait at least."""
SETTLES = 120.0
"""Seconds in which everything must be worked off at the end."""
GROWTH, SLACK = 0.10, 10.0
"""By how much, and by how many MiB, the memory of one life may grow from its second quarter to its last."""
YOUNG = 10.0
"""Seconds after which a daemon's memory is looked at."""


@dataclass
class Life:
    """One daemon from its start to its death."""

    process: subprocess.Popen[bytes]
    began: float
    samples: list[Sample] = field(default_factory=list)


@dataclass
class Soak:
    """What is running, and what was done to it."""

    folder: Path
    slots: int
    seconds: float
    random: Random
    lives: list[Life] = field(default_factory=list)
    killed_runs: int = 0
    made: int = 0
    faults: list[str] = field(default_factory=list)

    def run(self) -> str:
        """The whole of it; the verdict in one line."""
        site = Site(self.folder, BOT.replace("$FOLDER", str(self.folder)), CONFIG.format(slots=self.slots))
        store = self.folder / ".pointsman"
        settings = load(self.folder / "pointsman.yaml", {})
        wiring = Wiring(settings, store_dir=store, store_url=f"sqlite:///{store / 'pointsman.db'}")
        try:
            self._work(site, wiring)
            self._count(wiring)
            self._flat()
        finally:
            site.close()
            wiring.close()
        return self._verdict()

    def _work(self, site: Site, wiring: Wiring) -> None:
        began, looking = time.monotonic(), threading.Event()
        board = wiring.boards["native"]
        assert isinstance(board, NativeBoard)
        next_kill = self._start(site) + self._pause()
        while time.monotonic() - began < self.seconds:
            self._feed(board)
            life, now = self.lives[-1], time.monotonic()
            if (seen := sample(life.process.pid, now - life.began)) is not None:
                life.samples.append(seen)
            self.killed_runs += kill_a_child(life.process.pid, self.random) if self.random.random() < 0.5 else 0
            if life.process.poll() is not None:
                self.faults.append(f"a daemon ended by itself with {life.process.returncode}")
                next_kill = self._start(site) + self._pause()
            elif now >= next_kill:
                life.process.kill()
                life.process.wait(10)
                next_kill = self._start(site) + self._pause()
            looking.wait(LOOK)
        self._settle(board)

    def _pause(self) -> float:
        return self.random.uniform(15.0, min(300.0, max(30.0, self.seconds / 4)))

    def _start(self, site: Site) -> float:
        now = time.monotonic()
        self.lives.append(Life(site.start("dispatch", "--no-server", "--log-level", "error"), now))
        return now

    def _feed(self, board: NativeBoard) -> None:
        waiting = board.counts().get("ready", 0)
        for _ in range(max(0, self.slots * WAITING - waiting)):
            board.create(CardDraft("work", column="ready"), PERSON)
            self.made += 1

    def _settle(self, board: NativeBoard) -> None:
        """No more faults: the last daemon works everything off and is told to stop."""
        end, looking, process = time.monotonic() + SETTLES, threading.Event(), self.lives[-1].process
        while board.counts().get("done", 0) < self.made and time.monotonic() < end:
            looking.wait(LOOK)
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(30)
        except subprocess.TimeoutExpired:
            code = -1
            process.kill()
        if code:
            self.faults.append(f"the last daemon stopped with {code}")

    # -- the count -----------------------------------------------------------------------------------------------------
    def _count(self, wiring: Wiring) -> None:
        board = wiring.boards["native"]
        assert isinstance(board, NativeBoard)
        left = {name: count for name, count in board.counts().items() if count and name != "done"}
        if left:
            self.faults.append(f"lost: cards are left in {left}")
        records = wiring.store.runs.list().records
        if len(records) != self.made:
            self.faults.append(f"{len(records)} runs for {self.made} cards")
        unfinished = Counter(record.status for record in records if record.status != RunStatus.FINISHED)
        if unfinished:
            self.faults.append(f"runs that did not finish: {dict(unfinished)}")
        self._nodes(wiring)
        doubles = self.folder / "doubles"
        if doubles.exists():
            self.faults.append(f"two at once for cards {sorted(set(doubles.read_text().split()))[:10]}")
        snapshot = wiring.ledger.snapshot()
        if snapshot.active() or snapshot.intents:
            self.faults.append(f"half-done: {sorted(snapshot.active())[:5]} {sorted(snapshot.intents)[:5]}")

    def _nodes(self, wiring: Wiring) -> None:
        """Each node of each run is recorded once."""
        with wiring.database.read_raw() as cursor:
            twice = cursor.execute(
                "SELECT count(*) FROM (SELECT run_id, node_id, count(*) AS n FROM node_output WHERE dropped_by = 0 "
                "GROUP BY run_id, node_id HAVING n > 1)"
            ).fetchone()[0]
            nodes = cursor.execute("SELECT count(*) FROM node_output WHERE dropped_by = 0").fetchone()[0]
        if twice or nodes != 2 * self.made:
            self.faults.append(f"{nodes} results of nodes for {self.made} cards, {twice} of them twice")

    def _flat(self) -> None:
        """No daemon's memory, descriptors or threads grow while it lives."""
        for life in self.lives:
            grown = [each for each in life.samples if each.age >= YOUNG]
            if len(grown) < 16:
                continue
            quarter = len(grown) // 4
            before = median(each.memory for each in grown[quarter : 2 * quarter])
            after = median(each.memory for each in grown[-quarter:])
            if after > before * (1 + GROWTH) + SLACK:
                self.faults.append(f"memory grew from {before:.0f} to {after:.0f} MiB within one life")
        most = 60 + 14 * self.slots
        if self._most("descriptors") > most:
            self.faults.append(f"{self._most('descriptors')} descriptors, more than {most}")
        if self._most("threads") > 16 + 3 * self.slots:
            self.faults.append(f"{self._most('threads')} threads, more than {16 + 3 * self.slots}")

    def _most(self, what: str) -> int:
        return max((getattr(each, what) for life in self.lives for each in life.samples), default=0)

    def _verdict(self) -> str:
        memories = [each.memory for life in self.lives for each in life.samples if each.age >= YOUNG] or [0.0]
        told = (
            f"{self.seconds:.0f} s, {self.slots} slots, {self.made} cards, {len(self.lives) - 1} daemons and "
            f"{self.killed_runs} runs killed; memory {min(memories):.0f} to {max(memories):.0f} MiB, at most "
            f"{self._most('descriptors')} descriptors and {self._most('threads')} threads"
        )
        if self.faults:
            return f"soak: FAIL: {'; '.join(self.faults)} ({told})"
        return f"soak: PASS: nothing lost, nothing duplicated ({told})"


def soak(folder: Path, slots: int, minutes: float, seed: int) -> tuple[bool, str]:
    """Whether it passed, and the verdict."""
    made = Soak(folder, slots, 60 * minutes, Random(seed))
    verdict = made.run()
    return not made.faults, verdict
