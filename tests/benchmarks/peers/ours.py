"""This engine through its own door, as the command line and the dispatcher use it: a loop over one node.

A step is a compute node. Where executions are counted from outside, the node runs the body of the other engines' steps
in place of an expression; everything around it is the same.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.api import Engine, EngineSettings, LaunchRequest, ResumeRequest
from engine.dsl.graph import NodeKind
from engine.nodes.base import NodeContext
from engine.outcome import Completed, Outcome
from engine.ports import RandomIds, SystemClock
from engine.states import RunStatus, is_ended
from engine.store.changes import RunFilter
from engine.store.database import Database
from engine.store.store import Store
from tests.benchmarks.peers.peer import SIDE, body

STEP = 'compute step:\n  expr:\n    i: "loop.laps.iteration"\n'
HUMAN = """
schema answer:
  value: int
human ask:
  output: answer
compute after:
  expr:
    i: "0"
workflow bench:
  entry: ask
  ask -> after -> done
"""
UNFINISHED = tuple(status for status in RunStatus if not is_ended(status))


def _body(context: NodeContext) -> Outcome:
    number = context.scope.loop["laps"]["iteration"]
    return Completed(dict(body(int(number))))


class Ours:
    """Pointsman with its defaults: WAL, ``synchronous=FULL``, one commit per node."""

    def __init__(self, folder: Path, store: str, *, again: bool) -> None:
        self._folder = folder
        self._database = Database.open(store or f"sqlite:///{folder / 'store' / 'pointsman.db'}")
        clock = SystemClock()
        self._store = Store(self._database, clock, folder / "store")
        nodes = {NodeKind.COMPUTE: _body} if SIDE in os.environ else {}
        settings = EngineSettings(force_stale_after=0.0, nodes=nodes)
        self._engine = Engine(self._store, settings, clock, RandomIds())

    def run(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        record = self._engine.launch(LaunchRequest(self._laps(steps), self._folder, run_id=run_id))
        assert record.status == RunStatus.FINISHED, record

    def recover(self, run_id: str, steps: int) -> None:
        """As the protocol says."""
        record = self._engine.resume(ResumeRequest(run_id, force_stale=True))
        assert record.status == RunStatus.FINISHED, record

    def unfinished(self) -> list[str]:
        """As the protocol says."""
        return [each.id for each in self._store.runs.list(RunFilter(UNFINISHED)).records]

    def pause(self, run_id: str) -> None:
        """As the protocol says."""
        record = self._engine.launch(LaunchRequest(self._written("human", HUMAN), self._folder, run_id=run_id))
        assert record.status == RunStatus.PAUSED_WAITING_HUMAN, record

    def answer(self, run_id: str, value: int) -> None:
        """As the protocol says."""
        record = self._engine.resume(ResumeRequest(run_id, answers={"value": value}))
        assert record.status == RunStatus.FINISHED, record

    def close(self) -> None:
        """As the protocol says."""
        self._database.close()

    def _laps(self, steps: int) -> Path:
        way = f"  step -> step as laps({steps - 1})\n" if steps > 1 else ""
        return self._written(f"laps-{steps}", f"{STEP}\nworkflow bench:\n  entry: step\n{way}  step -> done\n")

    def _written(self, name: str, text: str) -> Path:
        path = self._folder / f"{name}.bot"
        if not path.exists():
            path.write_text(text)
        return path
