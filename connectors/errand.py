"""Why a call to a forge is made, how long it may take, which effect it belongs to, and who hears how far it came.

Handed from whoever asks down to the transport with every call. A call that changes something without an effect id is a
programming error there (connectors.md 3). Nothing here decides or sends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol


class Purpose(StrEnum):
    """What a call is for: the limiter lets them pass in this order of need (connectors.md 13), and usage is counted."""

    LIST = "list"
    WATCH = "watch"
    """By-id reads of running, parked and pending cards."""
    SETTLE = "settle"
    PROBE = "probe"
    ACTION = "action"
    DOCTOR = "doctor"


class Hearing(Protocol):
    """Who is told by the transport how far one mutation came; both are called at most once, from the calling thread."""

    def handed_over(self) -> None:
        """The first bytes of the request were handed to the socket."""
        ...

    def answered(self, status: int) -> None:
        """The head of an answer was read."""
        ...


class HearsNothing:
    """The hearing of a read."""

    def handed_over(self) -> None:
        """Nothing."""

    def answered(self, status: int) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Errand:
    """One call's why. ``deadline``: seconds from name resolution to the last byte, 0 for the connection's own."""

    purpose: Purpose
    deadline: float = 0.0
    effect_id: str = ""
    hearing: Hearing = field(default_factory=HearsNothing)

    def reading(self, purpose: Purpose | None = None) -> Errand:
        """The same errand for a read beside the mutation."""
        return replace(self, purpose=purpose or self.purpose, effect_id="", hearing=HearsNothing())
