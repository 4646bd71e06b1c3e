"""How soon a run that waits takes up an answer that another process gives (a question that does not stop its run).

One process executes a run whose node asks and whose next node waits for the answer; a second process answers through
the engine's own door. Measured from the end of the answering commit to the start of the node behind the waiting one.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from engine.api import AnswerRequest, Engine, EngineSettings, LaunchRequest
from engine.dsl.graph import NodeKind
from engine.nodes.base import NodeContext
from engine.outcome import ASYNC, Completed, Outcome, Question
from engine.ports import RandomIds, SystemClock
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store
from tests.kit.runs import ROOT

WAITING = """
tool ask:
  command: `true`
await_answers later:
  from: ask
  timeout: "1m"
compute after:
  expr:
    i: "0"
workflow bench:
  entry: ask
  ask -> later -> after -> done
"""
RUNS = 11


def engine_over(folder: Path, ask: threading.Event | None = None) -> Engine:
    """An engine over the store of the folder; its tools ask, and say so."""

    def asking(context: NodeContext) -> Outcome:
        context.ask(Question(ASYNC, {"question": "go on?"}))
        if ask is not None:
            ask.set()
        return Completed({})

    database = Database.open(f"sqlite:///{folder / 'pointsman.db'}")
    settings, clock = EngineSettings(nodes={NodeKind.TOOL: asking}), SystemClock()
    return Engine(Store(database, clock, folder), settings, clock, RandomIds())


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """One row: the median and the worst of the runs."""
    source = folder / "waiting.bot"
    source.write_text(WAITING)
    taken = [_one(folder, source, f"run-{number}") for number in range(RUNS)]
    yield {"bench": "answer_of_another_process", "ms": 1000 * median(taken), "worst_ms": 1000 * max(taken), "goal": 100}


def _one(folder: Path, source: Path, run_id: str) -> float:
    """Seconds from the answer to the node behind the waiting one."""
    asked = threading.Event()
    engine = engine_over(folder, asked)
    seen: dict[str, float] = {}

    def progress(node: str, _elapsed: float, _cost: float) -> None:
        seen.setdefault(node, time.time())

    request = LaunchRequest(source, folder, run_id=run_id, progress=progress)
    work = threading.Thread(target=engine.launch, args=(request,))
    work.start()
    assert asked.wait(30), "the run never asked"
    command = [sys.executable, "-m", "tests.benchmarks.answering", str(folder), run_id]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    work.join()
    assert engine.inspect(run_id).record.status == RunStatus.FINISHED
    engine.store.database.close()
    return seen["after"] - float(said)


def main(folder: Path, run_id: str) -> None:
    """The second process: answer, and print when that was done."""
    engine = engine_over(folder)
    engine.answer(AnswerRequest(run_id, texts={"answer": "yes"}))
    sys.stdout.write(f"{time.time()}\n")
    engine.store.database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
