"""What the engine needs from its host, as protocols: time, ids, connector operations and what they raise.

Implemented in ``dispatcher/wiring.py`` and in tests; the engine imports no implementation (house: floors). Intervals
come from ``monotonic``, instants from ``now``; nobody below calls ``datetime.now`` or ``time.sleep`` (engine.md 2.4).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable


def as_it_is(value: object) -> object:
    """How a host that knows no secrets takes them out of a JSON value."""
    return value


class Clock(Protocol):
    """Wall and monotonic time, and a wait that an event can end."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never steps."""
        ...

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set or ``seconds`` passed; True when it was set."""
        ...


class IdMaker(Protocol):
    """Makes identifiers that have never been used."""

    def new(self, prefix: str = "") -> str:
        """A fresh identifier of letters and digits, after ``prefix``."""
        ...


@runtime_checkable
class AmbiguousEffect(Protocol):
    """What an exception offers when it may stand for a performed mutation (engine.md 5.1)."""

    def ambiguous_effect(self) -> bool:
        """True when the mutation may have happened."""
        ...


@runtime_checkable
class NotSent(Protocol):
    """What an exception offers when it can prove that nothing was sent (engine.md 5.2)."""

    def nothing_sent(self) -> bool:
        """True when no byte of the request was handed over."""
        ...


@runtime_checkable
class Refused(Protocol):
    """What an exception offers when the remote answered and did not do it."""

    def refused_status(self) -> int:
        """The HTTP status of the answer, 0 when it has none."""
        ...


@runtime_checkable
class RateLimited(Protocol):
    """What an exception offers when the remote asks to wait and did nothing."""

    def limited_until(self) -> datetime | None:
        """The instant (UTC) that the remote named, None when it named none."""
        ...


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One operation of a connector as a node asks for it (language.md 5.6).

    ``params`` are of the catalogue's types. ``timeout`` in seconds is the node's own, 0 for the connection's default;
    ``within`` in seconds is what the run has left at most.
    """

    operation: str
    connection: str
    params: Mapping[str, object] = field(default_factory=dict)
    idempotency_key: str = ""
    timeout: float = 0.0
    within: float = 0.0


@dataclass(frozen=True, slots=True)
class Witness:
    """What is known of a call besides its answer (connectors.md 9).

    ``status`` is the HTTP status, 0 for none; ``wire`` the transport's record as plain values. ``pending``: the remote
    took the order and had not done it (202). ``read_back``: a read, not the answer, shows what became of the call.
    """

    status: int = 0
    wire: Mapping[str, object] = field(default_factory=dict)
    pending: bool = False
    read_back: bool = False
    note: str = ""


class EffectGuard(Protocol):
    """What a runner is given with a call: the row that stands for it, and what it has to tell while it works."""

    @property
    def effect_id(self) -> str:
        """The id of the row, empty for a call that changes nothing."""
        ...

    @property
    def marker(self) -> str:
        """The line that a created text carries, invisible, so that it can be found again; empty for a read."""
        ...

    def stopped(self) -> bool:
        """Whether the run was told to stop: a wait before the request left ends then."""
        ...

    def sending(self) -> None:
        """Commit that bytes may leave from now on: called before each request of a mutation, never for a read.

        Raises what ends the call before anything left: the run was told to stop, or belongs to somebody else.
        """
        ...

    def witness(self, witness: Witness) -> None:
        """Told what the row keeps beside the answer; the last one counts."""
        ...

    def key_sent(self) -> None:
        """Told when the idempotency key leaves with the request: from then on a repeat is safe."""
        ...


class OperationRunner(Protocol):
    """Runs one operation of a connector, once; handed over by the host."""

    def run(self, call: OperationCall, guard: EffectGuard) -> Mapping[str, object]:
        """The operation's result; ``guard.sending`` is called right before a request that changes something.

        What it raises is read by protocol: ``AmbiguousEffect``, ``NotSent``, ``Refused``, ``RateLimited``; of a
        mutation anything else counts as ambiguous (engine.md 5.2).
        """
        ...


class SentEffect(Protocol):
    """What a probe may know of a row."""

    @property
    def id(self) -> str:
        """The effect's id, as the marker carries it."""
        ...

    @property
    def connection(self) -> str:
        """The connection by name."""
        ...

    @property
    def operation(self) -> str:
        """The operation by its dotted name."""
        ...

    @property
    def params(self) -> Mapping[str, object]:
        """What was to be sent."""
        ...

    @property
    def marker(self) -> str:
        """The marker that the remote object carries when it exists."""
        ...

    @property
    def created_at(self) -> datetime:
        """When the row was written."""
        ...

    @property
    def sent_at(self) -> datetime | None:
        """When it was committed that bytes may leave, None while they may not."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """The call was made: ``response`` is what it answers. ``note``: what else was seen, a duplicate by its address."""

    response: Mapping[str, object] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Undone:
    """A complete read shows that what was wanted does not hold, and a new call finds out for itself whether it may be
    made: only of calls whose repetition is safe. ``why`` is a sentence."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class NotFound:
    """Nothing was found, which proves nothing."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The remote could not be asked; ``reason`` says why."""

    reason: str = ""


Probed = Found | Undone | NotFound | Unreadable


class EffectProbe(Protocol):
    """Asks a remote whether a call was made; handed over by the host (engine.md 5.4)."""

    def probe(self, effect: SentEffect) -> Probed:
        """The answer; it raises nothing."""
        ...


class FindsNothing:
    """The probe of a host that has none."""

    def probe(self, effect: SentEffect) -> Probed:
        """Nothing."""
        return NotFound()


@dataclass(frozen=True, slots=True)
class Remote:
    """What a host lends for connector operations."""

    runner: OperationRunner
    probe: EffectProbe = field(default_factory=FindsNothing)
    check: Callable[[OperationCall], str] = lambda _call: ""
    """Why these parameters cannot be used, a sentence; empty when they can. Asked before anything is written down."""
    shown: Callable[[Mapping[str, object]], Mapping[str, object]] = lambda params: params
    """The parameters as they may be stored: without secrets."""
    passed: Callable[[str], None] = lambda _point: None
    """Told each point X1, X2 and X5 that lies behind an effect (connectors.md 9)."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of ``time.monotonic``."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait on the event itself."""
        return event.wait(max(0.0, seconds))


class RandomIds:
    """Identifiers from the system's randomness: 26 lower-case characters that sort by creation time."""

    def new(self, prefix: str = "") -> str:
        """A fresh identifier: 12 hex digits of the time in milliseconds, 14 of randomness."""
        return f"{prefix}{time.time_ns() // 1_000_000:012x}{uuid.uuid4().hex[:14]}"
