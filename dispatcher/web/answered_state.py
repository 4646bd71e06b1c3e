"""The shape of ``GET /api/dispatcher``, for the contract like ``answered``; ``dispatcher.state`` makes the document."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from dispatcher.web.answered import Instant


class Configuration(BaseModel):
    """The configuration in force."""

    generation: int
    loaded_at: Instant
    error: str | None
    restart_required: list[str]
    watch: Literal["events", "polling"]


class Slots(BaseModel):
    """How many runs execute and may."""

    used: int
    max: int
    over: int = 0
    overdue: int = 0


class Tick(BaseModel):
    """The last tick, and when the next one comes."""

    number: int = 0
    started_at: Instant | None = None
    seconds: float = 0.0
    phase: str | None = None
    next_at: Instant | None = None
    complete: bool = False


class Desired(BaseModel):
    """What people want of the daemon."""

    state: Literal["running", "paused", "draining"]
    by: str | None
    since: Instant | None


class Degraded(BaseModel):
    """What does not work as it should."""

    code: str
    text: str
    board: str = ""
    since: Instant | None = None


class LastError(BaseModel):
    """The last thing that went wrong, until a success of the same place."""

    at: Instant
    where: str
    text: str
    cleared_at: Instant | None


class CardRow(BaseModel):
    """A card of the state: id, board, number."""

    card: str
    board: str
    number: int


class RunningRow(CardRow):
    """A run that executes."""

    run_id: str
    attempt: int
    since: Instant | None = None
    last_sign_at: Instant | None = None
    cost_usd: float = 0.0
    node: str = ""


class ParkedRow(CardRow):
    """A card that waits for a person."""

    run_id: str
    cause: str
    since: Instant
    text: str
    unblock: str


class RetryRow(CardRow):
    """A card that waits for its next attempt."""

    run_id: str | None
    attempt: int
    max: int
    code: str
    not_before: Instant


class HeldRow(CardRow):
    """A card that does not run, and why."""

    code: str
    text: str
    unblock: str
    since: Instant


class MoveRow(BaseModel):
    """A move that no read has shown yet."""

    card: str
    board: str
    from_: str = Field(alias="from")
    to: str
    since: Instant


class Cap(BaseModel):
    """A cap, how much of it is used, and since when it is full."""

    name: str
    used: int
    limit: int
    full_since: Instant | None


class Breaker(BaseModel):
    """A circuit breaker that is open, or on trial."""

    scope: str
    name: str
    cause: str
    state: str
    until: Instant | None


class Credential(BaseModel):
    """A forge's credential by its digest, and what is left of its budget."""

    id: str
    remaining: int | None
    reset_at: Instant | None
    throttled_until: Instant | None
    refused: str | None


class BoardRow(BaseModel):
    """A board as it was read last."""

    name: str
    kind: str
    last_complete_at: Instant | None
    cards: dict[str, int]
    degraded: str | None
    standby: dict[str, JsonValue] | None
    credential: Credential | None


class Cost(BaseModel):
    """What was spent today."""

    day: str
    spent_usd: float
    limit_usd: float
    unpriced: int


class Unsettled(BaseModel):
    """A remote call whose answer was lost."""

    id: str
    run_id: str
    node_id: str
    operation: str


class Effects(BaseModel):
    """The remote calls in doubt."""

    ambiguous: int
    unsettled: list[Unsettled]


class State(BaseModel):
    """The dispatcher's state as of the last tick; before the first one, only what is known without it."""

    name: str = ""
    version: str
    instance: str
    since: Instant
    ready: bool
    config: Configuration
    slots: Slots
    tick: Tick
    desired: Desired | None = None
    drained: bool = False
    degraded: list[Degraded] = []
    last_error: LastError | None = None
    running: list[RunningRow] = []
    parked: list[ParkedRow] = []
    retries: list[RetryRow] = []
    held: list[HeldRow] = []
    pending_moves: list[MoveRow] = []
    caps: list[Cap] = []
    breakers: list[Breaker] = []
    boards: list[BoardRow] = []
    cost: Cost | None = None
    effects: Effects | None = None
