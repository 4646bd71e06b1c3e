"""The bodies that the web side takes; unknown keys are refused, text is no number and a number is no text."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """What all bodies share."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CardBody(Body):
    """The values of a card that people set; None leaves them (when creating: at the default)."""

    body: str | None = None
    column: str | None = None
    labels: list[str] | None = None
    priority: int | None = None
    assignee: str | None = None
    blockers: list[str] | None = None
    fields: dict[str, Any] | None = None
    bot: str | None = None
    bot_args: dict[str, Any] | None = None
    not_before: str | None = None
    url: str | None = None


class CreateCard(CardBody):
    """``POST /api/cards``."""

    title: str
    board: str = ""


class PatchCard(CardBody):
    """``PATCH /api/cards/{id}``; with ``version`` only if the card is still at it."""

    title: str | None = None
    last_run: str | None = None
    version: str | int | None = None


class MoveCard(Body):
    """``POST /api/cards/{id}/move``."""

    to: str
    expect: str | None = None
    version: str | int | None = None
    reason: str = ""


class Filters(BaseModel):
    """The query of a list; text is read into the type of each value, unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CardFilters(Filters):
    """``GET /api/cards``; ``column`` may be repeated, an empty ``board`` means the first native one."""

    column: list[str] = []
    label: str = ""
    assignee: str = ""
    claimed: bool | None = None
    text: str = ""
    archived: bool = False
    view: str = ""
    limit: int | None = Field(default=None, ge=0)
    offset: int = Field(default=0, ge=0)
    board: str = ""


class RunPage(Filters):
    """``GET /api/runs``; ``status`` may be repeated, a ``limit`` of 0 lists all."""

    status: list[str] = []
    workflow: str = ""
    limit: int = Field(default=0, ge=0)
    offset: int = Field(default=0, ge=0)


class EventPage(Filters):
    """``GET /api/runs/{id}/events``: what came after ``since``, at most ``limit``."""

    since: int = Field(default=0, ge=0)
    limit: int = Field(default=1000, ge=1)


class PlaceCard(Body):
    """``POST /api/cards/{id}/place``: one of the two, as a card is named anywhere."""

    before: str = ""
    after: str = ""


class CommentCard(Body):
    """``POST /api/cards/{id}/comments``."""

    text: str


class Budget(Body):
    """Caps asked for with a resume; what is not named is inherited. ``max_duration`` as people write it, ``4h``."""

    max_cost_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    max_tokens: int = Field(default=0, ge=0)
    max_duration: str = ""
    max_iterations: int = Field(default=0, ge=0)
    max_parallel_branches: int = Field(default=0, ge=0)


class Upload(Body):
    """A file that comes with an answer: its own name, and its bytes in base64."""

    filename: str = Field(min_length=1)
    content: str


class ResumeRun(Body):
    """``POST /api/runs/{id}/resume``; ``files`` by the name of the field that asks for one, or ``_attachments``."""

    answers: dict[str, Any] | None = None
    files: dict[str, list[Upload]] = {}
    force: bool = False
    budget: Budget = Budget()
    source: str | None = None


class CancelRun(Body):
    """``POST /api/runs/{id}/cancel``."""

    reason: str = ""


class RewindRun(Body):
    """``POST /api/runs/{id}/rewind``: either ``node`` or ``auto``; ``restore_scope`` produced, full or none."""

    node: str = ""
    auto: bool = False
    restore_scope: str = ""
    keep_files: bool = False
    file: str | None = None


class SignIn(Body):
    """``POST /api/session``."""

    token: str


class PauseDispatcher(Body):
    """``POST /api/dispatcher/pause``: ``pause`` starts nothing, ``drain`` lets what exists come to its end."""

    mode: str = Field(default="pause", pattern="^(pause|drain)$")


class Nothing(Body):
    """An empty object, or no body."""
