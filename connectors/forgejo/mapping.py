"""Forgejo's payloads, as models that must fit, and the neutral records made of them. Pure.

Every field that a record needs is required; what Forgejo may leave empty is optional by its own description. Instants
are aware. Nothing above this room sees a payload (connectors.md 2.5, 3).
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import AwareDatetime, Field, TypeAdapter

from connectors.forge.payloads import Payload, Text, decoded
from connectors.forge.records import (
    Account,
    Blocker,
    Check,
    File,
    FileChange,
    ForgeComment,
    Hook,
    Issue,
    LabelDef,
    LabelEvent,
    Pull,
    Ref,
    Release,
    Repository,
    Right,
)
from connectors.transport.models import Misfit
from connectors.transport.request import Answer

GHOST = "Ghost"
"""Who wrote what a deleted account wrote."""
RIGHTS = {"pull": (Right.READ,), "push": (Right.TRIAGE, Right.WRITE), "admin": (Right.ADMIN,)}
"""Forgejo's name of a permission in a repository -> what it allows; labelling takes the right to write."""
DRAFT = "WIP:"
"""How a title marks a draft."""
DRAFTS = ("wip:", "[wip]")
CHECKS = {"success": "success", "warning": "success", "skipped": "success", "failure": "failure", "error": "failure"}
"""State of a status -> ours; all others are pending."""


class UserPayload(Payload):
    """Somebody."""

    id: int
    login: str


class RepositoryPayload(Payload):
    """A repository."""

    id: int
    full_name: str
    default_branch: Text = ""
    archived: bool
    has_issues: bool
    html_url: str
    permissions: dict[str, bool] | None = None


class HookConfigPayload(Payload):
    """Where a hook goes."""

    url: Text = ""


class HookPayload(Payload):
    """A webhook; Forgejo tells nothing about its deliveries here."""

    id: int
    active: bool
    config: HookConfigPayload


class PermissionPayload(Payload):
    """Somebody's right in a repository."""

    permission: str


class LabelPayload(Payload):
    """A label's definition, or a label on a card."""

    id: int
    name: str
    color: Text = ""


class RepositoryNamePayload(Payload):
    """In which repository an issue lies."""

    full_name: str


class IssuePayload(Payload):
    """A card. ``pull_request`` tells a pull from an issue."""

    number: int = Field(ge=1)
    id: int
    title: str
    body: Text = ""
    state: str
    labels: tuple[LabelPayload, ...] | None
    assignees: tuple[UserPayload, ...] | None = None
    user: UserPayload | None
    html_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    pull_request: dict[str, object] | None = None
    repository: RepositoryNamePayload | None = None


class CommentPayload(Payload):
    """A comment."""

    id: int
    body: str
    user: UserPayload | None
    html_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime


class TimelinePayload(Payload):
    """An entry of a card's timeline; of a label, ``body`` is ``1`` when it came and empty when it went."""

    type: str
    body: Text = ""
    user: UserPayload | None = None
    label: LabelPayload | None = None
    created_at: AwareDatetime


class TipPayload(Payload):
    """One side of a pull."""

    ref: str
    sha: Text = ""


class PullPayload(Payload):
    """A pull."""

    number: int = Field(ge=1)
    id: int
    title: str
    body: Text = ""
    state: str
    draft: bool = False
    merged: bool
    mergeable: bool | None = None
    merge_commit_sha: Text = ""
    head: TipPayload
    base: TipPayload
    user: UserPayload | None
    html_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    requested_reviewers: tuple[UserPayload, ...] | None = None


class ReviewPayload(Payload):
    """A review."""

    id: int
    body: Text = ""
    state: str
    user: UserPayload | None
    html_url: str
    submitted_at: AwareDatetime


class CommitPayload(Payload):
    """A commit's name."""

    id: str


class BranchPayload(Payload):
    """A branch."""

    name: str
    commit: CommitPayload


class ObjectPayload(Payload):
    """What a ref points to."""

    sha: str


class RefPayload(Payload):
    """A ref with its full name."""

    ref: str
    object: ObjectPayload


class FilePayload(Payload):
    """A file with its content, which is null for a folder or a link."""

    path: str
    sha: str
    type: str
    content: Text = ""


class WrittenBlobPayload(Payload):
    """The blob that a change of a file made."""

    sha: str


class ChangePayload(Payload):
    """The commit and the blob that a change of a file made."""

    commit: ObjectPayload
    content: WrittenBlobPayload


class StatusPayload(Payload):
    """A commit status."""

    id: int
    context: str
    status: str
    description: Text = ""
    target_url: Text = ""
    created_at: AwareDatetime


class ReleasePayload(Payload):
    """A release."""

    id: int
    tag_name: str
    name: Text = ""
    body: Text = ""
    draft: bool
    author: UserPayload | None
    html_url: str


USER = TypeAdapter(UserPayload)
REPOSITORY = TypeAdapter(RepositoryPayload)
HOOK = TypeAdapter(HookPayload)
PERMISSION = TypeAdapter(PermissionPayload)
LABEL = TypeAdapter(LabelPayload)
ISSUE = TypeAdapter(IssuePayload)
COMMENT = TypeAdapter(CommentPayload)
TIMELINE = TypeAdapter(TimelinePayload)
PULL = TypeAdapter(PullPayload)
REVIEW = TypeAdapter(ReviewPayload)
BRANCH = TypeAdapter(BranchPayload)
REFS = TypeAdapter(tuple[RefPayload, ...])
FILE = TypeAdapter(FilePayload)
CHANGE = TypeAdapter(ChangePayload)
STATUS = TypeAdapter(StatusPayload)
RELEASE = TypeAdapter(ReleasePayload)


def login_of(user: UserPayload | None) -> str:
    """A login, the ghost's for a deleted account."""
    return user.login if user is not None else GHOST


def account_of(user: UserPayload) -> Account:
    """Whose token it is; Forgejo does not tell a token's rights."""
    return Account(user.login, str(user.id))


def repository_of(payload: RepositoryPayload, answer: Answer, asked: str) -> Repository:
    """The repository; ``moved_to`` when it has another name by now."""
    moved = payload.full_name.casefold() != asked.casefold()
    return Repository(
        id=str(payload.id),
        path=payload.full_name,
        default_branch=payload.default_branch,
        archived=payload.archived,
        has_issues=payload.has_issues,
        url=payload.html_url,
        moved_to=payload.full_name if moved else "",
        date=answer.date,
        rights=None if payload.permissions is None else rights_of(payload.permissions),
    )


def rights_of(permissions: Mapping[str, bool]) -> frozenset[Right]:
    """What the account may do; who may push may label and close, too."""
    named = {name for name, held in permissions.items() if held}
    return frozenset(right for name, rights in RIGHTS.items() if name in named for right in rights)


def hook_of(payload: HookPayload) -> Hook:
    """A webhook."""
    return Hook(str(payload.id), payload.config.url, payload.active)


def label_of(payload: LabelPayload) -> LabelDef:
    """A label's definition; its id is what goes into requests."""
    return LabelDef(str(payload.id), payload.name, payload.color.removeprefix("#").lower())


def issue_of(payload: IssuePayload) -> Issue:
    """An issue."""
    return Issue(
        number=payload.number,
        id=str(payload.id),
        title=payload.title,
        body=payload.body,
        is_open=payload.state == "open",
        labels=tuple(label.name for label in payload.labels or ()),
        assignees=tuple(login_of(each) for each in payload.assignees or ()),
        author=login_of(payload.user),
        url=payload.html_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
    )


def comment_of(payload: CommentPayload, number: int) -> ForgeComment:
    """A comment."""
    return ForgeComment(
        id=str(payload.id),
        number=number,
        author=login_of(payload.user),
        body=payload.body,
        url=payload.html_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
    )


def label_event_of(payload: TimelinePayload) -> LabelEvent | None:
    """What an entry says about labels and state, None when nothing."""
    actor, at = login_of(payload.user), payload.created_at
    if payload.type == "label" and payload.label is not None:
        return LabelEvent(actor, at, payload.label.name, payload.body == "1")
    if payload.type in ("close", "reopen"):
        return LabelEvent(actor, at, closed=payload.type == "close")
    return None


def blocker_of(payload: IssuePayload, repo: str) -> Blocker:
    """What an issue waits for; ``repo`` is the path of the issue's own."""
    path = payload.repository.full_name if payload.repository else ""
    elsewhere = path and path.casefold() != repo.casefold()
    return Blocker(payload.number, path if elsewhere else "", payload.state == "open")


def plain_title(title: str) -> str:
    """A title without the word that marks a draft."""
    word = next((each for each in DRAFTS if title.lower().startswith(each)), "")
    return title[len(word) :].strip() if word else title


def draft_title(title: str, *, draft: bool) -> str:
    """A title that marks a draft, or does not."""
    return f"{DRAFT} {plain_title(title)}" if draft else plain_title(title)


def is_draft(payload: PullPayload) -> bool:
    """Whether the pull is a draft; older ones tell by the title alone."""
    return payload.draft or plain_title(payload.title) != payload.title


def pull_of(payload: PullPayload) -> Pull:
    """A pull."""
    return Pull(
        number=payload.number,
        id=str(payload.id),
        title=plain_title(payload.title),
        body=payload.body,
        state="merged" if payload.merged else payload.state,
        draft=is_draft(payload),
        head=payload.head.ref,
        head_sha=payload.head.sha,
        base=payload.base.ref,
        author=login_of(payload.user),
        url=payload.html_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
        mergeable=payload.mergeable,
        merge_sha=payload.merge_commit_sha,
        reviewers=tuple(login_of(each) for each in payload.requested_reviewers or ()),
    )


def review_of(payload: ReviewPayload, number: int) -> ForgeComment | None:
    """The text of a review; None for one that was not sent off."""
    if payload.state in ("PENDING", "REQUEST_REVIEW"):
        return None
    return ForgeComment(
        id=str(payload.id),
        number=number,
        author=login_of(payload.user),
        body=payload.body,
        url=payload.html_url,
        created_at=payload.submitted_at,
        updated_at=payload.submitted_at,
    )


def branch_of(payload: BranchPayload) -> Ref:
    """A branch."""
    return Ref(payload.name, payload.commit.id)


def file_of(payload: FilePayload) -> File:
    """A file. Raises ``Misfit`` for a folder, a link, or a content that cannot be decoded."""
    if payload.type != "file":
        raise Misfit(f"type: {payload.path} is a {payload.type}")
    return File(payload.path, payload.sha, decoded(payload.content))


def change_of(payload: ChangePayload) -> FileChange:
    """The commit that wrote a file."""
    return FileChange(payload.commit.sha, payload.content.sha)


def check_of(payload: StatusPayload) -> Check:
    """A status."""
    state = CHECKS.get(payload.status, "pending")
    return Check(payload.context, state, payload.description, payload.target_url, payload.created_at)


def release_of(payload: ReleasePayload) -> Release:
    """A release."""
    return Release(
        id=str(payload.id),
        tag=payload.tag_name,
        name=payload.name,
        body=payload.body,
        author=login_of(payload.author),
        url=payload.html_url,
        draft=payload.draft,
    )
