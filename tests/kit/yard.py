"""A dispatcher in this process: real store, native board and engine in a folder; a clock that the test moves.

Tests write bots and a configuration, make and move cards, tick, and look. Runs execute in real threads and processes;
``tick`` waits for those that it started unless it is told not to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from config.load import load
from connectors.base import Absent, Move
from connectors.card import PERSON, Card, Comment, Mover
from connectors.drafts import CardDraft
from connectors.native.board import NativeBoard
from dispatcher.daemon.daemon import Daemon
from dispatcher.daemon.inbox import Inbox
from dispatcher.ledger.records import CardView, Key, Snapshot
from dispatcher.tick import TickReport
from dispatcher.wiring import Wiring
from engine.api import ResumeRequest
from engine.dsl.catalogue import Operation
from engine.events import Event
from engine.ports import Clock, Remote
from engine.run import RunRecord
from engine.store.locks import MOUNTS

PATH = "/usr/local/bin:/usr/bin:/bin"
CONFIG = """
name: yard
boards: [{name: native, kind: native, bot: bots/work.bot, vars: {title: "{{card.title}}"}}]
retry: {max_attempts: 3, base: 10s, cap: 300s}
runs: {orphan_grace: 2s}
shutdown: {grace: 0s}
"""
HEAD = 'vars:\n  title: string = ""\n\n'


def tool(command: str, rest: str = "") -> str:
    """A workflow of one tool node."""
    return f"{HEAD}tool work:\n  command: `{command}`\n\nworkflow work:\n  entry: work\n  work -> done{rest}\n"


def chain(length: int, budget: str) -> str:
    """A workflow of so many tool nodes in a row, with a budget."""
    tools = "\n".join(f"tool t{n}:\n  command: `true`" for n in range(length))
    edges = "\n".join(f"  t{n} -> t{n + 1}" for n in range(length - 1))
    return f"{HEAD}{tools}\nworkflow work:\n  budget:\n    {budget}\n  entry: t0\n{edges}\n  t{length - 1} -> done\n"


def waits(folder: Path) -> str:
    """A workflow of two nodes; the first makes ``started`` and waits for ``go``."""
    first = f"echo x >> {folder}/trace; touch {folder}/started; until [ -e {folder}/go ]; do sleep 0.02; done"
    text = tool(first).replace("  work -> done", "  work -> after\n  after -> done")
    return text.replace("workflow work:", f"tool after:\n  command: `echo y >> {folder}/trace`\n\nworkflow work:")


ASKS = f"""{HEAD}schema answer:
  ok: bool

human ask:
  instructions: "go on?"
  output: answer

tool after:
  command: `true`

workflow work:
  entry: ask
  ask -> after
  after -> done
"""
"""Asks, then goes on."""

FAILS_FOR_GOOD = f"""{HEAD}fail end:
  message: "no"

tool work:
  command: `true`

workflow work:
  entry: work
  work -> end
"""
"""Reaches a fail node."""

DETERMINISTIC = f"""{HEAD}compute work:
  expr:
    x: "1 / 0"

workflow work:
  entry: work
  work -> done
"""
"""Fails the same way each time."""


class Yard:
    """One daemon over one folder. ``again`` is what a new start of the daemon finds."""

    remote: Remote | None = None
    """What runs connector operations, unless ``connected``."""
    connected = False
    """Whether runs reach the connections of the configuration."""
    catalogue: Mapping[str, Operation] | None = None
    mounts = MOUNTS
    """Where the system tells what is mounted where."""
    store_url = ""
    """Where the store is, empty for a file in the folder."""

    def __init__(self, folder: Path, clock: Clock, config: str = CONFIG, bot: str = "", **environment: str) -> None:
        self.folder, self.clock = folder, clock
        (folder / "bots").mkdir(exist_ok=True)
        if bot or not (folder / "bots" / "work.bot").exists():
            self.bot(bot or tool("true"))
        (folder / "pointsman.yaml").write_text(config)
        self.environment: Mapping[str, str] = {"PATH": PATH, "HOME": str(folder), **environment}
        self._open()

    def _open(self) -> None:
        settings = load(self.folder / "pointsman.yaml", self.environment)
        store = self.folder / "store"
        url = self.store_url or f"sqlite:///{store / 'pointsman.db'}"
        self.wiring = Wiring(settings, store_dir=store, store_url=url)
        self.wiring.clock, self.wiring.mounts = self.clock, self.mounts
        if not self.connected:
            self.wiring.remote, self.wiring.catalogue = self.remote, self.catalogue
        self.daemon = Daemon(self.wiring, self.environment, Inbox())
        self.daemon.open()

    def bot(self, text: str, name: str = "work") -> None:
        """Write a bot."""
        (self.folder / "bots" / f"{name}.bot").write_text(text)

    def again(self) -> Yard:
        """Stop this daemon's locks and start another over the same folder; nothing in memory survives."""
        self.close()
        self._open()
        return self

    def close(self) -> None:
        """Give everything back."""
        self.join()
        self.daemon.close()
        self.wiring.close()

    @property
    def board(self) -> NativeBoard:
        """The native board."""
        board = self.wiring.boards["native"]
        assert isinstance(board, NativeBoard)
        return board

    def make(self, title: str = "Do it", column: str = "ready", **values: Any) -> str:
        """Create a card; its id."""
        return self.board.create(CardDraft(title, column=column, **values), PERSON).id

    def move(self, card_id: str, to: str, mover: Mover = PERSON) -> None:
        """Somebody moves the card."""
        self.board.move(card_id, Move(to, mover))

    def tick(self, times: int = 1, *, wait: bool = True, pick: bool = True, dry: bool = False) -> TickReport:
        """Tick, and wait for the runs that were started."""
        for _ in range(times):
            report = self.daemon.tick(pick=pick, dry=dry)
            if wait:
                self.join()
        return report

    def settled(self, times: int = 1) -> TickReport:
        """Tick, let the runs end, tick again so that they settle."""
        for _ in range(times):
            self.tick()
            report = self.tick(pick=False)
        return report

    def join(self) -> None:
        """Wait for the threads of runs."""
        for thread in threading.enumerate():
            if thread.name.startswith("run "):
                thread.join(30)

    def card(self, card_id: str) -> Card:
        """The card as it is."""
        card = self.board.get(card_id)
        assert not isinstance(card, Absent)
        return card

    def until(self, name: str) -> None:
        """Wait in real time until a run made that file in the folder."""
        looking, end = threading.Event(), time.monotonic() + 60
        while not (self.folder / name).exists():
            assert time.monotonic() < end, f"{name} did not appear"
            looking.wait(0.01)

    def column(self, card_id: str) -> str | None:
        """Where it is."""
        return self.card(card_id).column

    def comments(self, card_id: str) -> tuple[Comment, ...]:
        """Its comments."""
        return self.board.comments(card_id)

    def view(self, card_id: str) -> CardView:
        """What the ledger shows of it."""
        key: Key = ("native", card_id)
        return self.wiring.ledger.views([key])[key]

    def reason(self, card_id: str) -> str:
        """Its idle reason's code, empty when it has none."""
        idle = self.view(card_id).idle
        return idle.code if idle else ""

    def run(self, card_id: str) -> RunRecord:
        """The record of its ``last_run``."""
        return self.wiring.store.runs.get(self.view(card_id).last_run)

    def runs(self) -> tuple[RunRecord, ...]:
        """Every run of the store."""
        return self.wiring.store.runs.list().records

    def events(self, card_id: str, kind: str) -> list[Event]:
        """The events of one type of the card's run."""
        return [event for event in self.wiring.store.timeline.events(self.run(card_id).id) if event.type == kind]

    def ledger(self) -> Snapshot:
        """Everything under way."""
        return self.wiring.ledger.snapshot()

    def resume(self, card_id: str, **values: Any) -> RunRecord:
        """A person resumes the card's run."""
        return self.wiring.engine.resume(ResumeRequest(self.view(card_id).last_run, **values))
