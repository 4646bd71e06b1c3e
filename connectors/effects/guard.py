"""THE DOOR of every change of a forge: its turn, its row, one request, and what a lost answer meant (connectors.md 8).

Called by the operations and by the board over labels with a row that stands for the change; the row is the engine's for
a node, the dispatcher's for a board write. ``send`` is one request, ``look`` a read that says how it is now. Nothing is
repeated but what its class allows, at most twice, a second apart, inside the call's time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from connectors.answer import AnswerKind
from connectors.deadline import Deadline, Timekeeper
from connectors.errand import Errand, HearsNothing, Purpose
from connectors.errors import (
    AmbiguousEffect,
    ConnectorError,
    EffectPending,
    Evidence,
    ForgeError,
    ForgeRefused,
    NotSent,
    Unreachable,
)

T = TypeVar("T")
REPEATS = 2
"""How often a change is sent again at most."""
BETWEEN = 1.0
"""Seconds between two sends of one change."""
LAGS = (0.0, 3.0, 6.0)
"""Seconds after an answer at which the read back is made: up to three reads over ten seconds (connectors.md 6)."""
LOOKS_AGAIN = frozenset({404, 409, 412, 422})
"""Refusals behind which the object is read before they count."""
EXISTS = frozenset({400, 409, 422})
"""How the forges say that what is to be made is there already."""


class Effect(StrEnum):
    """What a lost answer means; the catalogue gives each operation its class."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    GUARDED = "guarded"
    AMBIGUOUS = "ambiguous"


class Row(Protocol):
    """The row of one change, as its sender meets it."""

    @property
    def effect_id(self) -> str:
        """The id that the request carries down to the transport."""
        ...

    @property
    def marker(self) -> str:
        """The line for created texts."""
        ...

    def stopped(self) -> bool:
        """Whether the order was taken back."""
        ...

    def sending(self) -> None:
        """Commit that bytes may leave; raises when they may not."""
        ...

    def note(self, known: Known) -> None:
        """Keep what is known beside the answer; the last one counts."""
        ...


class Pace(Protocol):
    """Whose turn it is to write with this credential."""

    def admit(self, errand: Errand, stopped: Callable[[], bool]) -> None:
        """Wait for the turn. Raises ``Withdrawn``, ``RateLimited``."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What the row keeps beside the answer."""

    status: int = 0
    wire: Mapping[str, object] | None = None
    pending: bool = False
    read_back: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """As wanted. ``note`` names what else was seen, a duplicate for example."""

    result: T
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """Not as wanted; the change may be made (again)."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Not as wanted and not as expected: somebody else decided. ``why`` is a sentence."""

    why: str


Sight = Done[T] | Ready | Conflict


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One change as its operation declares it.

    ``exists_is_done``: an answer of ``EXISTS`` may mean that the object is there, which ``look`` decides.
    ``looks_first``: the state is read before anything is sent, and ``already`` makes the result of one that is as
    wanted. ``settles``: the answer is believed only when ``look`` shows it; what does not show is lost, or refused in
    silence, as ``dropped`` says in a sentence.
    """

    effect: Effect
    send: Callable[[Errand], T]
    look: Callable[[Errand], Sight[T]] | None = None
    looks_first: bool = False
    settles: bool = False
    exists_is_done: bool = False
    already: Callable[[T], T] = lambda result: result
    dropped: str = ""


class Told:
    """The hearing of one send: passes X3 and X4 on, and remembers the status and whether the request left."""

    def __init__(self, passed: Callable[[str], None]) -> None:
        self.status = 0
        self.left = False
        self._passed = passed

    def handed_over(self) -> None:
        """X3."""
        self.left = True
        self._passed("X3")

    def answered(self, status: int) -> None:
        """X4."""
        self.status = status
        self._passed("X4")


@dataclass(frozen=True, slots=True)
class Guard:
    """The door of one credential. ``passed`` is told the points X3 and X4 (connectors.md 9)."""

    pace: Pace
    clock: Timekeeper
    passed: Callable[[str], None] = lambda _point: None

    def carry_out(self, change: Change[T], row: Row, errand: Errand, seconds: float) -> T:
        """Make the change and answer its result; ``seconds`` bound all tries together.

        Raises ``Withdrawn``, ``NotSent``, ``RateLimited``, ``ForgeRefused`` and ``AmbiguousEffect``.
        """
        return _Carrying(self, change, row, errand, Deadline.after(self.clock, seconds)).run()


@dataclass(slots=True)
class _Carrying(Generic[T]):
    """One change under way."""

    guard: Guard
    change: Change[T]
    row: Row
    errand: Errand
    deadline: Deadline

    def run(self) -> T:
        """Look, send, judge; again while the class allows it."""
        if self.change.looks_first:
            seen = self._look()
            if isinstance(seen, Done):
                return self.change.already(seen.result)
            self._refuse_conflict(seen, sent=False)
        for left in range(REPEATS, -1, -1):
            error: ForgeError | None = None
            try:
                answer = self._send()
            except ForgeError as problem:
                error = problem  # judged outside: what is raised then has no lost answer among its causes
            if error is None:
                return self._believed(answer)
            found = self._judged(error, may_repeat=left > 0)
            if found is not None:
                return found.result
        raise AssertionError("the last try returns or raises")

    def _judged(self, error: ForgeError, *, may_repeat: bool) -> Done[T] | None:
        """What came of a send that raised: the result, the error again, or None when it may be sent once more."""
        self._keep(error, pending=isinstance(error, EffectPending))
        if isinstance(error, ForgeRefused):
            return Done(self._after_refusal(error))
        if isinstance(error, EffectPending | AmbiguousEffect):
            return self._after_loss(error, may_repeat=may_repeat)
        if not isinstance(error, NotSent) or not may_repeat or not self._pause(BETWEEN):
            raise error
        return None

    def _send(self) -> T:
        before = self.guard.clock.monotonic()
        self.guard.pace.admit(self.errand, self.row.stopped)
        waited = self.guard.clock.monotonic() - before
        self.deadline = replace(self.deadline, at=self.deadline.at + waited)  # the wait for a turn is not the call's
        self.row.sending()
        hearing = Told(self.guard.passed)
        try:
            answer = self.change.send(replace(self.errand, effect_id=self.row.effect_id, hearing=hearing))
        except Unreachable as problem:
            raise _unread(problem, self.row, left=hearing.left) from problem
        self.row.note(Known(status=hearing.status))
        return answer

    def _believed(self, answer: T) -> T:
        """The answer, once a read shows it where the forge is known to drop things in silence."""
        if not self.change.settles:
            return answer
        seen = self._read_back(LAGS)
        if isinstance(seen, Done):
            return seen.result
        self._refuse_conflict(seen, sent=True)
        told = Evidence(kind="not_applied", status=0 if self.change.dropped else 200)
        text = self.change.dropped or "the forge accepted the change and does not show it"
        raise ForgeRefused(text, "look at the card", evidence=told)

    def _after_refusal(self, error: ForgeRefused) -> T:
        looks = error.status in LOOKS_AGAIN and self.change.effect is not Effect.AMBIGUOUS
        if self.change.look is None or not (looks or (self.change.exists_is_done and error.status in EXISTS)):
            raise error
        try:
            seen = self._look()
        except ConnectorError:
            raise error from None
        if isinstance(seen, Done):
            self.row.note(Known(error.status, error.evidence.wire, read_back=True, note=seen.note))
            return seen.result
        raise error

    def _after_loss(self, error: ForgeError, *, may_repeat: bool) -> Done[T] | None:
        """What a read says of a lost or pending answer; None when the change may be sent again."""
        pending = isinstance(error, EffectPending)
        if self.change.look is None and self.change.effect is Effect.IDEMPOTENT and not pending:
            self._again(error, may_repeat=may_repeat)
            return None
        if self.change.look is None or (self.change.effect is Effect.AMBIGUOUS and not pending):
            raise _lost(error, self.row)
        seen = self._read_back(_until(self.deadline) if pending else (0.0,), error)
        if isinstance(seen, Done):
            self._keep(error, pending=pending, read_back=True, note=seen.note or "found by reading back")
            return seen
        if pending:
            raise _lost(error, self.row)
        self._refuse_conflict(seen, sent=True, error=error)
        self._again(error, may_repeat=may_repeat)
        return None

    def _again(self, error: ForgeError, *, may_repeat: bool) -> None:
        if not may_repeat or not self._pause(BETWEEN):
            raise _lost(error, self.row)

    def _read_back(self, waits: tuple[float, ...], error: ForgeError | None = None) -> Sight[T]:
        """The state after the write, which may lag. Raises what made a read impossible as a lost answer."""
        seen: Sight[T] = Ready()
        for wait in waits:
            if wait and not self._pause(wait):
                break
            try:
                seen = self._look()
            except ConnectorError as problem:
                text = f"what was sent could not be read back: {problem.message}"
                told = error.evidence if error is not None else Evidence()
                raise AmbiguousEffect(text, effect_id=self.row.effect_id, evidence=told) from problem
            if not isinstance(seen, Ready):
                break
        return seen

    def _look(self) -> Sight[T]:
        assert self.change.look is not None
        return self.change.look(replace(self.errand, effect_id="", purpose=Purpose.SETTLE, hearing=HearsNothing()))

    def _refuse_conflict(self, seen: Sight[T], *, sent: bool, error: ForgeError | None = None) -> None:
        if not isinstance(seen, Conflict):
            return
        told = error.evidence if error is not None else Evidence()
        evidence = replace(told, kind="superseded" if sent else AnswerKind.CONFLICT.value, status=409)
        if sent:
            self.row.note(Known(told.status, told.wire, read_back=True, note=seen.why))
        raise ForgeRefused(seen.why, "somebody else decided meanwhile; look at it on the forge", evidence=evidence)

    def _keep(self, error: ForgeError, *, pending: bool = False, read_back: bool = False, note: str = "") -> None:
        told = error.evidence
        self.row.note(Known(told.status, told.wire, pending, read_back, note or told.proof))

    def _pause(self, seconds: float) -> bool:
        """Wait, unless the time is over before or the order is taken back; whether the wait ended well."""
        if self.deadline.remaining() <= seconds or self.row.stopped():
            return False
        self.guard.clock.wait(threading.Event(), seconds)
        return not self.row.stopped()


def _until(deadline: Deadline) -> tuple[float, ...]:
    """Growing waits that fill what is left."""
    waits, step, left = [1.0], 2.0, deadline.remaining() - 1.0
    while left > step:
        waits.append(step)
        left -= step
        step = min(step * 2, 15.0)
    return tuple(waits)


def _unread(problem: Unreachable, row: Row, *, left: bool) -> ForgeError:
    """What a read that failed within a send means: before the change was begun nothing was sent."""
    if left:
        return AmbiguousEffect(problem.message, problem.hint, effect_id=row.effect_id, evidence=problem.evidence)
    text = f"what the change needs to know could not be read: {problem.message}"
    return NotSent(text, problem.hint, evidence=problem.evidence)


def _lost(error: ForgeError, row: Row) -> AmbiguousEffect:
    if isinstance(error, AmbiguousEffect):
        error.effect_id = row.effect_id
        return error
    told = replace(error.evidence, kind=AnswerKind.PENDING.value)
    text = "the forge took the order and does not show that it carried it out"
    return AmbiguousEffect(text, effect_id=row.effect_id, evidence=told)
