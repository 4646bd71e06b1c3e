"""``python -m tests.simulation``: plays seeds, and tells a broken one's shortened history. Exit 1 when one broke."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from tests.simulation.play import BOARDS, NATIVE, folder_in_memory
from tests.simulation.playing import Verdict, arrive, play_seed, play_seeds, told

CHUNK = 5
SHARES = tuple(board for forge in BOARDS if forge != NATIVE for board in (NATIVE, forge))
"""Which boards are played in turn where all are: half of the seeds lie on the native one."""
MOST = 20
"""After so many broken seeds nothing more is begun."""


@dataclass
class Sum:
    """What was played."""

    seeds: int = 0
    ticks: int = 0


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="play this one again and print what happens")
    parser.add_argument("--seeds", type=int, default=1000, help="how many to play")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--board", default="all", choices=("all", *BOARDS), help="where the cards lie; all take turns")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--budget", type=float, default=0.0, help="stop after so many seconds; 0 plays all")
    return parser.parse_args(given)


def board_of(wanted: str, seed: int) -> str:
    """The board of a seed: the one that is wanted, or the one whose turn it is."""
    return SHARES[seed // CHUNK % len(SHARES)] if wanted == "all" else wanted


def main(given: list[str]) -> int:
    """Play, tell, and say how much was played in how long."""
    wanted = arguments(given)
    if wanted.seed is not None:
        verdict = play_seed(wanted.seed, board_of(wanted.board, wanted.seed), shorten=True)
        sys.stdout.write(told(verdict, whole=True))
        return 1 if verdict.law else 0
    began, done, broken = time.monotonic(), Sum(), list[Verdict]()
    last = wanted.first + wanted.seeds
    starts = iter(range(wanted.first, last, CHUNK))
    with folder_in_memory() as folder, ProcessPoolExecutor(wanted.jobs, initializer=arrive, initargs=(folder,)) as pool:

        def more(count: int) -> set[Future[list[Verdict]]]:
            over = wanted.budget and time.monotonic() - began > wanted.budget
            some = [] if over or len(broken) > MOST else islice(starts, count)
            return {
                pool.submit(play_seeds, start, min(start + CHUNK, last), board_of(wanted.board, start))
                for start in some
            }

        under_way = more(2 * wanted.jobs)
        while under_way:
            ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for verdict in (verdict for each in ended for verdict in each.result()):
                done.seeds, done.ticks = done.seeds + 1, done.ticks + verdict.ticks
                if verdict.law:
                    broken.append(verdict)
                    sys.stdout.write(told(verdict))
            under_way |= more(len(ended))
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"simulation: {done.seeds} seeds, {done.ticks} ticks in {seconds:.0f} s, {len(broken)} broke an invariant\n"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
