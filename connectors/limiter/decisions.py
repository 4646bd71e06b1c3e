"""May this call be made now, and when may the next write start? Pure answers over a ``LimitState`` (connectors.md 13).

Nothing here waits, sends or stores. ``now`` is our own clock's instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from connectors.errand import Purpose
from connectors.limiter.state import Budget, LimitState, Mode, Standing

LOW_BELOW = 0.20
NORMAL_ABOVE = 0.50
SCARCE_BELOW = 0.10
FIRST_WAIT = 60.0
LONGEST_UNASKED_WAIT = 15 * 60.0
REFUSALS = 3
"""So many refusals of the credential in a row, and it is asked with one read in ``REFUSED_WAIT`` seconds only."""
REFUSED_WAIT = 300.0
NEW_WINDOW_SECONDS = 60.0
"""A reset that moves by more than this belongs to another window of the forge."""
HOUR, MINUTE = 3600.0, 60.0

IN_LOW = frozenset({Purpose.WATCH, Purpose.SETTLE, Purpose.PROBE})
WHEN_SCARCE = frozenset({Purpose.SETTLE, Purpose.PROBE})


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one credential writes: seconds between starts, and how many starts per minute and per hour (None: as
    many as fit)."""

    spacing: float = 1.0
    per_minute: int = 60
    per_hour: int | None = None


PACES: Mapping[str, Pace] = MappingProxyType(
    {
        "github": Pace(per_minute=60, per_hour=450),
        "gitlab": Pace(per_minute=50),
        "forgejo": Pace(per_minute=120),
    }
)
"""Forge kind -> its pace; ``writes_per_minute`` of the configuration replaces the middle number."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an answer told about a budget; None where it told nothing."""

    resource: str = "core"
    remaining: int | None = None
    limit: int | None = None
    reset_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Not now: until when, and why in a few words for people."""

    until: datetime
    why: str


def mode_of(state: LimitState, now: datetime, resource: str = "core") -> Mode:
    """The mode in which ``resource`` is used at ``now``."""
    if state.until is not None and now < state.until:
        return Mode.BLOCKED
    budget = _current(state, now, resource)
    return Mode.LOW if budget is not None and budget.low else Mode.NORMAL


def admission(state: LimitState, purpose: Purpose, now: datetime, resource: str = "core") -> Held | None:
    """None when a call of this purpose may be made now."""
    if state.until is not None and now < state.until:
        return Held(state.until, "the forge asked to wait")
    budget = _current(state, now, resource)
    if budget is None:
        return None
    until = budget.reset_at or now + timedelta(seconds=FIRST_WAIT)
    if budget.limit > 0 and budget.remaining <= 0:
        return Held(until, f"the budget of {budget.limit} calls is used up")
    if budget.low and purpose not in (WHEN_SCARCE if budget.share < SCARCE_BELOW else IN_LOW):
        return Held(until, f"{budget.remaining} of {budget.limit} calls are left and kept for what is running")
    return None


def is_refused(state: LimitState) -> bool:
    """Whether the forge refused the credential so often that it is not asked as usual."""
    return state.refused_until is not None


def refused(state: LimitState, status: int, now: datetime) -> LimitState:
    """The row after the forge refused the credential once more."""
    refusals = min(state.refusals + 1, REFUSALS)
    until = now + timedelta(seconds=REFUSED_WAIT) if refusals == REFUSALS else None
    return replace(state, refusals=refusals, refused_status=status, refused_until=until)


def accepted(state: LimitState) -> LimitState:
    """The row after the forge took the credential."""
    return replace(state, refusals=0, refused_status=0, refused_until=None)


def tried(state: LimitState, now: datetime) -> LimitState:
    """The row after one call was let through to see whether a refused credential works again; the same when it is not
    time for one."""
    if state.refused_until is None or now < state.refused_until:
        return state
    return replace(state, refused_until=now + timedelta(seconds=REFUSED_WAIT))


def standing(state: LimitState, now: datetime, resource: str = "core") -> Standing:
    """How the credential stands at ``now``."""
    budget, until = _current(state, now, resource), state.until if _blocked(state, now) else None
    low = budget is not None and (budget.low or budget.remaining <= 0 < budget.limit)
    scarce = (budget.reset_at or now + timedelta(seconds=FIRST_WAIT)) if budget is not None and low else None
    return Standing(
        credential=state.credential,
        remaining=budget.remaining if budget is not None else None,
        reset_at=budget.reset_at if budget is not None else None,
        throttled_until=until,
        waits_until=until or scarce,
        refused=state.refused_status if is_refused(state) else 0,
    )


def learned(state: LimitState, facts: Facts, now: datetime) -> LimitState:
    """The row after an answer that was no throttle."""
    state = replace(state, throttles=0) if state.throttles and not _blocked(state, now) else state
    if facts.remaining is None or facts.limit is None:
        return state
    before = _current(state, now, facts.resource)
    if before is not None and _is_new_window(before, facts):
        before = None
    budget = Budget(facts.remaining, facts.limit, facts.reset_at)
    low = budget.share < LOW_BELOW or (before is not None and before.low and budget.share <= NORMAL_ABOVE)
    return replace(state, budgets={**state.budgets, facts.resource: replace(budget, low=low)})


def throttled(state: LimitState, retry_at: datetime | None, now: datetime) -> LimitState:
    """The row after the forge asked to wait; without a time it is a minute, doubled with each repetition."""
    repetitions = state.throttles + (retry_at is None)
    if retry_at is None:
        seconds = min(FIRST_WAIT * 2.0**state.throttles, LONGEST_UNASKED_WAIT)
        retry_at = now + timedelta(seconds=seconds)
    until = retry_at if state.until is None else max(state.until, retry_at)
    return replace(state, until=until, throttles=min(repetitions, 10))


def released(state: LimitState, now: datetime) -> LimitState:
    """The row without a wait that is over and without low budgets whose window is over; the same row otherwise."""
    until = state.until if _blocked(state, now) else None
    kept = {name: each for name, each in state.budgets.items() if not each.low or _current(state, now, name)}
    return replace(state, until=until, budgets=kept)


def reserved(state: LimitState, pace: Pace, now: float) -> tuple[LimitState, float]:
    """The row with one more write, and the start of it, seconds of the Unix clock.

    Starts that lie more than an hour ahead come from a clock that was set back, and count for nothing.
    """
    window = HOUR if pace.per_hour else MINUTE
    writes = [start for start in state.writes if now - window < start <= now + HOUR]
    start = max(now, writes[-1] + pace.spacing) if writes else now
    for most, seconds in ((pace.per_minute, MINUTE), (pace.per_hour, HOUR)):
        if most and len(writes) >= most:
            start = max(start, writes[-most] + seconds)
    return replace(state, writes=(*writes, start)), start


def returned(state: LimitState, start: float) -> LimitState:
    """The row without a write that was withdrawn before it started."""
    return replace(state, writes=tuple(each for each in state.writes if each != start))


def counted(state: LimitState, usage: Mapping[str, int]) -> LimitState:
    """The row with these calls added, by ``purpose/resource``."""
    total = dict(state.usage)
    for key, calls in usage.items():
        total[key] = total.get(key, 0) + calls
    return replace(state, usage=total)


def _blocked(state: LimitState, now: datetime) -> bool:
    return state.until is not None and now < state.until


def _current(state: LimitState, now: datetime, resource: str) -> Budget | None:
    """The budget, unless its window is over."""
    budget = state.budgets.get(resource)
    over = budget is not None and budget.reset_at is not None and now >= budget.reset_at
    return None if over else budget


def _is_new_window(before: Budget, facts: Facts) -> bool:
    if before.reset_at is None or facts.reset_at is None:
        return False
    return (facts.reset_at - before.reset_at).total_seconds() > NEW_WINDOW_SECONDS
