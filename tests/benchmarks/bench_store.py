"""What the store costs over the bare driver: a boundary commit beside ``raw``, a run of five nodes, a command.

``python -m tests.benchmarks.bench_store`` prints JSON lines. Ours and raw take turns in the same minute; judge ratios
and differences, never milliseconds across runs. ``cpu`` rows leave the disk out (``synchronous=OFF``).
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from engine.capture import OutputPlace
from engine.checkpoint import Head, Spent
from engine.ports import SystemClock
from engine.process import CommandSpec, run
from engine.states import RunStatus
from engine.store.changes import Transition
from engine.store.database import Database
from engine.store.store import Store
from tests.benchmarks import raw
from tests.kit.runs import RUNNING, launched, step

STEPS, RUNS, COMMANDS, ROUNDS = 500, 40, 100, 5


def _store(folder: Path, synchronous: str) -> Store:
    database = Database.open(f"sqlite:///{folder}/pointsman.db", synchronous=synchronous)
    return Store(database, SystemClock(), folder)


def _seconds(work: Callable[[int], object], count: int) -> float:
    """Seconds of one call, on average."""
    began = time.perf_counter()
    for number in range(count):
        work(number)
    return (time.perf_counter() - began) / count


def _boundary(folder: Path, synchronous: str) -> float:
    """A boundary commit with one output, two events and a head."""
    store = _store(folder, synchronous)
    launched(store)
    writer = store.boundary("r1", 1)

    def work(number: int) -> None:
        head = Head("n", completed=True, loop_counters={"l": number}, spent=Spent(number, 10 * number, 0.1, 1000))
        writer.commit(head, step("n", {"number": number}))

    with store.database:
        return _seconds(work, STEPS)


def _run_of_five(folder: Path) -> float:
    """A launch and five nodes, the last of which carries the end: six commits."""
    store = _store(folder, "FULL")

    def work(number: int) -> None:
        run_id = launched(store, f"r{number}")
        writer = store.boundary(run_id, 1)
        for node in range(4):
            writer.commit(Head(f"n{node}", completed=True), step(f"n{node}"))
        writer.finish(Transition(RunStatus.FINISHED, RUNNING, head=Head("n4", completed=True), written=step("n4")))

    with store.database:
        return _seconds(work, RUNS)


def _command(folder: Path) -> tuple[float, float]:
    """A shell through ``engine.process``, and through ``subprocess`` alone."""
    environment = {"PATH": os.environ["PATH"]}
    argv = ("bash", "-c", "echo hi")
    spec = CommandSpec(argv, folder, environment, threading.Event(), OutputPlace(folder, "c"))
    clock = SystemClock()
    ours = _seconds(lambda _: run(spec, clock), COMMANDS)
    bare = _seconds(
        lambda _: subprocess.run(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
        ),
        COMMANDS,
    )
    return ours, bare


def measure(folder: Path) -> Iterator[dict[str, object]]:
    """One row for each kind of work, medians of the rounds."""
    found: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        places = {name: folder / f"{name}-{number}" for name in ("raw", "boundary", "cpu", "runs", "command")}
        for place in places.values():
            place.mkdir()
        ours, bare = _command(places["command"])
        seconds = {
            "raw_commit": raw.seconds_for(places["raw"], STEPS) / STEPS,
            "boundary_commit": _boundary(places["boundary"], "FULL"),
            "boundary_cpu": _boundary(places["cpu"], "OFF"),
            "run_of_5": _run_of_five(places["runs"]),
            "command": ours,
            "bare_command": bare,
        }
        for name, value in seconds.items():
            found.setdefault(name, []).append(1000 * value)
    for name, values in found.items():
        yield {"bench": name, "ms": median(values)}
    pairs = list(zip(found["boundary_commit"], found["raw_commit"], strict=True))
    yield {"bench": "boundary_commit/raw_commit", "ratio": median(ours / bare for ours, bare in pairs), "goal": 2.5}
    yield {"bench": "boundary_commit-raw_commit", "ms": median(ours - bare for ours, bare in pairs), "goal": 0.25}
    over = median(ours - bare for ours, bare in zip(found["command"], found["bare_command"], strict=True))
    yield {"bench": "command-bare_command", "ms": over, "goal": 1.0}


def main() -> None:
    """One JSON document per line."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for row in measure(Path(folder)):
            sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
