"""What a budget allows: pure decisions over caps and consumption.

Called by ``step`` before a node, by ``loop`` after a router, by ``resume`` for the pre-flight and by ``loops`` for the
price of one more pass. Nothing here waits, writes or reads a clock. Implements engine.md 10 and language.md 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from engine.checkpoint import Spent
from engine.dsl.graph import Budget
from engine.run import BudgetAsk

WARN_AT = 0.8
REFUSE_AT = 0.9
NANO = 1_000_000_000


class Axis(StrEnum):
    """The axes, in the order in which they are checked."""

    ITERATIONS = "iterations"
    TOKENS = "tokens"
    COST = "cost_usd"
    DURATION = "duration"


FLAGS = {
    Axis.ITERATIONS: "--max-iterations",
    Axis.TOKENS: "--max-tokens",
    Axis.COST: "--max-cost-usd",
    Axis.DURATION: "--max-duration",
}
"""axis -> the flag that raises its cap."""

WHOLE = frozenset([Axis.ITERATIONS, Axis.TOKENS])
"""Axes whose flag takes whole numbers only."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Caps in force; 0 is unlimited, ``duration`` in seconds of active time."""

    iterations: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    duration: float = 0.0
    warn_tokens: int = 0
    parallel_branches: int = 8
    pause_on_exceeded: bool = False

    @property
    def limited(self) -> bool:
        """Whether any axis has a cap."""
        return bool(self.iterations or self.tokens or self.cost_usd or self.duration)

    @classmethod
    def of(cls, budget: Budget, ask: BudgetAsk, duration: float) -> Caps:
        """The workflow's budget with the stored ask over it; ``duration`` is the workflow's, read at launch."""
        return cls(
            ask.max_iterations or budget.max_iterations,
            ask.max_tokens or budget.max_tokens,
            ask.max_cost_usd or budget.max_cost_usd,
            ask.max_duration or duration,
            budget.warn_tokens,
            ask.max_parallel_branches or budget.max_parallel_branches or 8,
            budget.pause_on_exceeded,
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """One capped axis: what is used and what the cap is, in the axis' own unit."""

    axis: Axis
    used: float
    limit: float

    @property
    def ratio(self) -> float:
        """Consumption as a part of the cap."""
        return self.used / self.limit

    def sentence(self) -> str:
        """Axis, consumption and cap, for people."""
        return f"{self.axis} budget: {_number(self.used)} of {_number(self.limit)} used"


@dataclass(frozen=True, slots=True)
class Refused:
    """The budget says no. ``hard_limit`` marks the band from 90 to 99 percent, which has no grace."""

    reading: Reading
    hard_limit: bool

    @property
    def message(self) -> str:
        """What was found, and what would change it."""
        axis, bound = self.reading.axis, self.reading.used / REFUSE_AT
        above = f"{math.floor(bound)}" if axis in WHOLE else _number(bound)
        unit = "s" if axis is Axis.DURATION else ""
        return f"{self.reading.sentence()}; resume with {FLAGS[axis]} above {above}{unit} to go on"


@dataclass(frozen=True, slots=True)
class Grace:
    """The run may walk out although these axes are at their cap (engine.md 10.3); empty when nothing is."""

    axes: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class GracePolicy:
    """Whether an overrun may walk out: the ratio beyond the cap, 0 when no grace is allowed here."""

    ratio: float = 0.0


def _number(value: float) -> str:
    return f"{value:g}" if value < 1e6 else f"{value:.0f}"


def readings(spent: Spent, caps: Caps) -> Iterator[Reading]:
    """The capped axes in their order."""
    if caps.iterations:
        yield Reading(Axis.ITERATIONS, spent.iterations, caps.iterations)
    if caps.tokens:
        yield Reading(Axis.TOKENS, spent.tokens, caps.tokens)
    if caps.cost_usd:
        yield Reading(Axis.COST, spent.cost_usd, caps.cost_usd)
    if caps.duration:
        yield Reading(Axis.DURATION, spent.elapsed_ns / NANO, caps.duration)


def before_node(spent: Spent, caps: Caps, grace: GracePolicy) -> Grace | Refused:
    """May one more node start? From 90 percent on it may not, unless the cap is passed and grace is allowed."""
    return _judge(tuple(readings(spent, caps)), grace, REFUSE_AT)


def after_router(spent: Spent, caps: Caps, grace: GracePolicy) -> Grace | Refused:
    """After a router only a cap that is reached counts; the band below it is looked at before the next node."""
    return _judge(tuple(readings(spent, caps)), grace, 1.0)


def _judge(found: tuple[Reading, ...], grace: GracePolicy, threshold: float) -> Grace | Refused:
    walks_out = bool(grace.ratio) and all(reading.ratio < 1.0 + grace.ratio for reading in found)
    over: list[Reading] = []
    for reading in found:
        if reading.ratio >= 1.0:
            if not walks_out:
                return Refused(reading, hard_limit=False)
            over.append(reading)
        elif reading.ratio >= threshold:
            return Refused(reading, hard_limit=True)
    return Grace(tuple(over))


def to_warn(spent: Spent, caps: Caps, warned: tuple[str, ...]) -> tuple[Reading, ...]:
    """Axes that reached 80 percent and were not warned about yet."""
    return tuple(r for r in readings(spent, caps) if r.ratio >= WARN_AT and r.axis not in warned)


def still_warned(spent: Spent, caps: Caps, warned: tuple[str, ...]) -> tuple[str, ...]:
    """Warnings that a raise of the caps has not armed again (engine.md 10.5)."""
    above = {str(r.axis) for r in readings(spent, caps) if r.ratio >= WARN_AT}
    return tuple(axis for axis in warned if axis in above)


def affordable(spent: Spent, mark: Spent, caps: Caps) -> bool:
    """Whether one more pass at the price of the last stays below 90 percent on every axis (language.md 7.3)."""
    before = {reading.axis: reading.used for reading in readings(mark, caps)}
    return all(r.used + (r.used - before[r.axis]) < REFUSE_AT * r.limit for r in readings(spent, caps))


def remaining_duration(spent: Spent, caps: Caps, grace: GracePolicy) -> float | None:
    """Seconds that a node may still take, None without a cap; beyond the cap what the grace leaves."""
    if not caps.duration:
        return None
    used = spent.elapsed_ns / NANO
    edge = caps.duration if used < caps.duration else caps.duration * (1.0 + grace.ratio)
    return max(0.0, edge - used)
