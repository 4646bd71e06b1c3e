"""The bodies that the web side takes; unknown keys are refused, text is no number and a number is no text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from engine.states import RunStatus

BAD_TEXT = "bad_text"
"""The kind of finding for a text that no store can hold."""
MOST = 2**53 - 1
Count = Annotated[int, Field(ge=0, le=MOST)]
"""A number that every reader of JSON, and a store, can count with."""
Reason = Annotated[str, Field(max_length=1000)]
"""A sentence for the record."""
RUN_ID = r"^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$"
"""A run's id, or none."""
Title = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": 500})]
Text = Annotated[str, Field(json_schema_extra={"minLength": 1})]


class Body(BaseModel):
    """What all bodies share."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        """Texts are valid Unicode; a NUL is told by whoever knows what the text is for."""
        if _broken(given):
            raise PydanticCustomError(BAD_TEXT, "it should hold valid Unicode, and a lone surrogate is none")
        return given


def _broken(value: Any) -> bool:
    """Whether there is a lone surrogate in any text of a JSON value."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and not each.isascii() and not _encodes(each):
            return True
    return False


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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

    title: Title
    board: str = ""


class PatchCard(CardBody):
    """``PATCH /api/cards/{id}``; with ``version`` only if the card is still at it."""

    title: str | None = None
    last_run: str | None = None
    version: str | int | None = None


class MoveCard(Body):
    """``POST /api/cards/{id}/move``."""

    to: Text
    expect: str | None = None
    version: str | int | None = None
    reason: Reason = ""


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
    limit: Count | None = None
    offset: Count = 0
    board: str = ""


class RunPage(Filters):
    """``GET /api/runs``; ``status`` may be repeated, a ``limit`` of 0 lists all."""

    status: list[Annotated[str, Field(examples=list(RunStatus))]] = []
    workflow: str = ""
    limit: Count = 0
    offset: Count = 0


class EventPage(Filters):
    """``GET /api/runs/{id}/events``: what came after ``since``, at most ``limit``."""

    since: Count = 0
    limit: int = Field(default=1000, ge=1, le=MOST)


class HistoryPage(EventPage):
    """``GET /api/cards/{id}/history``: the same, of a card of ``board``."""

    board: str = ""


class PlaceCard(Body):
    """``POST /api/cards/{id}/place``: one of the two, as a card is named anywhere."""

    before: str = ""
    after: str = ""


class CommentCard(Body):
    """``POST /api/cards/{id}/comments``."""

    text: Text


class Budget(Body):
    """Caps asked for with a resume; what is not named is inherited. ``max_duration`` as people write it, ``4h``."""

    max_cost_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    max_tokens: Count = 0
    max_duration: str = ""
    max_iterations: Count = 0
    max_parallel_branches: Count = 0


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

    reason: Reason = ""


class RewindRun(Body):
    """``POST /api/runs/{id}/rewind``: either ``node`` or ``auto``; ``restore_scope`` produced, full or none."""

    node: str = ""
    auto: bool = False
    restore_scope: Literal["", "produced", "full", "none"] = ""
    keep_files: bool = False
    file: str | None = None


class SignIn(Body):
    """``POST /api/session``."""

    token: str


class PauseDispatcher(Body):
    """``POST /api/dispatcher/pause``: ``pause`` starts nothing, ``drain`` lets what exists come to its end."""

    mode: Literal["pause", "drain"] = "pause"


class Nothing(Body):
    """An empty object, or no body."""
