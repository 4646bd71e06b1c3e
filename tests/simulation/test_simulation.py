"""The simulation in the suite: some hundred seeds hold, a seed plays the same each time, and known faults are found.

More of it: ``python -m tests.simulation --seeds 10000``. Of the field cases it plays F05, F15, F17, F18, F47, F48 and
F50 over and over: crashes between any two steps, refused commits, two dispatchers, people in between, clocks that step
and machines that sleep.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.history import History, Step, history_of, shortened
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.play import VARIANTS, Stage, stage
from tests.simulation.playing import Verdict, judged, shortest, silent, told

ROOT = Path(__file__).parents[2]
FIRST, SLICES, SECONDS = 20_000, 4, 5.0
"""The suite's own seeds, in so many tests; each plays what fits into its seconds, and never fewer than the least."""
LEAST = 8
ONCE_BROKEN = (
    *(41, 60, 335, 341, 1037, 1293, 1385, 1389, 1466, 1552, 1659, 1695),
    *(30847, 31120, 31422, 31490, 31653, 31713, 32179, 32592, 33151, 34142, 34393, 35657, 403320, 701057),
)
"""Seeds that broke an invariant before the fault that they found was repaired."""


@pytest.fixture(scope="module")
def on() -> Iterator[Stage]:
    silent()
    with stage() as made:
        yield made


def held(on: Stage, seed: int) -> Verdict:
    verdict = judged(on, history_of(seed, len(VARIANTS)))
    if verdict.law:
        pytest.fail(told(shortest(on, verdict)))
    return verdict


def said(code: str, hashes: str) -> str:
    """What a process with that seed of hashes prints."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("piece", range(SLICES))
def test_every_invariant_holds_whatever_happens_in_between(on: Stage, piece: int) -> None:
    """D071, D092, F47."""
    began, played = time.monotonic(), 0
    while played < LEAST or time.monotonic() - began < SECONDS:
        verdict = held(on, FIRST + 1000 * piece + played)
        assert verdict.ticks >= 150
        played += 1


@pytest.mark.parametrize("part", range(3))
def test_the_seeds_that_found_a_fault_hold_now(on: Stage, part: int) -> None:
    for seed in ONCE_BROKEN[part::3]:
        held(on, seed)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_a_known_fault_is_found_and_its_history_made_short(on: Stage, mutant: Mutant) -> None:
    broken = next(
        verdict
        for seed in range(60)
        if (verdict := judged(on, history_of(seed, len(VARIANTS), ticks=80), mutant.parts)).law in mutant.laws
    )
    short = shortest(on, broken, mutant.parts)
    assert short.law == broken.law
    assert short.history is not None
    assert len(short.history.steps) <= 25
    assert f"--seed {broken.seed}" in told(short)
    assert judged(on, short.history, mutant.parts).lines == short.lines


def test_a_seed_plays_the_same_in_every_process() -> None:
    code = (
        "from tests.simulation.playing import *; from hashlib import sha256; silent()\n"
        "with stage() as on:\n"
        "    for board, seed in ((NATIVE, 7), ('github', 8)):\n"
        "        verdict = judged(on, history_of(seed, 4, board=board))\n"
        "        print(verdict.ticks, sha256(repr((verdict.lines, verdict.met)).encode()).hexdigest())"
    )
    processes = [said(code, number) for number in ("1", "2")]
    assert processes[0] == processes[1]
    assert len(processes[0].split()) == 4


def test_a_history_is_made_short_without_losing_what_breaks_it() -> None:
    history = history_of(3, len(VARIANTS))
    wanted = {id(step) for step in history.steps[50:150:50]}
    keeps = [step for step in history.steps if id(step) in wanted]

    def breaks(tried: History) -> bool:
        return all(any(step.gap == kept.gap and same(step, kept) for step in tried.steps) for kept in keeps)

    def same(step: Step, kept: Step) -> bool:
        return step.happenings == kept.happenings and step.daemon == kept.daemon

    short = shortened(history, breaks)
    assert breaks(short)
    assert len(short.steps) <= 4
    assert replace(history, steps=short.steps) == short


def test_what_is_told_of_a_broken_seed_says_how_to_play_it_again() -> None:
    lines = tuple(f"line {number}" for number in range(300))
    verdict = Verdict(12, 200, "a law", "a law: broken", history_of(12, len(VARIANTS), ticks=3), lines)
    text = told(verdict)
    assert "python -m tests.simulation --board native --seed 12" in text
    assert "shortened to 3 steps" in text
    assert len(text.splitlines()) < 120
    assert len(told(verdict, whole=True).splitlines()) > 300
