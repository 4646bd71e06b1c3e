"""The shapes of what the web side answers: for the contract at ``/api/openapi.json`` and its test, not for answering.

Documents are made by ``dispatcher.documents``, ``engine.documents`` and ``dispatcher.state``; a test holds each answer
against these shapes. Readers must bear keys that are not here: more may come.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, JsonValue

Instant = str
"""RFC 3339 in UTC with ``Z``."""


class Error(BaseModel):
    """What was found and what to do about it; the codes are listed with their statuses in the documentation."""

    code: str
    message: str
    hint: str


class Refusal(BaseModel):
    """Every answer that is no success."""

    error: Error


class Done(BaseModel):
    """It was done."""

    ok: bool


class Readiness(BaseModel):
    """Whether the daemon does its work, and why not."""

    ready: bool
    reasons: list[str]


class Accepted(BaseModel):
    """It will be looked at."""

    accepted: bool


class Taken(Accepted):
    """A delivery of a forge that was signed."""

    result: str


class PickUp(BaseModel):
    """What the daemon does from now on."""

    state: Literal["running", "paused", "draining"]


class Author(BaseModel):
    """Who did something."""

    kind: str
    name: str
    run_id: str | None


class Comment(BaseModel):
    """One comment of a card."""

    id: str
    author: Author
    text: str
    created_at: Instant
    edited_at: Instant | None


class ClaimOwner(BaseModel):
    """The process that holds a claim."""

    instance: str
    host: str
    pid: int


class Claim(BaseModel):
    """Who works on a card, or keeps it between attempts."""

    state: str
    epoch: int
    run_id: str | None
    owner: ClaimOwner
    claimed_at: Instant


class Idle(BaseModel):
    """Why a card does not run, and what would change it."""

    code: str
    text: str
    unblock: str
    since: Instant


class Card(BaseModel):
    """The card document."""

    id: str
    number: int
    board: str
    title: str
    body: str
    column: str
    labels: list[str]
    priority: int
    position: float | None
    assignee: str
    author: str
    bot: str
    bot_args: dict[str, JsonValue]
    fields: dict[str, JsonValue]
    blockers: list[str]
    not_before: str | None
    not_before_at: Instant | None
    closed: bool
    archived: bool
    url: str
    last_run: str | None
    last_run_status: str | None
    claim: Claim | None
    column_since: Instant
    column_by: Literal["person", "dispatcher", "forge", "bot"]
    column_run: str | None
    idle_reason: Idle | None
    version: str
    created_at: Instant
    updated_at: Instant


class WholeCard(Card):
    """The card document with its comments."""

    comments: list[Comment]


class UnreadCard(BaseModel):
    """A card whose row cannot be read."""

    id: str
    number: int
    error: str


class Cards(BaseModel):
    """A list of cards; ``complete`` is there, and false, only when a forge could not be read to the end."""

    cards: list[Card]
    unread: list[UnreadCard] = []
    complete: bool = True
    why: str = ""


class View(BaseModel):
    """A saved filter."""

    name: str
    columns: list[str]
    label: str
    assignee: str
    text: str
    archived: bool


class Views(BaseModel):
    """All saved filters."""

    views: list[View]


class BoardEvent(BaseModel):
    """One entry of a card's history."""

    seq: int
    time: Instant
    type: str
    card: str | None
    by: Author
    data: dict[str, JsonValue]


class History(BaseModel):
    """A page of a card's history; ``more`` says that the page is full."""

    events: list[BoardEvent]
    more: bool


class RunSummary(BaseModel):
    """A run in a list; times that are not yet are empty texts."""

    run_id: str
    name: str
    workflow: str
    status: str
    failure_code: str
    error: str
    end_reason: str
    parent_id: str
    workspace: str
    created_at: Instant
    updated_at: Instant
    finished_at: Instant
    last_event_at: Instant


class UnreadRun(BaseModel):
    """A run whose record cannot be read."""

    run_id: str
    error: str


class Runs(BaseModel):
    """A list of runs, newest first."""

    runs: list[RunSummary]
    unreadable: list[UnreadRun] = []


class Artifact(BaseModel):
    """The newest version of what a run published under a name."""

    version: int
    data: JsonValue


class Checkpoint(BaseModel):
    """Where a run stands."""

    node_id: str
    completed: bool


class AnswerField(BaseModel):
    """One field of the answer that is waited for."""

    name: str
    type: str
    enum: list[JsonValue] | None = None


class Pending(BaseModel):
    """A question that waits."""

    interaction_id: str
    node_id: str
    kind: str
    questions: dict[str, JsonValue]
    fields: list[AnswerField]
    instructions: str
    min_answers: int


class Spent(BaseModel):
    """What a run has used up."""

    tokens: int
    cost_usd: float
    iterations: int
    elapsed_seconds: float


class Run(RunSummary):
    """The run document; ``pending`` is null when nothing waits, ``checkpoint`` when there is none."""

    outputs: dict[str, dict[str, JsonValue]]
    artifacts: dict[str, Artifact]
    checkpoint: Checkpoint | None
    pending: Pending | None
    budget: Spent


class RunEvent(BaseModel):
    """One event of a run's timeline."""

    seq: int
    time: Instant
    type: str
    run_id: str
    node_id: str
    branch_id: str
    data: dict[str, JsonValue]


class Timeline(BaseModel):
    """A page of a run's timeline; ``more`` says that the page is full."""

    events: list[RunEvent]
    more: bool


class RewoundRun(RunSummary):
    """A run that was moved back: the data of its ``run_rewound`` event, and what ``auto`` found changed, by node."""

    rewound: dict[str, JsonValue]
    changes: dict[str, str]


class Commit(BaseModel):
    """One commit; ``time`` is the author's."""

    sha: str
    author: str
    time: str
    subject: str


class Commits(BaseModel):
    """What a run committed, oldest first; where that is not available, ``reason`` says why."""

    run_id: str
    available: bool
    reason: str
    base: str = ""
    head: str = ""
    branch: str = ""
    commits: list[Commit]
