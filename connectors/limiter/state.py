"""What is known of one credential's limits: the durable row and the protocol of its store (connectors.md 13).

Frozen; changed by the pure functions of ``decisions`` only. Instants are aware, UTC, by our own clock: what the forge
says in its time was turned into a distance before it comes here. The store is implemented in ``dispatcher/ledger`` and,
for dry runs and tests, by ``MemoryLimiterStore``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class Mode(StrEnum):
    """How freely a credential may be used."""

    NORMAL = "normal"
    LOW = "low"
    """Less than a fifth of the budget is left: what is running comes first."""
    BLOCKED = "blocked"
    """The forge asked to wait; nothing is sent."""


@dataclass(frozen=True, slots=True)
class Budget:
    """One resource's budget as the forge last told it; ``low`` remembers where the hysteresis stands."""

    remaining: int
    limit: int
    reset_at: datetime | None = None
    low: bool = False

    @property
    def share(self) -> float:
        """What is left, between 0 and 1; 1 when the forge names no limit."""
        return self.remaining / self.limit if self.limit > 0 else 1.0


@dataclass(frozen=True, slots=True)
class LimitState:
    """The row of one credential.

    ``until``: nothing is sent before; ``throttles``: how often in a row the forge asked without saying how long;
    ``writes``: when recent writes start, seconds of the Unix clock, ascending; ``usage``: calls by
    ``purpose/resource``. ``refusals``: how often in a row the forge refused the credential, with ``refused_status``;
    ``refused_until``: when it is asked again, once they are too many.
    """

    credential: str
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    until: datetime | None = None
    throttles: int = 0
    writes: tuple[float, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    refusals: int = 0
    refused_status: int = 0
    refused_until: datetime | None = None

    def to_json(self) -> str:
        """The row's text."""
        told = asdict(replace(self, budgets={}, usage=dict(self.usage)))
        told["until"] = _text_of(self.until)
        told["refused_until"] = _text_of(self.refused_until)
        told["budgets"] = {
            name: {**asdict(budget), "reset_at": _text_of(budget.reset_at)} for name, budget in self.budgets.items()
        }
        return json.dumps(told, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> LimitState:
        """The row again. Raises ``ValueError`` and ``KeyError`` for a text of somebody else."""
        told: dict[str, Any] = json.loads(text)
        budgets = {
            name: Budget(**{**each, "reset_at": _instant_of(each["reset_at"])})
            for name, each in told["budgets"].items()
        }
        return cls(
            credential=told["credential"],
            budgets=budgets,
            until=_instant_of(told["until"]),
            throttles=int(told["throttles"]),
            writes=tuple(float(each) for each in told["writes"]),
            usage={str(key): int(value) for key, value in told["usage"].items()},
            refusals=int(told["refusals"]),
            refused_status=int(told["refused_status"]),
            refused_until=_instant_of(told["refused_until"]),
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """How a credential stands with its forge: what people and gates are told.

    ``waits_until``: nothing new begins before, since the forge asked to wait or little of the budget is left.
    ``refused`` is the status with which the forge refuses the credential, 0 when it does not.
    """

    credential: str
    remaining: int | None = None
    reset_at: datetime | None = None
    throttled_until: datetime | None = None
    waits_until: datetime | None = None
    refused: int = 0


class LimiterStore(Protocol):
    """Where the rows live."""

    def read(self, credential: str) -> LimitState:
        """The row, an empty one for a credential that nobody used yet."""
        ...

    def change(self, credential: str, decide: Callable[[LimitState], LimitState]) -> LimitState:
        """Read, decide and write as one step that no other process can split; ``decide`` is pure and may be called
        again when another was faster. Answers what was written."""
        ...


class MemoryLimiterStore:
    """Rows in memory, as text, so that what is kept is what a durable store keeps."""

    def __init__(self) -> None:
        self._rows: dict[str, str] = {}
        self._lock = threading.Lock()

    def read(self, credential: str) -> LimitState:
        """The row."""
        text = self._rows.get(credential)
        return LimitState.from_json(text) if text else LimitState(credential)

    def change(self, credential: str, decide: Callable[[LimitState], LimitState]) -> LimitState:
        """Under one lock."""
        with self._lock:
            changed = decide(self.read(credential))
            self._rows[credential] = changed.to_json()
        return changed


def _text_of(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None


def _instant_of(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
