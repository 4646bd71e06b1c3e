"""THE table: what the card's ``last_run`` says, and what is done about it (dispatcher.md 6).

Pure. ``gates`` asks ``decide`` for each card of a tick, ``settle`` asks it for each outcome, ``explain`` prints the row
number. Nothing here reads a store or a clock; which failure code may be tried again is said by ``engine.failures``
alone. It promises no gate: whether the card may start now is ``gates``' answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from dispatcher.reasons import Facts, Reason, render
from engine import states
from engine.failures import Allowance, FailureClass, row_of
from engine.states import RunStatus


class Action(StrEnum):
    """What a decision may ask for; ``actions.ACTIONS`` has one hand for each."""

    FRESH = "fresh"
    RESUME = "resume"
    HOLD = "hold"
    PARK = "park"
    UNPARK = "unpark"
    SETTLE = "settle"
    PROMOTE = "promote"
    INTERRUPT = "interrupt"
    UNBLOCK = "unblock"
    GIVE_UP = "give_up"
    RELEASE = "release"


class Found(StrEnum):
    """What reading the record of ``last_run`` gave."""

    NONE = "none"
    """The card has no ``last_run``."""
    ABSENT = "absent"
    """Provably absent: unknown id, or deleted with a tombstone."""
    UNREADABLE = "unreadable"
    """The record or the store could not be read: proves nothing."""
    PRESENT = "present"


class Life(StrEnum):
    """Who lives behind a record in status ``running``."""

    HELD = "held"
    """The lock is held and its owner process lives, or the run executes in this process."""
    CHILDREN = "children"
    """The lock is held, the owner process is gone: children hold it."""
    YOUNG = "young"
    """The lock is free, the claim is inside the grace, or its age is negative."""
    ORPHAN = "orphan"
    """The lock is free and the grace is over."""
    LEASED = "leased"
    """Shared store: the lease of another host is live."""
    LEASE_ENDED = "lease_ended"
    """Shared store: that lease ended."""
    UNPROVEN = "unproven"
    """The lock cannot be asked, or a free one proves nothing where it lies."""


class Going(StrEnum):
    """May a ``failed_resumable`` run go on without a person? One facet from the code's row and the stored facts."""

    LEFT = "left"
    """The row says yes and attempts are left."""
    USED_UP = "used_up"
    RAISED = "raised"
    """The row wants a raised cap, and the stored caps are above what is consumed."""
    NEEDS_CAP = "needs_cap"
    NEVER = "never"
    SETTLED = "settled"
    """The row wants the effects settled, and each is ``done`` or ``not_sent``."""
    IN_DOUBT = "in_doubt"
    DELIBERATE = "deliberate"
    """The workflow itself refused: a code of the bot, or of a newer version."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is stored about a card's ``last_run``; ages and graces in seconds, ``texts`` fills the braces of reasons."""

    run_id: str = ""
    found: Found = Found.NONE
    status: str = ""
    outcome: int = 0
    failure_code: str = ""
    life: Life = Life.HELD
    settled: bool = False
    gesture: bool = False
    ours: bool = True
    answered: bool = False
    by_daily_cap: bool = False
    attempts: int = 0
    max_attempts: int = 10
    cap_raised: bool = False
    effects_settled: bool = False
    source_changed: bool = False
    workspace_missing: bool = False
    texts: Mapping[str, object] = field(default_factory=dict)


class Facets(NamedTuple):
    """The facts, reduced to what the table distinguishes."""

    found: Found
    status: RunStatus | None
    life: Life
    answered: bool
    by_daily_cap: bool
    going: Going
    settled: bool


NEVER_RUN = RunFacts()
"""Of a card that was never started."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: where it applies, and what is done unattended and attended, with the reason of a hold."""

    id: str
    where: Mapping[str, object]
    unattended: Action
    attended: Action
    reason: Reason | None = None


class Decision(NamedTuple):
    """What to do with one card, why in people's words, and the row that said so."""

    action: Action
    reason: Reason | None
    text: str
    unblock: str
    row: str
    run_id: str | None
    facts: Facts = MappingProxyType({})


_A, _F, _R, _G, _L, _S = Action, Found, Reason, Going, Life, RunStatus


def _run(status: RunStatus | None, **facets: object) -> Mapping[str, object]:
    return {"found": Found.PRESENT, "status": status, **facets}


TABLE: tuple[Row, ...] = (
    Row("R01", {"found": _F.NONE}, _A.FRESH, _A.FRESH),
    Row("R02", {"found": _F.ABSENT}, _A.FRESH, _A.FRESH),
    Row("R03", {"found": _F.UNREADABLE}, _A.HOLD, _A.HOLD, _R.RUN_UNREADABLE),
    Row("R03", _run(_S.RUNNING, life=_L.UNPROVEN), _A.HOLD, _A.HOLD, _R.RUN_UNREADABLE),
    Row("R04", _run(None), _A.HOLD, _A.HOLD, _R.RUN_STATUS_UNKNOWN),
    Row("R05", _run(_S.QUEUED), _A.HOLD, _A.HOLD, _R.RUN_QUEUED),
    Row("R06", _run(_S.RUNNING, life=_L.HELD), _A.HOLD, _A.HOLD, _R.RUN_ALIVE),
    Row("R07", _run(_S.RUNNING, life=_L.CHILDREN), _A.HOLD, _A.HOLD, _R.RUN_CHILDREN_ALIVE),
    Row("R08", _run(_S.RUNNING, life=_L.YOUNG), _A.HOLD, _A.HOLD, _R.RUN_YOUNG),
    Row("R09", _run(_S.RUNNING, life=_L.ORPHAN), _A.PROMOTE, _A.PROMOTE),
    Row("R10", _run(_S.RUNNING, life=_L.LEASED), _A.HOLD, _A.HOLD, _R.RUN_ALIVE),
    Row("R11", _run(_S.RUNNING, life=_L.LEASE_ENDED), _A.PROMOTE, _A.PROMOTE),
    Row("R12", _run(_S.PAUSED_WAITING_HUMAN, answered=False), _A.PARK, _A.PARK, _R.WAITING_FOR_ANSWERS),
    Row("R13", _run(_S.PAUSED_WAITING_HUMAN, answered=True), _A.RESUME, _A.RESUME),
    Row("R14", _run(_S.PAUSED_OPERATOR, by_daily_cap=False), _A.PARK, _A.PARK, _R.WAITING_FOR_PERSON),
    Row("R15", _run(_S.PAUSED_OPERATOR, by_daily_cap=True), _A.PARK, _A.PARK, _R.WAITING_FOR_PERSON),
    Row("R16", _run(_S.FAILED_RESUMABLE, going=_G.LEFT), _A.RESUME, _A.RESUME),
    Row("R17", _run(_S.FAILED_RESUMABLE, going=_G.USED_UP), _A.GIVE_UP, _A.RESUME, _R.GAVE_UP),
    Row("R18", _run(_S.FAILED_RESUMABLE, going=_G.RAISED), _A.RESUME, _A.RESUME),
    Row("R18", _run(_S.FAILED_RESUMABLE, going=_G.NEEDS_CAP), _A.PARK, _A.RESUME, _R.PARKED_NEEDS_CAP),
    Row("R19", _run(_S.FAILED_RESUMABLE, going=_G.NEVER), _A.PARK, _A.RESUME, _R.PARKED_DETERMINISTIC),
    Row("R20", _run(_S.FAILED_RESUMABLE, going=_G.SETTLED), _A.RESUME, _A.RESUME),
    Row("R20", _run(_S.FAILED_RESUMABLE, going=_G.IN_DOUBT), _A.PARK, _A.RESUME, _R.PARKED_AMBIGUOUS),
    Row("R21", _run(_S.FAILED_RESUMABLE, going=_G.DELIBERATE), _A.PARK, _A.RESUME, _R.PARKED_DELIBERATE),
    Row("R24", _run(_S.CANCELLED, settled=False), _A.SETTLE, _A.SETTLE),
    Row("R25", _run(_S.CANCELLED, settled=True), _A.HOLD, _A.RESUME, _R.CANCELLED_NEEDS_MOVE),
    Row("R26", _run(_S.FINISHED, settled=False), _A.SETTLE, _A.SETTLE),
    Row("R27", _run(_S.FINISHED, settled=True), _A.HOLD, _A.FRESH, _R.FINISHED_NEEDS_MOVE),
    Row("R28", _run(_S.FAILED, settled=False), _A.SETTLE, _A.SETTLE),
    Row("R29", _run(_S.FAILED, settled=True), _A.HOLD, _A.FRESH, _R.FAILED_NEEDS_MOVE),
)
"""Exactly one row matches any facets; R22 and R23 stand in for a row that would resume."""

SOURCE_CHANGED = Row("R22", {}, _A.PARK, _A.PARK, _R.SOURCE_CHANGED)
WORKSPACE_MISSING = Row("R23", {}, _A.HOLD, _A.HOLD, _R.WORKSPACE_MISSING)


def decide(facts: RunFacts, now: datetime) -> Decision:
    """What ``last_run`` asks for at ``now``: one row of the table, as a decision."""
    row = row_for(facets_of(facts))
    action = row.attended if facts.gesture else row.unattended
    if action is Action.RESUME and (facts.workspace_missing or facts.source_changed):
        row = WORKSPACE_MISSING if facts.workspace_missing else SOURCE_CHANGED
        action = row.attended if facts.gesture else row.unattended
    if action is Action.PARK and states.is_paused(facts.status) and not facts.ours:
        action = Action.HOLD  # somebody else's pause: his card, his move
    return _decision(row, action, facts, now)


@cache
def row_for(facets: Facets) -> Row:
    """The one row whose ``where`` these facets meet."""
    return next(row for row in TABLE if all(getattr(facets, name) == want for name, want in row.where.items()))


def facets_of(facts: RunFacts) -> Facets:
    """The facts, reduced to what the table distinguishes."""
    status = RunStatus(facts.status) if states.known(facts.status) else None
    return Facets(
        found=facts.found,
        status=status,
        life=facts.life,
        answered=facts.answered,
        by_daily_cap=facts.by_daily_cap,
        going=_going(facts) if status is RunStatus.FAILED_RESUMABLE else Going.NEVER,
        settled=facts.settled,
    )


def _going(facts: RunFacts) -> Going:
    row = row_of(facts.failure_code)
    left = Going.LEFT if facts.attempts < facts.max_attempts else Going.USED_UP
    never = Going.DELIBERATE if row.kind is FailureClass.DELIBERATE else Going.NEVER
    return {
        Allowance.YES: left,
        Allowance.IF_RAISED: Going.RAISED if facts.cap_raised else Going.NEEDS_CAP,
        Allowance.IF_SETTLED: Going.SETTLED if facts.effects_settled else Going.IN_DOUBT,
        Allowance.NO: never,
    }[row.unattended]


def _decision(row: Row, action: Action, facts: RunFacts, now: datetime) -> Decision:
    told = {"run": facts.run_id, "status": facts.status, "code": facts.failure_code, **facts.texts}
    grace, age = told.get("grace"), told.get("age")
    if isinstance(grace, (int, float)) and isinstance(age, (int, float)):
        told["until"] = (now + timedelta(seconds=max(0.0, grace - age))).isoformat(timespec="seconds")
    idle = row.reason if action not in (Action.RESUME, Action.FRESH, Action.PROMOTE) else None
    text, unblock = render(idle, told) if idle else ("", "")
    fresh = action is Action.FRESH
    return Decision(action, idle, text, unblock, row.id, None if fresh or not facts.run_id else facts.run_id, told)
