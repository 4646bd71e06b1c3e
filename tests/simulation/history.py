"""Histories: what happens in which tick, made from a seed, and made shorter while they still break the same law.

A step holds numbers only, and each deed draws its choices from its own number, so that a history without some of its
steps is a history as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

TICKS = 200
"""Ticks of a history, before it comes to rest."""
GAPS = (0.1, 1.0, 1.0, 5.0, 5.0, 5.0, 20.0, 20.0, 60.0, 200.0, 700.0, 4000.0)
"""Seconds between two ticks."""
WIDEST = 48
"""A deed is planned for one of so many seams of a tick."""


@dataclass(frozen=True, slots=True)
class Happening:
    """At seam ``at`` (or before the tick, -1) somebody does ``what``; ``number`` says how."""

    at: int
    what: str
    number: int


@dataclass(frozen=True, slots=True)
class Step:
    """So many seconds later, this daemon ticks; meanwhile these things happen."""

    gap: float
    daemon: int
    happenings: tuple[Happening, ...] = ()

    def told(self) -> str:
        """For people."""
        told = [f"{each.what}({each.number})@{each.at}" for each in self.happenings]
        return f"+{self.gap:g} s, daemon {self.daemon}" + (f": {', '.join(told)}" if told else "")


@dataclass(frozen=True, slots=True)
class History:
    """A seed, which configuration it runs under, and its steps."""

    seed: int
    variant: int
    steps: tuple[Step, ...]
    board: str = "native"


WHAT: tuple[tuple[int, str], ...] = (
    (34, "person"),
    (14, "crash"),
    (10, "refuse"),
    (12, "board"),
    (8, "other"),
    (8, "threads"),
    (6, "pass"),
    (4, "step"),
    (3, "freeze"),
    (2, "suspend"),
    (2, "partial"),
)
"""What happens how often, where something does."""
ON_FORGES: tuple[tuple[int, str], ...] = (
    (30, "person"),
    (14, "crash"),
    (4, "refuse"),
    (30, "board"),
    (8, "other"),
    (6, "threads"),
    (6, "pass"),
    (2, "step"),
    (3, "freeze"),
    (1, "suspend"),
    (4, "partial"),
)
"""The same for the board of a forge, whose every request is a seam."""
TICKS_ON_FORGES = 32
GAPS_ON_FORGES = (0.1, 1.0, 5.0, 5.0, 20.0, 20.0, 60.0, 60.0, 200.0, 700.0)
BEFORE = frozenset({"suspend", "partial"})
"""What happens between ticks only."""


def history_of(seed: int, variants: int, ticks: int = 0, board: str = "native") -> History:
    """The history of a seed on one kind of board; ``ticks`` 0 means as many as are usual there."""
    native = board == "native"
    random, what = (Random(seed), WHAT) if native else (Random(f"{board} {seed}"), ON_FORGES)
    variant = random.randrange(variants)
    calm, gaps = random.choice((0.1, 0.3, 0.5) if native else (0.3, 0.5, 0.7)), GAPS if native else GAPS_ON_FORGES
    two = variant == variants - 1 or random.random() < 0.1
    steps = []
    for _ in range(ticks or (TICKS if native else TICKS_ON_FORGES)):
        happenings = tuple(_happening(random, what) for _ in range(2) if random.random() < calm)
        steps.append(Step(random.choice(gaps), int(two and random.random() < 0.4), happenings))
    return History(seed, variant, tuple(steps), board)


def _happening(random: Random, kinds: tuple[tuple[int, str], ...]) -> Happening:
    what = random.choices([each for _, each in kinds], [weight for weight, _ in kinds])[0]
    at = -1 if what in BEFORE or random.random() < 0.3 else random.randrange(WIDEST)
    return Happening(at, what, random.getrandbits(31))


def shortened(history: History, breaks: Callable[[History], bool], tries: int = 150) -> History:
    """The history with all taken away that is not needed to break the law; at most so many tries."""
    left = [tries]

    def still(steps: Sequence[Step]) -> bool:
        left[0] -= 1
        return left[0] >= 0 and breaks(replace(history, steps=tuple(steps)))

    steps = _fewer(list(history.steps), still)
    for index in range(len(steps)):
        for fewer in _quieter(steps[index]):
            changed = [*steps[:index], fewer, *steps[index + 1 :]]
            if still(changed):
                steps = changed
    return replace(history, steps=tuple(steps))


def _fewer(steps: list[Step], still: Callable[[Sequence[Step]], bool]) -> list[Step]:
    size = max(1, len(steps) // 2)
    while size:
        at = 0
        while at < len(steps):
            without = [*steps[:at], *steps[at + size :]]
            if without and still(without):
                steps = without
            else:
                at += size
        size //= 2
    return steps


def _quieter(step: Step) -> Iterator[Step]:
    if step.happenings:
        yield replace(step, happenings=())
    for each in step.happenings:
        yield replace(step, happenings=tuple(other for other in step.happenings if other is not each))
    if step.gap > 1.0:
        yield replace(step, gap=1.0)
    if step.daemon:
        yield replace(step, daemon=0)
