"""An engine over a real store in a folder, and the words that tests use for it: write a bot, run it, resume it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.api import Engine, EngineSettings, LaunchRequest, ResumeRequest
from engine.checkpoint import Head
from engine.documents import run_document
from engine.dsl.graph import NodeKind
from engine.events import Event
from engine.nodes.base import NodeContext
from engine.outcome import Outcome
from engine.ports import Clock, SystemClock
from engine.run import BudgetAsk, RunRecord
from engine.store.store import Store
from tests.kit.ids import CountingIds

PATH = "/usr/local/bin:/usr/bin:/bin"


class Rig:
    """An engine with a workspace. ``ids`` count, so that made-up run ids are known."""

    def __init__(self, store: Store, clock: Clock, folder: Path, **settings: Any) -> None:
        self.store, self.clock, self.folder = store, clock, folder
        self.workspace = folder / "work"
        self.workspace.mkdir(exist_ok=True)
        environment = {"PATH": PATH, **settings.pop("environment", {})}
        self.engine = Engine(store, EngineSettings(environment=environment, **settings), clock, CountingIds())

    def other(self, **settings: Any) -> Rig:
        """Another engine over the same store and folder."""
        return Rig(self.store, self.clock, self.folder, **settings)

    def bot(self, text: str, name: str = "main.bot") -> Path:
        """Write a workflow file."""
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, text: str, run_id: str = "r1", **values: Any) -> RunRecord:
        """Write the workflow and execute it."""
        ask = BudgetAsk(**values.pop("ask", {}))
        return self.engine.launch(LaunchRequest(self.bot(text), self.workspace, run_id=run_id, ask=ask, **values))

    def resume(self, run_id: str = "r1", **values: Any) -> RunRecord:
        """Execute the next attempt."""
        ask = BudgetAsk(**values.pop("ask", {}))
        return self.engine.resume(ResumeRequest(run_id, ask=ask, **values))

    def document(self, run_id: str = "r1") -> Any:
        """The run document."""
        return run_document(self.engine.inspect(run_id))

    def outputs(self, run_id: str = "r1") -> Mapping[str, Any]:
        """The outputs by node."""
        return self.engine.inspect(run_id).outputs

    def head(self, run_id: str = "r1") -> Head:
        """The stored head."""
        head = self.store.checkpoints.head(run_id)
        assert head is not None
        return head

    def events(self, kind: str = "", run_id: str = "r1") -> list[Event]:
        """The timeline, or the events of one type."""
        return [event for event in self.store.timeline.events(run_id) if not kind or event.type == kind]

    def kinds(self, run_id: str = "r1") -> list[str]:
        """The types of the timeline, in order."""
        return [event.type for event in self.events(run_id=run_id)]

    def trace(self, name: str = "trace") -> list[str]:
        """The lines that tools wrote into a file of the workspace."""
        path = self.workspace / name
        return path.read_text().splitlines() if path.exists() else []

    def write(self, name: str, text: str = "") -> None:
        """A file in the workspace."""
        (self.workspace / name).write_text(text)


class Script:
    """A node function that gives the scripted outcomes in turn, raising those that are exceptions."""

    def __init__(self, *outcomes: Outcome | BaseException, then: Callable[[NodeContext], None] | None = None) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0
        self.then = then

    def __call__(self, context: NodeContext) -> Outcome:
        """The next outcome; the last one again when they are used up."""
        outcome = self.outcomes[min(self.calls, len(self.outcomes) - 1)]
        self.calls += 1
        if self.then:
            self.then(context)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def real_rig(store: Store, folder: Path, **settings: Any) -> Rig:
    """A rig on the machine's own clock, for what real processes take their time for."""
    return Rig(store, SystemClock(), folder, **settings)


def scripted(script: Script, *kinds: NodeKind) -> dict[str, Any]:
    """Settings under which ``script`` executes these kinds of nodes (computes by default)."""
    return {"nodes": dict.fromkeys(kinds or (NodeKind.COMPUTE,), script)}
