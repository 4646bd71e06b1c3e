"""The vocabulary of calls to a forge: how far a request came, what proves that nothing left, what an answer means.

Frozen values only, read by everybody in this package and kept on effect rows; nothing here sends, decides or knows a
forge (connectors.md 5, 11, 12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")
MESSAGE_CHARACTERS = 500
"""Longest message kept of a forge's answer."""


class Phase(IntEnum):
    """How far the first hop of a request came, in order (connectors.md 11)."""

    NONE = 0
    CONNECTING = 1
    TLS = 2
    CONNECTED = 3
    HEAD_BEGUN = 4
    HEAD_SENT = 5
    BODY_SENT = 6
    ANSWER_HEAD = 7
    ANSWER_END = 8

    @property
    def word(self) -> str:
        """The name as rows and people see it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class WireRecord:
    """What our own transport noted about one call.

    ``handed`` counts bytes of the origin request that a socket was given, ``head_failed`` says that the client began
    the head and could not write it, ``status`` is that of the answer head, 0 without one. A proxy's CONNECT is kept
    apart in ``proxy_phase``. ``seconds`` is how long the call took.
    """

    phase: Phase = Phase.NONE
    status: int = 0
    head_failed: bool = False
    handed: int = 0
    proxy_phase: Phase = Phase.NONE
    started_at: datetime | None = None
    seconds: float = 0.0

    @property
    def nothing_left(self) -> bool:
        """The first witness: no byte of the origin request was handed to a socket."""
        unbegun = self.phase <= Phase.CONNECTED or (self.phase is Phase.HEAD_BEGUN and self.head_failed)
        return unbegun and not self.handed

    def as_json(self) -> dict[str, object]:
        """The record as rows keep it."""
        return {
            "phase": self.phase.word,
            "status": self.status,
            "head_failed": self.head_failed,
            "handed": self.handed,
            "proxy_phase": self.proxy_phase.word,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "seconds": round(self.seconds, 3),
        }


class Proof(StrEnum):
    """The second witness: what kind of failure it was, each one that happens before a request leaves."""

    ADDRESS_REFUSED = "address_refused"
    NOT_RESOLVED = "not_resolved"
    NOT_CONNECTED = "not_connected"
    TLS_NOT_ESTABLISHED = "tls_not_established"
    NO_POOL_SLOT = "no_pool_slot"
    NOT_SERIALISABLE = "not_serialisable"
    TUNNEL_REFUSED = "tunnel_refused"
    UNUSABLE_ADDRESS = "unusable_address"
    NO_CREDENTIAL = "no_credential"
    """The credential could not be had (an app's token was due and not given)."""


class AnswerKind(StrEnum):
    """What an answer other than success means (connectors.md 12)."""

    UNAUTHORISED = "unauthorised"
    FORBIDDEN = "forbidden"
    NOT_FOUND_OR_HIDDEN = "not_found_or_hidden"
    GONE = "gone"
    CONFLICT = "conflict"
    PRECONDITION = "precondition"
    INVALID = "invalid"
    ARCHIVED_OR_LOCKED = "archived_or_locked"
    UNAVAILABLE_FOR_LEGAL_REASONS = "unavailable_for_legal_reasons"
    REFUSED = "refused"
    MOVED = "moved"
    THROTTLED = "throttled"
    PENDING = "pending"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class AnswerError:
    """An answer that is no plain success, as one value. ``message`` is the forge's text, cut, for people only."""

    kind: AnswerKind
    status: int = 0
    code: str = ""
    message: str = ""
    retry_at: datetime | None = None
    request_id: str = ""
    where: str = ""


class StopReason(StrEnum):
    """Why a listing is not complete (connectors.md 5)."""

    PAGE_FAILED = "page_failed"
    PAGE_CAP = "page_cap"
    DEADLINE = "deadline"
    LOOP = "loop"
    THROTTLED = "throttled"
    DECODE = "decode"
    CLAMPED = "clamped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Unfit:
    """An item of a page whose payload does not fit: its number when that could be read, and the field's name."""

    number: int
    where: str


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """A collection as far as it was read. ``complete`` only when the end was reached; else ``stopped`` and ``why``.

    ``date`` is the ``Date`` of the last answer. ``skipped`` counts items that are of no use by kind (pull requests,
    incidents, drafts, system notes). ``moved_to`` is where it was read, when the forge sent there for good.
    """

    items: tuple[T, ...] = ()
    complete: bool = True
    stopped: StopReason | None = None
    why: str = ""
    date: datetime | None = None
    unfit: tuple[Unfit, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    moved_to: str = ""
