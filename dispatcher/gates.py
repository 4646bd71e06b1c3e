"""May this card start now? The ordered gates as one table over plain facts (dispatcher.md 5).

Pure. The tick builds a ``Candidate`` from what it read, ``judge`` answers with one decision and the verdict of every
gate; ``explain`` prints the same value. Gates 23 to 40 are the holds of ``policy``: they have no condition of their own
here. Nothing in this module reads, waits or writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from dispatcher.candidate import Candidate, Desired
from dispatcher.policy import Action, Decision, decide
from dispatcher.reasons import REASONS, Facts, Reason, render


class Verdict(StrEnum):
    """What a gate says; ``unknown`` (the fact could not be read) counts as hold."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    HOLD = "hold"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """One gate's answer, as ``explain`` prints it."""

    order: int
    code: Reason
    verdict: Verdict
    fact: str = ""
    text: str = ""
    unblock: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision about one card and what every gate said."""

    decision: Decision
    gates: tuple[GateVerdict, ...] = field(default=())


_Check = Callable[[Candidate, Action, datetime], "Facts | None"]
_R = Reason


def _stopping(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {"at": c.daemon.stopping_since} if c.daemon.stopping_since else None


def _paused(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    held = c.daemon.desired is Desired.PAUSED
    return {"who": c.daemon.desired_by, "at": c.daemon.desired_since} if held else None


def _draining(c: Candidate, action: Action, _n: datetime) -> Facts | None:
    held = c.daemon.desired is Desired.DRAINING and action is Action.FRESH
    return {"n": c.daemon.executing} if held else None


def _store(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {"error": c.daemon.store_error} if c.daemon.store_error else None


def _money(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    daemon = c.daemon
    if not daemon.spend_limit or daemon.spent < daemon.spend_limit:
        return None
    return {"spent": f"{daemon.spent:.2f}", "limit": f"{daemon.spend_limit:.2f}", "day": daemon.day}


def _closed(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {} if c.card.closed else None


def _contradictory(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    seen = c.card.columns_seen
    return {"a": seen[0], "b": seen[1]} if len(seen) > 1 else None


def _unmapped(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    if c.card.column is not None or len(c.card.columns_seen) > 1:
        return None
    return {"name": c.card.columns_seen[0] if c.card.columns_seen else "no column"}


def _not_eligible(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    explained = c.parked or c.released or c.card.column is None or c.card.column in c.board.eligible
    return None if explained else {"name": c.card.column}


def _pending(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {"from": c.pending.origin, "to": c.pending.to, "id": c.pending.id or "–"} if c.pending else None


def _retry(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    if c.retry is None or c.retry.is_due or (c.run.gesture and not c.consumed):
        return None
    due = c.retry.due.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"n": c.retry.number, "max": c.retry.maximum, "at": due, "code": c.retry.code}


def _not_before(c: Candidate, _a: Action, now: datetime) -> Facts | None:
    start = c.card.not_before
    if start is None:
        return None
    if start.instant is None:
        return {"at": "a time that cannot be read", "local": start.text, "zone": start.problem}
    at = start.instant.isoformat(timespec="seconds").replace("+00:00", "Z")
    local, _, zone = start.text.rpartition(" ")
    told = {"local": local, "zone": zone} if local else {"local": start.text, "zone": "as given"}
    return {"at": at, **told} if now < start.instant else None


def _blocked(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    if c.cycle:
        return None  # its blockers never get done: the gate of cycles holds it and names the chain
    open_ones = [b.told() for b in c.blockers if not b.error]
    return {"cards": ", ".join(open_ones)} if open_ones else None


def _blockers_unreadable(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    if c.card.blockers is None:
        return {"cards": "its blockers", "error": "the forge did not tell them, or they are on no board here"}
    unread = [b for b in c.blockers if b.error]
    return {"cards": ", ".join(b.label for b in unread), "error": unread[0].error} if unread else None


def _cycle(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {"chain": c.cycle} if c.cycle else None


def _problem(reason: Reason) -> _Check:
    def check(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
        found = next((p for p in (c.routing, c.bot) if p is not None and p.reason is reason), None)
        return found.facts if found else None

    return check


def _cap(reason: Reason) -> _Check:
    def check(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
        full = next((cap for cap in c.caps if cap.reason is reason), None)
        return {"n": full.n, "limit": full.limit, "name": full.name} if full else None

    return check


def _slots(c: Candidate, _a: Action, _n: datetime) -> Facts | None:
    return {"max": c.daemon.slots} if c.daemon.executing >= c.daemon.slots else None


def _of_board(name: str) -> _Check:
    return lambda c, _a, _n: getattr(c.board, name)


def _of_card(name: str) -> _Check:
    return lambda c, _a, _n: getattr(c, name)


BEFORE_RUN: tuple[tuple[Reason, _Check], ...] = (
    (_R.STOPPING, _stopping),
    (_R.DAEMON_PAUSED, _paused),
    (_R.DAEMON_DRAINING, _draining),
    (_R.STORE_DEGRADED, _store),
    (_R.COST_CAP_DAILY, _money),
    (_R.BOARD_STANDBY, _of_board("standby")),
    (_R.BOARD_UNREADABLE, _of_board("unreadable")),
    (_R.BOARD_PARTIAL, _of_board("partial")),
    (_R.BOARD_DEGRADED, _of_board("degraded")),
    (_R.BOARD_BREAKER_OPEN, _of_board("breaker")),
    (_R.CREDENTIAL_THROTTLED, _of_board("throttled")),
    (_R.CREDENTIAL_REFUSED, _of_board("refused")),
    (_R.CARD_GONE, _of_card("gone")),
    (_R.CARD_MOVED_AWAY, _of_card("moved_away")),
    (_R.CARD_CLOSED, _closed),
    (_R.COLUMN_CONTRADICTORY, _contradictory),
    (_R.COLUMN_UNMAPPED, _unmapped),
    (_R.COLUMN_NOT_ELIGIBLE, _not_eligible),
    (_R.MOVE_PENDING, _pending),
    (_R.CARD_BREAKER_OPEN, _of_card("breaker")),
    (_R.CLAIM_UNCERTAIN, _of_card("claim_uncertain")),
    (_R.CLAIMED_ELSEWHERE, _of_card("claimed_elsewhere")),
)
"""Gates 1 to 22, in order: the daemon, the board, the card."""

RUN_GATES: tuple[Reason, ...] = tuple(reason for reason in Reason if 23 <= REASONS[reason].order <= 40)
"""Gates 23 to 40: the holds of the ``last_run`` table, in order."""

AFTER_RUN: tuple[tuple[Reason, _Check], ...] = (
    (_R.RETRY_WAIT, _retry),
    (_R.NOT_BEFORE, _not_before),
    (_R.OUTSIDE_HOURS, _of_board("outside_hours")),
    (_R.BLOCKED_BY, _blocked),
    (_R.BLOCKERS_UNREADABLE, _blockers_unreadable),
    (_R.BLOCKERS_CYCLE, _cycle),
    (_R.UNTRUSTED_MOVE, _of_card("untrusted")),
    (_R.BODY_CHANGED, _of_card("body_changed")),
    *((reason, _problem(reason)) for reason in (_R.BOT_UNKNOWN, _R.NO_ROUTE, _R.ROUTE_AMBIGUOUS)),
    *((reason, _problem(reason)) for reason in (_R.BOT_INVALID, _R.VARS_INVALID)),
    (_R.WIP_FULL, _of_board("wip_full")),
    *((reason, _cap(reason)) for reason in (_R.CAP_BOARD, _R.CAP_COLUMN, _R.CAP_BOT, _R.CAP_ASSIGNEE)),
    (_R.NO_SLOT, _slots),
)
"""Gates 41 to 52, in order: schedule, blockers, trust, bot, capacity."""

_UNREAD = frozenset({_R.BOARD_UNREADABLE, _R.RUN_UNREADABLE, _R.BLOCKERS_UNREADABLE, _R.CLAIM_UNCERTAIN})
_STARTS = frozenset({Action.FRESH, Action.RESUME})


def judge(candidate: Candidate, now: datetime) -> Judgement:
    """One decision, and the verdict of every gate in order."""
    decision = _of_run(candidate, now)
    action = decision.action
    verdicts = [_verdict(reason, check(candidate, action, now)) for reason, check in BEFORE_RUN]
    verdicts += [_run_verdict(reason, decision) for reason in RUN_GATES]
    verdicts += [_verdict(reason, check(candidate, action, now)) for reason, check in AFTER_RUN]
    return Judgement(quick(candidate, now), tuple(verdicts))


def quick(candidate: Candidate, now: datetime) -> Decision:
    """The decision of ``judge`` without the verdicts behind the first hold: what a tick needs."""
    decision = _of_run(candidate, now)
    found = first_hold(candidate, decision, now)
    return decision if found is None else held(decision, *found)


def first_hold(candidate: Candidate, decision: Decision, now: datetime) -> tuple[Reason, Facts] | None:
    """The first gate that holds, with its facts; None when the card may do what ``decision`` says."""
    for reason, check in BEFORE_RUN:
        facts = check(candidate, decision.action, now)
        if facts is not None:
            return reason, facts
    if decision.reason is not None:
        return decision.reason, decision.facts
    if decision.action not in _STARTS:
        return None
    for reason, check in AFTER_RUN:
        facts = check(candidate, decision.action, now)
        if facts is not None:
            return reason, facts
    return None


def _of_run(candidate: Candidate, now: datetime) -> Decision:
    """The table's decision, with the three stored facts that overrule a start: stop under way, stamp, closed park."""
    decision = decide(candidate.run, now)
    if candidate.run_stopping is not None:
        return held(decision, Reason.RUN_STOPPING, {**decision.facts, **candidate.run_stopping})
    if candidate.gave_up is not None and not candidate.run.gesture:
        return held(decision, Reason.GAVE_UP, {**decision.facts, **candidate.gave_up})
    return decision


def held(decision: Decision, reason: Reason, facts: Facts) -> Decision:
    """The decision, turned into a hold."""
    text, unblock = render(reason, facts)
    return Decision(Action.HOLD, reason, text, unblock, decision.row, decision.run_id, facts)


def _verdict(reason: Reason, facts: Facts | None) -> GateVerdict:
    order = REASONS[reason].order
    if facts is None:
        return GateVerdict(order, reason, Verdict.PASS)
    text, unblock = render(reason, facts)
    verdict = Verdict.UNKNOWN if reason in _UNREAD else Verdict.HOLD
    return GateVerdict(order, reason, verdict, told(facts) or text, text, unblock)


def _run_verdict(reason: Reason, decision: Decision) -> GateVerdict:
    return _verdict(reason, decision.facts if decision.reason is reason else None)


def told(facts: Mapping[str, object]) -> str:
    """The facts of a gate in one line."""
    if set(facts) == {"cards"}:
        return str(facts["cards"])
    return ", ".join(f"{name} {value}" for name, value in facts.items() if value not in ("", None))
