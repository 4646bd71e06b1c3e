"""Run as a process of its own, by the Python of the engine that is measured: one piece of work, one JSON object.

``python -m tests.benchmarks.peers.works PEER WORK FOLDER STORE SIZE``; ``STORE`` is empty for SQLite in the folder.

W1 sequential steps in one run. W2 runs of five steps, one after the other. W3 a run for somebody else to kill, and its
recovery. W4 a step and the list of what is unfinished, with no run in the store and with many. W5 runs that stop for a
person, all at once, then answered one by one.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median

from tests.benchmarks.peers.peer import Peer

PEERS: Mapping[str, tuple[str, str]] = {
    "raw": ("raw", "Raw"),
    "ours": ("ours", "Ours"),
    "dbos": ("dbos", "Dbos"),
    "dbos_wal": ("dbos", "DbosInWal"),
    "langgraph": ("langgraph", "LangGraph"),
}
"""Name -> module and class."""
WARM, OF_A_RUN, MEASURED, STEPS = 10, 5, 3, 100
PAGE = 4096


def opened(peer: str, folder: Path, store: str, *, again: bool = False) -> Peer:
    """The engine over its store."""
    module, name = PEERS[peer]
    made: Peer = getattr(import_module(f"tests.benchmarks.peers.{module}"), name)(folder, store, again=again)
    return made


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def w1(peer: Peer, size: int) -> dict[str, float]:
    """Sequential steps, and what they leave on disk."""
    peer.run("warm", WARM)
    return {"step_ms": timed(lambda: peer.run("measured", size)) / size}


def w2(peer: Peer, size: int) -> dict[str, float]:
    """Whole runs."""
    peer.run("warm", OF_A_RUN)
    spent = sum(timed(partial(peer.run, f"run-{number}", OF_A_RUN)) for number in range(size))
    return {"run_ms": spent / size, "runs_per_second": 1000 * size / spent}


def w4(peer: Peer, size: int) -> dict[str, float]:
    """The same work in an empty store and in one with ``size`` finished runs, ten unfinished among them."""
    peer.run("warm", WARM)
    before, listed_before = _step(peer, "empty"), _listing(peer)
    for number in range(size):
        peer.run(f"filler-{number}", 2)
    for number in range(10):
        peer.pause(f"open-{number}")
    after, listed = _step(peer, "full"), _listing(peer)
    found = {"step_ms_empty": before, "step_ms_full": after, "full_over_empty": after / before}
    return found | {"unfinished_ms_empty": listed_before, "unfinished_ms_full": listed}


def _step(peer: Peer, name: str) -> float:
    return median(timed(partial(peer.run, f"{name}-{number}", STEPS)) / STEPS for number in range(MEASURED))


def _listing(peer: Peer) -> float:
    return median(timed(peer.unfinished) for _ in range(MEASURED))


def w5(peer: Peer, size: int) -> dict[str, float]:
    """Pause all, then answer each; what waiting costs besides."""
    peer.pause("warm")
    peer.answer("warm", 1)
    memory, threads = _resident(), threading.active_count()
    paused = [timed(partial(peer.pause, f"run-{number}")) for number in range(size)]
    grown = {"mb_while_waiting": _resident() - memory, "threads_while_waiting": threading.active_count() - threads}
    answered = [timed(partial(peer.answer, f"run-{number}", number)) for number in range(size)]
    total = (sum(paused) + sum(answered)) / size
    return {"round_trip_ms": total, "pause_ms": median(paused), "answer_ms": median(answered), **grown}


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


WORKS: Mapping[str, Callable[[Peer, int], dict[str, float]]] = {"W1": w1, "W2": w2, "W4": w4, "W5": w5}


def main(peer: str, work: str, folder: Path, store: str, size: int) -> None:
    """Do it, and say how long it took. ``W3`` and ``W3again`` are the two halves of a run that is killed."""
    opening = time.perf_counter()
    made = opened(peer, folder, store, again=work == "W3again")
    found: dict[str, float] = {"open_ms": 1000 * (time.perf_counter() - opening)}
    if work == "W3":
        made.run("killed", size)
    elif work == "W3again":
        made.recover("killed", size)
    else:
        found |= WORKS[work](made, size)
    made.close()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
