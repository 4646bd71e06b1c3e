"""A forge's objects as neutral, frozen records; no payload of a forge and no type of a library goes above a client.

Made by the clients of ``github``, ``gitlab`` and ``forgejo`` from payloads that a model accepted. Instants are aware,
UTC, and the forge's own; texts are as the forge sent them. ``number`` is what people see in an address (``iid`` on
GitLab, index on Forgejo), ``id`` the forge's own and opaque.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class MissingKind(StrEnum):
    """How an object is not there."""

    GONE = "gone"
    """410: it existed."""
    NOT_FOUND = "not_found"
    """404: it never existed, was deleted, or is hidden from this credential."""
    MOVED = "moved"
    """It lives in another repository; ``moved_to`` says where, ``unknown`` when the forge does not tell."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The answer of a read by number or name when there is no such object."""

    kind: MissingKind
    moved_to: str = ""


class Right(StrEnum):
    """What an account may do in a repository."""

    READ = "read"
    TRIAGE = "triage"
    """Label, close and reopen issues of others."""
    WRITE = "write"
    """Push, too."""
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Account:
    """Whose credential it is. ``rights`` are the scopes that the forge tells, None where it tells none."""

    login: str
    id: str
    kind: str = "user"
    rights: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository of a connection. ``moved_to`` when the forge answered from another place.

    ``rights`` are those of the asking account, None where the forge does not tell them.
    """

    id: str
    path: str
    default_branch: str
    archived: bool
    has_issues: bool = True
    url: str = ""
    moved_to: str = ""
    date: datetime | None = None
    rights: frozenset[Right] | None = None


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook of the repository and how its deliveries go; ``fault`` is empty for one that works, as far as the forge
    tells."""

    id: str
    url: str
    active: bool
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LabelDef:
    """A label's definition: the id that stays when it is renamed, and the spelling that is sent."""

    id: str
    name: str
    color: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue. ``etag`` is whatever changes with each change of it besides ``updated_at`` (may be empty)."""

    number: int
    id: str
    title: str
    body: str
    is_open: bool
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    author: str
    url: str
    created_at: datetime
    updated_at: datetime
    etag: str = ""


@dataclass(frozen=True, slots=True)
class IssueQuery:
    """A listing of issues: sorted by creation where the forge can. Empty values do not filter; ``since`` is by update
    and inclusive. ``label`` is filtered by the client itself where the forge's filter cannot be trusted. ``limit`` 0
    reads to the end."""

    label: LabelDef | None = None
    state: str = "open"
    """``open``, ``closed`` or ``all``."""
    since: datetime | None = None
    author: str = ""
    newest_first: bool = False
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A chunk of issues read by number; each number lands in exactly one of the three."""

    found: Mapping[int, Issue] = field(default_factory=dict)
    missing: Mapping[int, Missing] = field(default_factory=dict)
    unread: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForgeComment:
    """A comment on an issue or pull, or the text of a review. Its author is a login."""

    id: str
    number: int
    author: str
    body: str
    url: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """Who put a label on an issue or took it away, or closed and reopened it (``label`` empty), as the forge tells."""

    actor: str
    at: datetime
    label: str = ""
    added: bool = True
    closed: bool | None = None


@dataclass(frozen=True, slots=True)
class Blocker:
    """What an issue waits for. ``repo`` is empty for the same repository."""

    number: int
    repo: str = ""
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Subject:
    """What is commented on; where a pull has numbers of its own, ``is_pull`` tells them apart."""

    number: int
    is_pull: bool = False


@dataclass(frozen=True, slots=True)
class LabelSwap:
    """One label to add, one to take away, and the state to set; None leaves each."""

    add: LabelDef | None = None
    remove: LabelDef | None = None
    is_open: bool | None = None


@dataclass(frozen=True, slots=True)
class IssueDraft:
    """An issue to be made."""

    title: str
    body: str
    labels: tuple[LabelDef, ...] = ()
    assignees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IssuePatch:
    """Fields of an issue to be set; None leaves one. Labels and state are none of these."""

    title: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request, or merge request. ``state`` is ``open``, ``closed`` or ``merged``; ``mergeable`` None means not
    computed yet."""

    number: int
    id: str
    title: str
    body: str
    state: str
    draft: bool
    head: str
    head_sha: str
    base: str
    author: str
    url: str
    created_at: datetime
    updated_at: datetime
    mergeable: bool | None = None
    merge_sha: str = ""
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PullQuery:
    """A listing of pulls; empty values do not filter. ``limit`` 0 reads to the end."""

    head: str = ""
    base: str = ""
    state: str = "open"
    limit: int = 0


@dataclass(frozen=True, slots=True)
class PullDraft:
    """A pull to be made."""

    head: str
    base: str
    title: str
    body: str
    draft: bool = False


@dataclass(frozen=True, slots=True)
class PullPatch:
    """Fields of a pull to be set; None leaves one. ``is_open`` closes and reopens, ``draft`` marks or readies."""

    title: str | None = None
    body: str | None = None
    is_open: bool | None = None
    draft: bool | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One check or status of a commit. ``state`` is ``pending``, ``success`` or ``failure``."""

    name: str
    state: str
    text: str = ""
    url: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch (``name`` without ``refs/heads/``) or, with its full path, any other ref."""

    name: str
    sha: str


@dataclass(frozen=True, slots=True)
class ClaimCommit:
    """What a card's claim ref points to: a commit that says whose the card is."""

    sha: str
    author: str
    message: str
    url: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class CommitDraft:
    """A commit to be made: ``parent`` is empty for a first one."""

    message: str
    author: str
    tree: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class ClaimRead:
    """The claim ref of a card, None when there is none, and what time it was on the forge then, if it said so."""

    commit: ClaimCommit | None
    date: datetime | None


@dataclass(frozen=True, slots=True)
class File:
    """A file of a branch; ``content`` are its bytes."""

    path: str
    sha: str
    content: bytes


@dataclass(frozen=True, slots=True)
class FileDraft:
    """A file to be written. ``sha`` is that of the blob that is replaced, empty for a new file."""

    path: str
    branch: str
    content: bytes
    message: str
    sha: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The commit that wrote a file, and the sha of the new blob (empty where the forge does not say)."""

    commit: str
    sha: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """A release."""

    id: str
    tag: str
    name: str
    body: str
    author: str
    url: str
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseDraft:
    """A release to be made."""

    tag: str
    name: str
    body: str
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A started pipeline."""

    id: str
    url: str


@dataclass(frozen=True, slots=True)
class ProjectField:
    """The status field of a project: its options' ids by name, as they are now (connectors.md 4)."""

    project_id: str
    field_id: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProjectItem:
    """An issue's place in a project; ``status`` is the option's name, empty for none."""

    item_id: str
    issue: Issue
    status: str = ""
    archived: bool = False
