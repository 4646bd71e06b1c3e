"""The ``--auto-resume`` loop of ``run`` and ``resume``: may a machine try again, how long first, how often.

Called by the command line after an attempt has stopped. The gate reads the one table of failure codes; the waits can be
woken. Implements engine.md 7.9, 4.3 and 4.5.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.events import EventType, NewEvent
from engine.failures import Allowance, FailureCode, row_of
from engine.ports import Clock, IdMaker
from engine.run import RunRecord
from engine.runtime.host import Host
from engine.runtime.requests import ResumeRequest
from engine.runtime.resume import resume
from engine.runtime.runlog import LOGGER
from engine.states import can_machine_resume

BASE, LONGEST, MAX_WAIT = 30.0, 300.0, 8 * 86_400.0
USAGE_BLIND, USAGE_MARGIN = 900.0, 60.0
LOOK = 1.0
"""Seconds between two looks at the run during a wait."""


@dataclass(frozen=True, slots=True)
class AutoResume:
    """``most`` resumes at most. ``raised``: this command carried a ``--max-*`` flag. ``usage_window``: the policy lets
    a used-up subscription window be waited for. ``stop`` ends a wait; ``timeout`` bounds each attempt, in seconds."""

    most: int
    raised: bool = False
    usage_window: bool = True
    timeout: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    say: Callable[[str], None] = LOGGER.warning


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the loop resumes this stop, and why not; ``reason`` is the class of the code (engine.md 4.5)."""

    resumes: bool
    reason: str = ""
    text: str = ""


def judge(record: RunRecord, *, raised: bool, budget_resumed: bool, usage_window: bool = True) -> Verdict:
    """The gate: the column ``cli_auto_resume`` of the code's row, with its conditional cells. Pure."""
    code = record.failure_code
    row = row_of(code)
    refused = Verdict(False, str(row.kind), f"not auto-recoverable (code {code or 'unknown'}): {row.sentence}")
    if code == FailureCode.USAGE_LIMIT_BLOCKED and not usage_window:
        return Verdict(False, str(row.kind), f"not auto-recoverable (code {code}): the retry policy says off")
    if row.cli_auto_resume is Allowance.YES:
        return Verdict(True)
    if row.cli_auto_resume is not Allowance.IF_RAISED:
        return refused
    if raised and not budget_resumed:
        return Verdict(True)
    why = "it was resumed once already" if budget_resumed else "raise the cap with a --max-* flag"
    return Verdict(False, str(row.kind), f"not auto-recoverable (code {code}): {record.error}; {why}")


def delay_before(attempt: int, roll: float) -> float:
    """Seconds before resume number ``attempt`` (from 1): doubling from 30 s to 5 min, times 0.5 to 1.5. Pure."""
    return float(min(BASE * 2 ** (attempt - 1), LONGEST) * (0.5 + roll))


def wait_before(record: RunRecord, attempt: int, clock: Clock, ids: IdMaker) -> float:
    """Seconds before the next resume: a usage window's own, what a remote asked for, or the loop's backoff."""
    rest = (record.retry_after_at - clock.now()).total_seconds() if record.retry_after_at else 0.0
    if record.failure_code == FailureCode.USAGE_LIMIT_BLOCKED:
        return min(rest + USAGE_MARGIN if rest > 0 else USAGE_BLIND, MAX_WAIT)
    roll = int(ids.new()[-6:], 16) / 0xFFFFFF
    return min(max(delay_before(attempt, roll), rest), MAX_WAIT)


def auto_resume(host: Host, record: RunRecord, asked: AutoResume) -> RunRecord:
    """Resume the run while its code allows and fewer than ``most`` resumes were made; the record as it stands then.

    What somebody else did to the run during a wait ends the loop.
    """
    budget_resumed = False
    for attempt in range(1, asked.most + 1):
        if not can_machine_resume(record.status):
            return record
        verdict = judge(record, raised=asked.raised, budget_resumed=budget_resumed, usage_window=asked.usage_window)
        if not verdict.resumes:
            _decline(host, record, verdict, asked)
            return record
        budget_resumed = budget_resumed or record.failure_code == FailureCode.BUDGET_EXCEEDED
        delay = wait_before(record, attempt, host.clock, host.ids)
        asked.say(
            f"run {record.id} stopped with {record.failure_code}; resume {attempt} of {asked.most} in {delay:.0f} s"
        )
        if not _waited(host, record, delay, asked.stop):
            return host.store.runs.get(record.id)
        data = {"attempt": attempt, "max": asked.most, "code": record.failure_code, "reason": "auto"}
        event = NewEvent(EventType.RUN_AUTO_RESUMED, data={**data, "delay_ms": int(delay * 1000)})
        host.store.runs.note(record.id, event)
        record = resume(host, ResumeRequest(record.id, attended=False, timeout=asked.timeout))
    return record


def _waited(host: Host, record: RunRecord, delay: float, stop: threading.Event) -> bool:
    """Whether the wait has passed with the run as it stopped: nobody woke it, nobody cancelled or resumed the run."""
    until = host.clock.monotonic() + delay
    while (left := until - host.clock.monotonic()) > 0:
        if host.clock.wait(stop, min(left, LOOK)):
            return False
        now = host.store.runs.get(record.id)
        if (now.status, now.epoch, now.outcome_seq) != (record.status, record.epoch, record.outcome_seq):
            return False
    return True


def _decline(host: Host, record: RunRecord, verdict: Verdict, asked: AutoResume) -> None:
    asked.say(f"run {record.id}: {verdict.text}")
    data = {"reason": verdict.reason, "code": record.failure_code, "error": record.error, "status": record.status}
    host.store.runs.retry_skipped_once(record.id, record.outcome_seq, NewEvent(EventType.RUN_RETRY_SKIPPED, data=data))
