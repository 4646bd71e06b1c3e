"""``python -m tests.benchmarks.peers [--work W1 ...] [--peer ours ...] [--repeat 3] [--venvs DIR] [--postgres]``.

Engines take turns within each repeat, so that all of them meet the same moods of the machine. Printed is one JSON
object a line: the medians of each engine, then for each figure the median of the ratios taken repeat by repeat, the
ratio of the quickest repeats, and what this project aims at. Judge ratios; milliseconds say something about one machine
only. On a machine with other work, take many short repeats and look at the quickest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.peers.killing import killed_half_way
from tests.benchmarks.peers.venvs import python_of, versions
from tests.benchmarks.peers.works import PEERS
from tests.kit.postgres import Server, running
from tests.kit.runs import ROOT

SIZES: Mapping[str, int] = {"W1": 100, "W2": 200, "W3": 60, "W4": 10_000, "W5": 1_000}
OURS = "ours"


@dataclass(frozen=True)
class Aim:
    """A figure of ours, or its ratio to another's: ours over theirs where ``at_most`` is wanted, else how many times
    faster we are."""

    work: str
    figure: str
    beside: str
    at_most: float = 0.0
    at_least: float = 0.0

    @property
    def name(self) -> str:
        """As it is printed."""
        beside = f": times faster than {self.beside}" if self.at_least else f": times {self.beside}"
        return f"{self.work} {self.figure}{beside if self.beside else ''}"

    def of(self, ours: Sequence[float], others: Sequence[float]) -> float:
        """The median of the ratios, repeat by repeat."""
        return median(b / a if self.at_least else a / b for a, b in zip(ours, others, strict=True))


AIMS = (
    Aim("W1", "step_ms", "raw", at_most=2.5),
    Aim("W1", "step_ms", "dbos_wal", at_least=1.9),
    Aim("W1", "step_ms", "dbos", at_least=2.4),
    Aim("W1", "step_ms", "langgraph", at_least=1.7),
    Aim("W2", "run_ms", "dbos_wal", at_least=1.9),
    Aim("W3", "to_first_step_ms", "", at_most=500),
    Aim("W4", "full_over_empty", "", at_most=1.1),
    Aim("W4", "unfinished_ms_full", "", at_most=2),
    Aim("W5", "round_trip_ms", "raw", at_most=4),
)
"""Beside nobody, the figure itself is meant."""
AIMS_ON_POSTGRES = (Aim("W1", "step_ms", "", at_most=1.7),)

Taken = dict[tuple[str, str], list[dict[str, float]]]
"""Work and engine -> what each repeat gave."""


@dataclass(frozen=True)
class Bench:
    """Where engines live, and the server when they are to work on PostgreSQL."""

    venvs: Path
    server: Server | None

    def take(self, peer: str, work: str, size: int) -> dict[str, float]:
        """One repeat in a fresh process on a fresh store."""
        with tempfile.TemporaryDirectory(prefix=f"{peer}-") as name:
            folder = Path(name)
            store = self._store(peer) if self.server else ""
            python = str(python_of(peer, self.venvs))

            def command(what: str) -> Sequence[str]:
                return [python, "-m", "tests.benchmarks.peers.works", peer, what, name, store, str(size)]

            environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
            if work == "W3":
                return killed_half_way(command, folder, environment, size)
            done = subprocess.run(command(work), env=environment, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{peer} cannot do {work}:\n{done.stderr[-2000:]}")
            found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            return found

    def _store(self, peer: str) -> str:
        assert self.server is not None
        return self.server.fresh() if peer == OURS else self.server.empty()


def rows(taken: Taken, aims: Sequence[Aim]) -> Iterator[dict[str, object]]:
    """The medians, then the ratios."""
    for (work, peer), repeats in taken.items():
        figures = {name: median(each[name] for each in repeats) for name in repeats[0]}
        yield {"work": work, "engine": peer, "repeats": len(repeats), **figures}
    for aim in aims:
        mine, other = taken.get((aim.work, OURS)), taken.get((aim.work, aim.beside))
        if mine is None or (aim.beside and other is None):
            continue
        values = [each[aim.figure] for each in mine]
        beside = [each[aim.figure] for each in other] if aim.beside and other is not None else [1.0] * len(values)
        found, quickest = aim.of(values, beside), aim.of([min(values)], [min(beside)])
        good = found >= aim.at_least if aim.at_least else found <= aim.at_most
        yield {
            "aim": aim.name,
            "found": found,
            "of_the_quickest": quickest,
            "wanted": aim.at_least or aim.at_most,
            "met": good,
        }


def main() -> int:
    """Measure and print."""
    asked = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    asked.add_argument("--work", nargs="+", choices=SIZES, default=["W1", "W2", "W3", "W5"])
    asked.add_argument("--peer", nargs="+", choices=PEERS, default=list(PEERS))
    asked.add_argument("--repeat", type=int, default=3)
    asked.add_argument("--size", type=int, default=0, help="in place of the usual number of steps, runs or pauses")
    asked.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "bench-peers")
    asked.add_argument("--postgres", action="store_true", help="a PostgreSQL server, started here, in place of SQLite")
    given = asked.parse_args()
    peers = [each for each in given.peer if not (given.postgres and each in ("raw", "dbos_wal"))]
    taken: Taken = {}
    with running(durable=True) if given.postgres else nullcontext() as server:
        bench = Bench(given.venvs, server)
        _print({"engines": sorted({versions(each, given.venvs) for each in peers}), "cores": os.cpu_count()})
        for work in given.work:
            for _ in range(given.repeat):
                for peer in peers:
                    taken.setdefault((work, peer), []).append(bench.take(peer, work, given.size or SIZES[work]))
    for row in rows(taken, AIMS_ON_POSTGRES if given.postgres else AIMS):
        _print(row)
    return 0


def _print(row: Mapping[str, object]) -> None:
    shown = {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
    sys.stdout.write(json.dumps(shown) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
