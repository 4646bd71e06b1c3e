"""The hands of the limiter: asks the row before each call, writes down what answers tell, lets writes through in turn.

One ``Limiter`` per credential of a process, handed out by ``Limiters``; boards and runs share it, and processes share
its row. The transport calls ``reading``, ``in_flight``, ``learn`` and ``throttle``; the effects' guard calls ``admit``.
A write never waits on a read, nor a read on a write. Nothing here sends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from connectors.answer import AnswerKind, Proof, StopReason
from connectors.deadline import Deadline, Timekeeper
from connectors.errand import Errand, Purpose
from connectors.errors import Evidence, ForgeRefused, NotSent, RateLimited, Unreachable, Withdrawn, when
from connectors.limiter import decisions
from connectors.limiter.decisions import PACES, Facts, Pace
from connectors.limiter.state import Budget, LimiterStore, LimitState, Mode, Standing
from connectors.observer import Observer, Silent

PARALLEL_READS = 4
LONGEST_TURN = 300.0
"""Seconds that a write waits for its turn at most; beyond that its caller is told when to come again."""
FLUSH_SECONDS = 5.0
LOOK_SECONDS = 0.5
"""How often a waiting write looks whether its order was taken back."""


class Limiter:
    """The limits of one credential. Safe to share between threads."""

    def __init__(
        self,
        key: str,
        store: LimiterStore,
        clock: Timekeeper,
        pace: Pace | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.key = key
        self._store = store
        self._clock = clock
        self._pace = pace or Pace()
        self._observer = observer or Silent()
        self._reads = threading.BoundedSemaphore(PARALLEL_READS)
        self._write = threading.Lock()
        self._lock = threading.Lock()
        self._fresh: dict[str, Facts] = {}
        self._usage: dict[str, int] = {}
        self._flushed = clock.monotonic()

    # asking

    def mode(self, resource: str = "core") -> Mode:
        """The mode of ``resource`` now."""
        return decisions.mode_of(self._state(), self._clock.now(), resource)

    def blocked_until(self) -> datetime | None:
        """Until when nothing is sent, None when something may be."""
        until = self._state().until
        return until if until is not None and self._clock.now() < until else None

    def budget(self, resource: str = "core") -> Budget | None:
        """The budget as last told, None when the forge told none."""
        return self._state().budgets.get(resource)

    def usage(self) -> dict[str, int]:
        """Calls of this credential so far, by ``purpose/resource``."""
        return dict(decisions.counted(self._store.read(self.key), self._usage).usage)

    def standing(self, resource: str = "core") -> Standing:
        """How the credential stands with its forge."""
        return decisions.standing(self._state(), self._clock.now(), resource)

    # reads

    @contextmanager
    def reading(self, purpose: Purpose, resource: str, deadline: Deadline) -> Iterator[None]:
        """One of the parallel reads. Raises ``RateLimited`` when the budget is not for this purpose now,
        ``ForgeRefused`` while the forge refuses the credential."""
        self._pass(purpose, resource, may_try=True)
        if not self._reads.acquire(timeout=deadline.remaining()):
            raise Unreachable(
                f"All {PARALLEL_READS} parallel reads were busy until the deadline.",
                "The forge answers slowly; look again later.",
                stopped=StopReason.DEADLINE,
            )
        try:
            yield
        finally:
            self._reads.release()

    # writes

    def admit(self, errand: Errand, stopped: Callable[[], bool]) -> None:
        """Wait for the turn of one write. Raises ``Withdrawn`` when ``stopped`` before it came, ``RateLimited`` when
        nothing may be sent now or the turn is too far away. Nothing was sent then."""
        self._pass(errand.purpose, "core", count=False)
        start = self._reserve()
        try:
            self._wait(start, stopped)
            self._pass(errand.purpose, "core")
        except (RateLimited, Withdrawn):
            self._store.change(self.key, lambda state: decisions.returned(state, start))
            raise

    @contextmanager
    def in_flight(self, deadline: Deadline) -> Iterator[None]:
        """The one write of this credential that is under way. Raises ``NotSent`` when another one lasts too long."""
        if not self._write.acquire(timeout=deadline.remaining()):
            raise NotSent(
                "Another write of this credential lasted until the deadline.",
                "Nothing was sent; it is safe to repeat.",
                evidence=Evidence(proof=Proof.NO_POOL_SLOT),
            )
        try:
            yield
        finally:
            self._write.release()

    # learning

    def learn(self, facts: Facts) -> None:
        """Note what an answer told about a budget."""
        now = self._clock.now()
        with self._lock:
            before = self._overlaid(self._store.read(self.key), now)
            self._fresh[facts.resource] = facts
            after = self._overlaid(before, now)
            turned = decisions.mode_of(before, now, facts.resource) != decisions.mode_of(after, now, facts.resource)
            due = self._clock.monotonic() - self._flushed >= FLUSH_SECONDS
        if facts.remaining is not None:
            self._observer.gauge(
                "pointsman_forge_limit_remaining", facts.remaining, credential=self.key, resource=facts.resource
            )
        if turned or due or before.throttles:
            self._flush(facts.resource)

    def throttle(self, retry_at: datetime | None, kind: str) -> datetime:
        """Note that the forge asks to wait, and answer until when."""
        now = self._clock.now()
        self._observer.count("pointsman_forge_throttles_total", credential=self.key, kind=kind)
        before, after = self._change(lambda state: decisions.throttled(state, retry_at, now))
        assert after.until is not None
        if before.until is None or now >= before.until:
            self._tell("blocked", Mode.BLOCKED, until=after.until.isoformat().replace("+00:00", "Z"))
        return after.until

    def refused(self, status: int) -> None:
        """Note that the forge refused the credential."""
        before, after = self._change(lambda state: decisions.refused(state, status, self._clock.now()))
        if decisions.is_refused(after) and not decisions.is_refused(before):
            self._observer.event("connection.refused", "warning", credential=self.key, status=status)

    def accepted(self) -> None:
        """Note that the forge took the credential."""
        if not self._store.read(self.key).refusals:
            return
        before, _ = self._change(decisions.accepted)
        if decisions.is_refused(before):
            self._observer.event("connection.recovered", "info", credential=self.key)

    # inside

    def _check_refusal(self, state: LimitState, now: datetime, *, may_try: bool) -> None:
        """Let one read through now and then while the forge refuses the credential. Raises ``ForgeRefused``."""
        if not decisions.is_refused(state):
            return
        before, after = self._change(lambda row: decisions.tried(row, now)) if may_try else (state, state)
        if before == after and decisions.is_refused(after):
            told = Evidence(kind=AnswerKind.UNAUTHORISED.value, status=after.refused_status)
            text = f"Nothing was sent: the forge refuses the credential {self.key} ({after.refused_status})."
            raise ForgeRefused(text, "Give the connection a valid secret; it is tried every 5 min.", evidence=told)

    def _pass(self, purpose: Purpose, resource: str, *, count: bool = True, may_try: bool = False) -> None:
        now, state = self._clock.now(), self._state()
        self._check_refusal(state, now, may_try=may_try)
        if decisions.released(state, now) != state:
            self._release(now)
        held = decisions.admission(state, purpose, now, resource)
        if held is not None:
            raise RateLimited(
                f"Nothing was sent: {held.why}.",
                f"Ask again at {when(held.until)}; a daemon does so by itself.",
                until=held.until,
                evidence=Evidence(kind="throttled"),
            )
        if count:
            key = f"{purpose}/{resource}"
            with self._lock:
                self._usage[key] = self._usage.get(key, 0) + 1

    def _release(self, now: datetime) -> None:
        before, after = self._change(lambda state: decisions.released(state, now))
        if before.until is not None and after.until is None:
            self._tell("unblocked", Mode.NORMAL)
        for resource in before.budgets.keys() - after.budgets.keys():
            with self._lock:
                self._fresh.pop(resource, None)
            self._tell("low_left", Mode.NORMAL, resource=resource)

    def _reserve(self) -> float:
        now = self._clock.now().timestamp()
        start = now

        def decide(state: LimitState) -> LimitState:
            nonlocal start
            state, start = decisions.reserved(state, self._pace, now)
            return state if start - now <= LONGEST_TURN else decisions.returned(state, start)

        self._store.change(self.key, decide)
        if start - now > LONGEST_TURN:
            until = datetime.fromtimestamp(start, UTC)
            raise RateLimited(
                f"Nothing was sent: {self._pace.per_minute} writes per minute and "
                f"{self._pace.per_hour or 'any number'} per hour are planned out.",
                f"The next turn is at {when(until)}; a daemon waits for it by itself.",
                until=until,
                evidence=Evidence(kind="throttled"),
            )
        return start

    def _wait(self, start: float, stopped: Callable[[], bool]) -> None:
        never = threading.Event()
        while not stopped():
            left = start - self._clock.now().timestamp()
            if left <= 0:
                return
            self._clock.wait(never, min(left, LOOK_SECONDS))
        raise Withdrawn("The order was taken back while it waited for its turn.", "Nothing was sent.")

    def _state(self) -> LimitState:
        with self._lock:
            return self._overlaid(self._store.read(self.key), self._clock.now())

    def _overlaid(self, state: LimitState, now: datetime) -> LimitState:
        for facts in self._fresh.values():
            state = decisions.learned(state, facts, now)
        return state

    def _flush(self, resource: str) -> None:
        now = self._clock.now()
        with self._lock:
            fresh, usage = tuple(self._fresh.values()), self._usage
            self._fresh, self._usage, self._flushed = {}, {}, self._clock.monotonic()

        def decide(state: LimitState) -> LimitState:
            for facts in fresh:
                state = decisions.learned(state, facts, now)
            return decisions.counted(state, usage)

        before, after = self._change(decide)
        was, now_is = (decisions.mode_of(each, now, resource) for each in (before, after))
        if was is not Mode.LOW and now_is is Mode.LOW:
            self._tell("low_entered", Mode.LOW, resource=resource, remaining=after.budgets[resource].remaining)
        elif was is Mode.LOW and now_is is Mode.NORMAL:
            self._tell("low_left", Mode.NORMAL, resource=resource)

    def _change(self, decide: Callable[[LimitState], LimitState]) -> tuple[LimitState, LimitState]:
        before = LimitState(self.key)

        def noting(state: LimitState) -> LimitState:
            nonlocal before
            before = state
            return decide(state)

        after = self._store.change(self.key, noting)
        return before, after

    def _tell(self, event: str, mode: Mode, **values: object) -> None:
        level = "info" if mode is Mode.NORMAL else "warning"
        self._observer.event(f"limiter.{event}", level, credential=self.key, **values)
        for each in Mode:
            self._observer.gauge("pointsman_forge_mode", float(each is mode), credential=self.key, mode=each.value)


class Limiters:
    """One limiter per credential of this process."""

    def __init__(self, store: LimiterStore, clock: Timekeeper, observer: Observer | None = None) -> None:
        self._store = store
        self._clock = clock
        self._observer = observer
        self._lock = threading.Lock()
        self._known: dict[str, Limiter] = {}

    def of(self, kind: str, host: str, digest: str, writes_per_minute: int | None = None) -> Limiter:
        """The limiter of the secret with this digest at this host; the first caller's pace holds."""
        key = f"{host}/{digest[:16]}"
        with self._lock:
            if key not in self._known:
                pace = PACES[kind]
                pace = replace(pace, per_minute=writes_per_minute) if writes_per_minute else pace
                self._known[key] = Limiter(key, self._store, self._clock, pace, self._observer)
            return self._known[key]
