"""W3: a process is killed in the middle of a run; another one brings the run to its end. Seen from outside."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.peers.peer import SIDE, SLOW

STEP_SECONDS = 0.004
LONGEST = 120


def killed_half_way(
    command: Callable[[str], Sequence[str]], folder: Path, environment: dict[str, str], steps: int
) -> dict[str, float]:
    """Milliseconds from the start of the second process to its first step, and how steps were counted in the end.

    ``command`` gives the command line of ``W3`` and of ``W3again``.
    """
    side = folder / "side"
    watched = {**environment, SIDE: str(side), SLOW: str(STEP_SECONDS)}
    log = (folder / "log").open("wb")
    first = subprocess.Popen(command("W3"), env=watched, stdout=log, stderr=log)
    _wait_until(lambda: len(_lines(side)) >= steps // 2, first)
    first.kill()
    first.wait()
    before = len(_lines(side))
    began = time.time()
    subprocess.run(command("W3again"), env=watched, check=True, stdout=log, stderr=log, timeout=LONGEST)
    lines = _lines(side)
    counted = Counter(int(line.split()[0]) for line in lines)
    return {
        "to_first_step_ms": 1000 * (float(lines[before].split()[1]) - began),
        "to_end_ms": 1000 * (time.time() - began),
        "lost": sum(number not in counted for number in range(steps)),
        "repeated": sum(counted.values()) - len(counted),
    }


def _lines(side: Path) -> list[str]:
    return side.read_text().splitlines() if side.exists() else []


def _wait_until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    waiting = threading.Event()
    until = time.monotonic() + LONGEST
    while not true():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the run to be killed ended by itself: {process.args!r}")
        waiting.wait(0.001)
