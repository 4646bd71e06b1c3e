"""The simulation over the boards of forges in the suite: seeds hold, known faults are found, a seed plays the same.

More of it: ``python -m tests.simulation --board github --seeds 1000``. Of the field cases it plays F26, F28, F37, F38
and F40 over and over: labels and answers that are late or lost, people between two of our calls, kills anywhere.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.simulation.forge import FORGES
from tests.simulation.forge_mutants import FORGE_MUTANTS, ForgeMutant
from tests.simulation.history import history_of, shortened
from tests.simulation.play import VARIANTS, Stage, stage
from tests.simulation.playing import judged, shortest, silent, told
from tests.simulation.weather import LOST

FIRST, SECONDS, LEAST = 40_000, 2.5, 3
"""The suite's own seeds per forge: what fits into the seconds, and never fewer than the least."""


@pytest.fixture(scope="module")
def on() -> Iterator[Stage]:
    silent()
    with stage() as made:
        yield made


@pytest.mark.parametrize("board", FORGES)
def test_nothing_is_twice_and_nothing_stays_in_doubt_whatever_the_forge_does(on: Stage, board: str) -> None:
    """C025 C026 C044 C051 F37: answers of changes were lost, and no comment, issue or pull request is there twice."""
    began, seed, faults = time.monotonic(), FIRST, Counter[str]()
    while seed < FIRST + LEAST or time.monotonic() - began < SECONDS:
        history = history_of(seed, len(VARIANTS), board=board)
        verdict = judged(on, history)
        if verdict.law:
            pytest.fail(told(shortest(on, verdict)))
        faults.update(verdict.met)
        seed += 1
    assert sum(faults[fault] for fault in LOST) > 0, faults


@pytest.mark.parametrize("mutant", FORGE_MUTANTS.values(), ids=list(FORGE_MUTANTS))
def test_a_known_fault_on_the_way_to_a_forge_is_found(on: Stage, mutant: ForgeMutant) -> None:
    parts = mutant.parts()
    seeds = range(mutant.first, mutant.first + 60)
    histories = (history_of(seed, len(VARIANTS), board=mutant.board) for seed in seeds)
    assert any(judged(on, history, parts).law in mutant.laws for history in histories)


def test_a_broken_seed_of_a_forge_is_made_short_and_plays_the_same_again(on: Stage) -> None:
    mutant = FORGE_MUTANTS["the status comment is posted anew"]
    history = history_of(mutant.first, len(VARIANTS), board=mutant.board)
    broken = judged(on, history, mutant.parts())
    assert broken.law in mutant.laws
    assert broken.history is not None
    short = shortened(broken.history, lambda tried: judged(on, tried, mutant.parts()).law == broken.law, tries=6)
    again = judged(on, short, mutant.parts())
    assert again.law == broken.law
    assert len(short.steps) < len(history.steps)
    assert f"--board {mutant.board} --seed {mutant.first}" in told(again)
    assert judged(on, short, mutant.parts()).lines == again.lines


ONCE_BROKEN = {
    10438: ("github", "a claim that reads did not show for long was written again with each tick"),
    200498: ("github", "the law took the dispatcher's old label for the last move of a person who reopened the card"),
    720259: ("gitlab", "a label that a late read did not show beside a person's was left"),
    720837: ("forgejo", "a clock that stepped back made an old row of a call the newest, and the call was made again"),
    720626: ("forgejo", "a claim that a late read did not show was forgotten"),
}
"""Seeds that broke a law before the fault that they found was repaired."""


@pytest.mark.parametrize("seed", ONCE_BROKEN)
def test_a_seed_that_broke_a_law_once_holds(on: Stage, seed: int) -> None:
    board, _ = ONCE_BROKEN[seed]
    verdict = judged(on, history_of(seed, len(VARIANTS), board=board))
    assert verdict.law == "", told(verdict)
