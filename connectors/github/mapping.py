"""GitHub's payloads, as models that must fit, and the neutral records made of them. Pure.

Every field that a record needs is required; what GitHub may leave empty is optional by its own description. Instants
are aware. Nothing above this room sees a payload (connectors.md 2.5, 3).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import AwareDatetime, Field, TypeAdapter

from connectors.forge.payloads import Payload, Text
from connectors.forge.records import (
    Account,
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

GHOST = "ghost"
"""Who wrote what a deleted account wrote."""
RIGHTS = {"pull": Right.READ, "triage": Right.TRIAGE, "push": Right.WRITE, "admin": Right.ADMIN}
"""GitHub's name of a permission in a repository -> ours."""


class UserPayload(Payload):
    """Somebody."""

    login: str
    id: int
    type: str = "User"


class LabelPayload(Payload):
    """A label's definition, or a label on a card."""

    id: int
    name: str
    color: Text = ""


class IssuePayload(Payload):
    """A card. ``pull_request`` tells a pull from an issue."""

    number: int = Field(ge=1)
    id: int
    node_id: str
    title: str
    body: Text = ""
    state: str
    labels: tuple[LabelPayload | str, ...]
    assignees: tuple[UserPayload, ...] = ()
    user: UserPayload | None
    html_url: str
    repository_url: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    pull_request: dict[str, object] | None = None


class CommentPayload(Payload):
    """A comment."""

    id: int
    body: Text = ""
    user: UserPayload | None
    html_url: str
    issue_url: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ReviewPayload(Payload):
    """A review; a pending one has no date."""

    id: int
    body: Text = ""
    user: UserPayload | None
    html_url: str
    submitted_at: AwareDatetime | None = None


class TipPayload(Payload):
    """One side of a pull."""

    ref: str
    sha: str


class PullPayload(Payload):
    """A pull; ``mergeable`` is only told where one pull is asked for."""

    number: int = Field(ge=1)
    id: int
    node_id: str
    title: str
    body: Text = ""
    state: str
    draft: bool = False
    head: TipPayload
    base: TipPayload
    user: UserPayload | None
    html_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    merged_at: AwareDatetime | None = None
    mergeable: bool | None = None
    merge_commit_sha: Text = ""
    requested_reviewers: tuple[UserPayload, ...] = ()


class RepositoryPayload(Payload):
    """A repository."""

    id: int
    full_name: str
    default_branch: str
    archived: bool
    has_issues: bool
    html_url: str
    permissions: dict[str, bool] | None = None


class HookResponsePayload(Payload):
    """What the last delivery of a hook was answered."""

    code: int | None = None
    status: Text = ""


class HookConfigPayload(Payload):
    """Where a hook goes."""

    url: Text = ""


class HookPayload(Payload):
    """A webhook."""

    id: int
    active: bool
    config: HookConfigPayload
    last_response: HookResponsePayload = HookResponsePayload()


class EventPayload(Payload):
    """One event of a card's history; other kinds than those of labels and state carry other fields."""

    event: str
    actor: UserPayload | None = None
    label: dict[str, object] | None = None
    created_at: AwareDatetime


class ObjectPayload(Payload):
    """What a ref points at."""

    sha: str


class RefPayload(Payload):
    """A ref by its full name."""

    ref: str
    object: ObjectPayload


class FilePayload(Payload):
    """A file; above a megabyte without its content."""

    type: str
    path: str
    sha: str
    encoding: str = ""
    content: str = ""


class BlobPayload(Payload):
    """A blob's content."""

    sha: str
    encoding: str
    content: str


class CommitPayload(Payload):
    """A commit by its name."""

    sha: str


class ContentPayload(Payload):
    """The blob that was written."""

    sha: str


class FileChangePayload(Payload):
    """What writing a file answers."""

    commit: CommitPayload
    content: ContentPayload | None


class ReleasePayload(Payload):
    """A release."""

    id: int
    tag_name: str
    name: Text = ""
    body: Text = ""
    author: UserPayload
    html_url: str
    draft: bool


class StatusPayload(Payload):
    """A status of a commit."""

    context: str
    state: str
    description: Text = ""
    target_url: Text = ""
    created_at: AwareDatetime


class CheckRunPayload(Payload):
    """A check run of a commit."""

    name: str
    status: str
    conclusion: str | None = None
    html_url: Text = ""
    started_at: AwareDatetime | None = None
    completed_at: AwareDatetime | None = None


class PermissionPayload(Payload):
    """What somebody may do in a repository; ``role_name`` tells triage from read."""

    permission: str
    role_name: str = ""


class AppPayload(Payload):
    """An app by its own claim."""

    id: int
    slug: str


class TokenPayload(Payload):
    """An installation's token."""

    token: str = Field(min_length=8)
    expires_at: AwareDatetime


USER = TypeAdapter(UserPayload)
LABEL = TypeAdapter(LabelPayload)
ISSUE = TypeAdapter(IssuePayload)
COMMENT = TypeAdapter(CommentPayload)
REVIEW = TypeAdapter(ReviewPayload)
PULL = TypeAdapter(PullPayload)
REPOSITORY = TypeAdapter(RepositoryPayload)
HOOK = TypeAdapter(HookPayload)
EVENT = TypeAdapter(EventPayload)
REF = TypeAdapter(RefPayload)
FILE = TypeAdapter(FilePayload)
BLOB = TypeAdapter(BlobPayload)
FILE_CHANGE = TypeAdapter(FileChangePayload)
RELEASE = TypeAdapter(ReleasePayload)
STATUS = TypeAdapter(StatusPayload)
CHECK_RUN = TypeAdapter(CheckRunPayload)
PERMISSION = TypeAdapter(PermissionPayload)
APP = TypeAdapter(AppPayload)
TOKEN = TypeAdapter(TokenPayload)


def login_of(user: UserPayload | None) -> str:
    """A login, also of an account that is gone."""
    return user.login if user is not None else GHOST


def account_of(user: UserPayload, answer: Answer) -> Account:
    """Whose token it is; a fine-grained one tells no scopes."""
    scopes = answer.headers.get("x-oauth-scopes")
    rights = None if scopes is None else tuple(each.strip() for each in scopes.split(",") if each.strip())
    return Account(user.login, str(user.id), user.type.lower(), rights)


def repository_of(payload: RepositoryPayload, answer: Answer, asked: str) -> Repository:
    """The repository; ``moved_to`` when it has another name by now."""
    moved = payload.full_name if payload.full_name.casefold() != asked.casefold() else ""
    return Repository(
        id=str(payload.id),
        path=payload.full_name,
        default_branch=payload.default_branch,
        archived=payload.archived,
        has_issues=payload.has_issues,
        url=payload.html_url,
        moved_to=moved,
        date=answer.date,
        rights=None if payload.permissions is None else rights_of(payload.permissions),
    )


def rights_of(permissions: Mapping[str, bool]) -> frozenset[Right]:
    """GitHub's permissions of an account, each by its name."""
    return frozenset(right for name, right in RIGHTS.items() if permissions.get(name))


def hook_of(payload: HookPayload) -> Hook:
    """A webhook; its last answer tells whether deliveries arrive."""
    last = payload.last_response
    failed = last.code is not None and not 200 <= last.code < 300
    silent = last.code is None and last.status not in ("", "unused", "active")
    fault = f"the last delivery was answered {last.code}" if failed and last.code else ""
    fault = fault or ("the last delivery was not answered" if failed or silent else "")
    return Hook(str(payload.id), payload.config.url, payload.active, fault)


def label_of(payload: LabelPayload) -> LabelDef:
    """A label's definition."""
    return LabelDef(str(payload.id), payload.name, payload.color)


def issue_of(payload: IssuePayload) -> Issue:
    """An issue."""
    return Issue(
        number=payload.number,
        id=str(payload.id),
        title=payload.title,
        body=payload.body,
        is_open=payload.state == "open",
        labels=tuple(each if isinstance(each, str) else each.name for each in payload.labels),
        assignees=tuple(each.login for each in payload.assignees),
        author=login_of(payload.user),
        url=payload.html_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
    )


def repo_of_url(url: str) -> str:
    """``owner/name`` of the address of a repository or of something in it; empty for one that names none."""
    parts = urlsplit(url).path.split("/")
    return "/".join(parts[parts.index("repos") + 1 :][:2]) if "repos" in parts else ""


def comment_of(payload: CommentPayload, number: int = 0) -> ForgeComment:
    """A comment; its card's number comes from its own address where the caller does not know it."""
    last = payload.issue_url.rsplit("/", 1)[-1]
    number = number or (int(last) if last.isdigit() else 0)
    if not number:
        raise Misfit("issue_url: names no card")
    return ForgeComment(
        str(payload.id),
        number,
        login_of(payload.user),
        payload.body,
        payload.html_url,
        payload.created_at,
        payload.updated_at,
    )


def review_of(payload: ReviewPayload, number: int) -> ForgeComment | None:
    """A review's text; None for one that was not sent off yet."""
    if payload.submitted_at is None:
        return None
    at = payload.submitted_at
    return ForgeComment(str(payload.id), number, login_of(payload.user), payload.body, payload.html_url, at, at)


def pull_of(payload: PullPayload) -> Pull:
    """A pull."""
    return Pull(
        number=payload.number,
        id=str(payload.id),
        title=payload.title,
        body=payload.body,
        state="merged" if payload.merged_at is not None else payload.state,
        draft=payload.draft,
        head=payload.head.ref,
        head_sha=payload.head.sha,
        base=payload.base.ref,
        author=login_of(payload.user),
        url=payload.html_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
        mergeable=payload.mergeable,
        merge_sha=payload.merge_commit_sha if payload.merged_at is not None else "",
        reviewers=tuple(each.login for each in payload.requested_reviewers),
    )


def label_event_of(payload: EventPayload) -> LabelEvent | None:
    """What an event says about labels and state, None when nothing."""
    actor, at = login_of(payload.actor), payload.created_at
    if payload.event in ("labeled", "unlabeled") and payload.label is not None:
        return LabelEvent(actor, at, str(payload.label.get("name", "")), payload.event == "labeled")
    if payload.event in ("closed", "reopened"):
        return LabelEvent(actor, at, closed=payload.event == "closed")
    return None


def ref_of(payload: RefPayload) -> Ref:
    """A ref; a branch by its short name."""
    return Ref(payload.ref.removeprefix("refs/heads/"), payload.object.sha)


def decoded(content: str, encoding: str) -> bytes:
    """The bytes of a file. Raises ``Misfit``."""
    if encoding != "base64":
        raise Misfit(f"encoding: {encoding or 'none'} instead of base64")
    try:
        return base64.b64decode(content, validate=False)
    except (binascii.Error, ValueError) as error:
        raise Misfit("content: no base64") from error


def file_of(payload: FilePayload) -> File:
    """A file with its content. Raises ``Misfit``."""
    return File(payload.path, payload.sha, decoded(payload.content, payload.encoding))


def file_change_of(payload: FileChangePayload) -> FileChange:
    """The commit that wrote a file."""
    return FileChange(payload.commit.sha, payload.content.sha if payload.content else "")


def release_of(payload: ReleasePayload) -> Release:
    """A release."""
    return Release(
        str(payload.id),
        payload.tag_name,
        payload.name,
        payload.body,
        payload.author.login,
        payload.html_url,
        payload.draft,
    )


_STATES = {"pending": "pending", "success": "success"}
_GOOD = frozenset({"success", "neutral", "skipped"})


def status_of(payload: StatusPayload) -> Check:
    """A status; an error is a failure."""
    state = _STATES.get(payload.state, "failure")
    return Check(payload.context, state, payload.description, payload.target_url, payload.created_at)


def check_of(payload: CheckRunPayload) -> Check:
    """A check run; one that is not completed is pending."""
    state = "pending"
    if payload.status == "completed":
        state = "success" if payload.conclusion in _GOOD else "failure"
    at = payload.completed_at or payload.started_at
    return Check(payload.name, state, payload.conclusion or "", payload.html_url, at)
