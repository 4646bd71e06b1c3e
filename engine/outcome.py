"""What executing a node gives back: one of three frozen values, never an exception.

Made by ``nodes``, classified by ``runtime/step.py``, written by nobody else than its ``settle`` (house: two straight
lines). Implements the vocabulary of engine.md 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.failures import FailureCode


@dataclass(frozen=True, slots=True)
class Completed:
    """The node gave an output. ``tokens`` and ``cost_usd`` are its spend; ``warnings`` go to the run's log."""

    output: Mapping[str, object]
    tokens: int = 0
    cost_usd: float = 0.0
    warnings: tuple[str, ...] = ()


RECOVERY = "recovery"
"""Kind of the question whether a failed node shall run again (engine.md 6.5)."""
ASYNC = "async"
"""Kind of a question that does not stop its run (engine.md 7.4)."""
CHILD_WAITING = "child_waiting"
"""Kind of the pause of a parent whose child waits for a person: the question is the child's (engine.md 9.6)."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a paused node asks: kind ``human``, ``recovery``, ...; ``questions`` is shown read-only, ``fields`` is the
    answer form as ``{"name", "type", "enum"}`` objects, ``instructions`` the rendered prompt."""

    kind: str
    questions: Mapping[str, object] = field(default_factory=dict)
    fields: tuple[Mapping[str, object], ...] = ()
    instructions: str = ""
    min_answers: int = 0


@dataclass(frozen=True, slots=True)
class Paused:
    """The node waits for a person."""

    question: Question


@dataclass(frozen=True, slots=True)
class Failed:
    """The node failed. ``code`` is an engine code or one that a fail node declares; ``deliberate`` marks the latter.

    ``retry_after`` in seconds is what a remote asked for, 0 when it asked for nothing. ``tokens`` and ``cost_usd`` are
    what the failed attempt spent; they are booked like those of a success (engine.md 6.3).
    ``effect`` is the id of the row of the remote call that failed (engine.md 5.3).
    """

    code: FailureCode | str
    message: str
    deliberate: bool = False
    resumable: bool = True
    retry_after: float = 0.0
    cause: BaseException | None = None
    tokens: int = 0
    cost_usd: float = 0.0
    effect: str = ""


Outcome = Completed | Paused | Failed
