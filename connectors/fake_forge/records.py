"""What a fake forge keeps: users, tokens, repositories, cards, projects, hooks. One JSON document for ``--state``.

Shared by the three kinds of forge; ``github``, ``gitlab`` and ``forgejo`` show it in their own dress. Changed only by
``deeds`` and ``acts`` while the desk's lock is held.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Kind(StrEnum):
    """The forge that is played."""

    GITHUB = "github"
    GITLAB = "gitlab"
    FORGEJO = "forgejo"


class Record(BaseModel):
    """Mutable, and without unknown keys, so that a state file of another version is refused."""

    model_config = ConfigDict(extra="forbid")


class User(Record):
    """An account. ``kind`` is ``User``, ``Bot`` or ``Organization``."""

    id: int
    login: str
    kind: Literal["User", "Bot", "Organization"] = "User"
    created_at: datetime


class Token(Record):
    """A credential; ``scopes`` are the rights that it has, ``expires_at`` is None for one that stays."""

    value: str
    login: str
    scopes: set[str] = Field(default_factory=set)
    expires_at: datetime | None = None
    revoked: bool = False


class Limit(Record):
    """The request budget of one credential and resource in the running window."""

    limit: int
    used: int = 0
    reset: datetime


class Label(Record):
    """A label definition. ``group`` is true for one that belongs to the organisation or group."""

    id: int
    name: str
    color: str = "ededed"
    description: str = ""
    group: bool = False


class Reaction(Record):
    """One account's reaction; there is one per account and name."""

    id: int
    login: str
    name: str
    created_at: datetime


class Comment(Record):
    """A comment, a system note, or a review's text."""

    id: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime
    system: bool = False
    reactions: list[Reaction] = Field(default_factory=list)


class Event(Record):
    """Something that happened to a card: ``labeled``, ``closed``, ``renamed`` and so on."""

    id: int
    kind: str
    actor: str
    created_at: datetime
    data: dict[str, str] = Field(default_factory=dict)


class Ref(Record):
    """A card's address: repository path and number."""

    repo: str
    number: int


class Review(Record):
    """A review of a pull."""

    id: int
    author: str
    body: str
    state: str
    sha: str
    created_at: datetime


class Pull(Record):
    """What a pull has beyond a card."""

    head: str
    base: str
    head_sha: str
    base_sha: str
    draft: bool = False
    mergeable: bool | None = True
    merged_at: datetime | None = None
    merged_by: str = ""
    merge_sha: str = ""
    reviews: list[Review] = Field(default_factory=list)
    reviewers: list[str] = Field(default_factory=list)


class Issue(Record):
    """An issue, or a pull when ``pull`` is set. ``labels`` are label ids in the order in which they were added."""

    id: int
    number: int
    title: str
    body: str = ""
    author: str
    state: Literal["open", "closed"] = "open"
    reason: str = ""
    kind: Literal["issue", "incident", "task"] = "issue"
    labels: list[int] = Field(default_factory=list)
    assignees: list[str] = Field(default_factory=list)
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    closed_by: str = ""
    locked: bool = False
    hidden: bool = False
    gone: bool = False
    moved_to: Ref | None = None
    comments: list[Comment] = Field(default_factory=list)
    events: list[Event] = Field(default_factory=list)
    reactions: list[Reaction] = Field(default_factory=list)
    blocked_by: list[Ref] = Field(default_factory=list)
    pull: Pull | None = None


class Commit(Record):
    """A commit: ``files`` maps each path to the SHA of its blob."""

    sha: str
    message: str
    author: str
    created_at: datetime
    parents: list[str] = Field(default_factory=list)
    files: dict[str, str] = Field(default_factory=dict)
    tree: str = ""


class Status(Record):
    """A commit status."""

    id: int
    sha: str
    context: str
    state: str
    text: str = ""
    url: str = ""
    author: str
    created_at: datetime


class Check(Record):
    """A check run of an app."""

    id: int
    sha: str
    name: str
    status: str = "completed"
    conclusion: str | None = "success"
    created_at: datetime


class Release(Record):
    """A release."""

    id: int
    tag: str
    name: str
    body: str
    draft: bool
    author: str
    created_at: datetime


class Hook(Record):
    """A webhook: where it goes and how it is signed."""

    id: int
    url: str
    secret: str = ""
    token: str = ""
    active: bool = True
    created_at: datetime


class Delivery(Record):
    """One delivery of a hook, as the forge remembers it."""

    id: int
    guid: str
    hook: int
    event: str
    action: str
    status: int
    created_at: datetime


class Run(Record):
    """A started workflow or pipeline."""

    id: int
    file: str
    ref: str
    inputs: dict[str, str] = Field(default_factory=dict)
    created_at: datetime


class Repo(Record):
    """A repository with everything in it. GitLab numbers pulls apart from issues, the others together."""

    id: int
    path: str
    default_branch: str = "main"
    archived: bool = False
    issues_enabled: bool = True
    hidden: bool = False
    created_at: datetime
    updated_at: datetime
    labels: dict[int, Label] = Field(default_factory=dict)
    issues: dict[int, Issue] = Field(default_factory=dict)
    pulls: dict[int, Issue] = Field(default_factory=dict)
    refs: dict[str, str] = Field(default_factory=dict)
    commits: dict[str, Commit] = Field(default_factory=dict)
    blobs: dict[str, str] = Field(default_factory=dict)
    trees: dict[str, dict[str, str]] = Field(default_factory=dict)
    statuses: list[Status] = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)
    releases: list[Release] = Field(default_factory=list)
    hooks: list[Hook] = Field(default_factory=list)
    runs: list[Run] = Field(default_factory=list)
    workflows: list[str] = Field(default_factory=lambda: ["ci.yml"])
    rights: dict[str, str] = Field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The first part of the path."""
        return self.path.split("/", 1)[0]

    @property
    def name(self) -> str:
        """What follows the owner."""
        return self.path.split("/", 1)[1]


class Option(Record):
    """A value of a project's single-select field."""

    id: str
    name: str


class ProjectField(Record):
    """A single-select field of a project."""

    id: str
    name: str
    options: list[Option] = Field(default_factory=list)


class ProjectItem(Record):
    """An item: a card, a draft (``draft`` is its title), or one that is hidden from us (``redacted``)."""

    id: str
    card: Ref | None = None
    draft: str = ""
    redacted: bool = False
    archived: bool = False
    values: dict[str, str] = Field(default_factory=dict)
    created_at: datetime
    updated_at: datetime


class Project(Record):
    """A project board."""

    id: str
    owner: str
    number: int
    title: str
    fields: list[ProjectField] = Field(default_factory=list)
    items: list[ProjectItem] = Field(default_factory=list)


class World(Record):
    """Everything."""

    forge: Kind
    last_id: int = 1000
    users: dict[str, User] = Field(default_factory=dict)
    tokens: dict[str, Token] = Field(default_factory=dict)
    limits: dict[str, Limit] = Field(default_factory=dict)
    budget: int = 5000
    repos: dict[str, Repo] = Field(default_factory=dict)
    renamed: dict[str, str] = Field(default_factory=dict)
    projects: list[Project] = Field(default_factory=list)
    deliveries: list[Delivery] = Field(default_factory=list)
    licensed: bool = True
    """Whether GitLab's paid features (blocking links) answer."""

    def new_id(self) -> int:
        """The next number; ids of all kinds share one row, so no two objects are mistaken for each other."""
        self.last_id += 1
        return self.last_id
