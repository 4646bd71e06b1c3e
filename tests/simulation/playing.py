"""Seeds played to a verdict, and how a broken one is told."""

from __future__ import annotations

import gc
import io
import os
from dataclasses import dataclass, field
from pathlib import Path

from dispatcher import log
from tests.simulation.history import History, history_of, shortened
from tests.simulation.play import NATIVE, VARIANTS, Parts, Play, Stage, stage
from tests.simulation.watch import Broken


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one seed ended: the law that it broke, if any, with its history and the lines of what happened."""

    seed: int
    ticks: int
    law: str = ""
    error: str = ""
    history: History | None = None
    lines: tuple[str, ...] = field(default=())
    met: tuple[str, ...] = ()
    """The faults that changes met, one word each."""


def judged(on: Stage, history: History, parts: Parts = Parts()) -> Verdict:
    """Play one history."""
    play = Play(on, history, parts)
    law = error = ""
    try:
        play.run()
    except Broken as broken:
        law, error = broken.law, str(broken)
    except Exception as failure:  # noqa: BLE001 - a tick that raises is a verdict as well
        law, error = f"no tick raises {type(failure).__name__}", repr(failure)
    return Verdict(history.seed, play.ticks, law, error, history, tuple(play.watch.line), play.ground.met())


def shortest(on: Stage, verdict: Verdict, parts: Parts = Parts()) -> Verdict:
    """The verdict of its shortened history."""
    assert verdict.history is not None
    short = shortened(verdict.history, lambda history: judged(on, history, parts).law == verdict.law)
    return judged(on, short, parts)


def play_seed(seed: int, board: str = NATIVE, *, shorten: bool = False) -> Verdict:
    """One seed on a stage of its own."""
    silent()
    with stage() as on:
        verdict = judged(on, history_of(seed, len(VARIANTS), board=board))
        return shortest(on, verdict) if verdict.law and shorten else verdict


_stages: list[Stage] = []
"""The one of this process, once ``arrive`` was called."""


def arrive(folder: Path) -> None:
    """A process of a pool begins: a stage of its own below ``folder``, and garbage is collected between seeds only."""
    silent()
    mine = folder / str(os.getpid())
    mine.mkdir()
    _stages[:] = [Stage(mine)]
    gc.collect()
    gc.freeze()
    gc.disable()


def play_seeds(first: int, last: int, board: str = NATIVE) -> list[Verdict]:
    """Seeds of a board from ``first`` up to ``last``, which is not played; only broken ones keep their history."""
    verdicts = []
    for seed in range(first, last):
        verdict = judged(_stages[0], history_of(seed, len(VARIANTS), board=board))
        if verdict.law:
            verdicts.append(shortest(_stages[0], verdict))
        else:
            verdicts.append(Verdict(seed, verdict.ticks))
    gc.collect()
    return verdicts


def silent() -> None:
    """No log: what happens is told by the history."""
    log.configure(level="critical", form="json", stream=io.StringIO())


def told(verdict: Verdict, *, whole: bool = False) -> str:
    """For people: what broke, how short its history is, how to play it again, and what happens in it."""
    if not verdict.law:
        return f"seed {verdict.seed}: {verdict.ticks} ticks, every invariant holds\n"
    steps, board = (len(verdict.history.steps), verdict.history.board) if verdict.history else (0, NATIVE)
    lines = verdict.lines if whole or len(verdict.lines) < 120 else (*verdict.lines[:40], "    …", *verdict.lines[-60:])
    body = "\n".join(lines)
    return (
        f"seed {verdict.seed} broke an invariant: {verdict.error}\n"
        f"shortened to {steps} steps; again: python -m tests.simulation --board {board} --seed {verdict.seed}\n"
        f"{body}\n\n"
    )
