"""GitLab's payloads, as models that must fit, and the neutral records made of them. Pure.

Every field that a record needs is required; what GitLab may leave empty is optional by its own description. Instants
are aware. Nothing above this room sees a payload (connectors.md 2.5, 3).
"""

from __future__ import annotations

from pydantic import AwareDatetime, Field, TypeAdapter

from connectors.forge.payloads import Payload, Text, decoded
from connectors.forge.records import (
    Account,
    Blocker,
    Check,
    File,
    ForgeComment,
    Hook,
    Issue,
    LabelDef,
    LabelEvent,
    Pipeline,
    Pull,
    Ref,
    Release,
    Repository,
    Right,
)
from connectors.transport.request import Answer

GHOST = "ghost"
"""Who wrote what a deleted account wrote."""
LEVELS = {Right.READ: 10, Right.TRIAGE: 20, Right.WRITE: 30, Right.ADMIN: 40}
"""Right -> the least role that has it: guest, reporter, developer, maintainer."""
DRAFT = "Draft:"
"""How a title marks a draft; GitLab understands other spellings too and says ``draft`` for all."""
DRAFTS = ("draft:", "[draft]", "(draft)")
STATES = {"opened": "open", "closed": "closed", "merged": "merged", "locked": "open"}
MERGEABLE = {"can_be_merged": True, "cannot_be_merged": False}
"""``merge_status`` -> an answer; other words mean that it is not computed yet."""
CHECKS = {"success": "success", "skipped": "success", "failed": "failure", "canceled": "failure"}
"""Status of a job -> ours; all others are pending."""


class UserPayload(Payload):
    """Somebody."""

    id: int
    username: str


class OwnUserPayload(UserPayload):
    """The account of the token."""

    bot: bool = False


class TokenPayload(Payload):
    """The token about itself."""

    scopes: tuple[str, ...]


class MemberPayload(Payload):
    """Somebody's right in a project."""

    access_level: int


class AccessPayload(Payload):
    """A role in a project or group."""

    access_level: int


class PermissionsPayload(Payload):
    """The roles of the asking account: in the project itself, and through its group."""

    project_access: AccessPayload | None = None
    group_access: AccessPayload | None = None


class ProjectPayload(Payload):
    """A project."""

    id: int
    path_with_namespace: str
    default_branch: Text = ""
    archived: bool
    web_url: str
    issues_access_level: str = "enabled"
    permissions: PermissionsPayload | None = None


class HookPayload(Payload):
    """A webhook."""

    id: int
    url: str
    alert_status: Text = ""


class LabelPayload(Payload):
    """A label's definition."""

    id: int
    name: str
    color: Text = ""


class ReferencesPayload(Payload):
    """An issue's names; the full one has the project's path."""

    full: str


class IssuePayload(Payload):
    """An issue. ``moved_to_id`` is the id of the issue that it became in another project."""

    iid: int = Field(ge=1)
    id: int
    project_id: int
    title: str
    description: Text = ""
    state: str
    issue_type: str = "issue"
    labels: tuple[str, ...]
    assignees: tuple[UserPayload, ...] = ()
    author: UserPayload | None
    web_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    moved_to_id: int | None = None
    references: ReferencesPayload | None = None


class LinkPayload(IssuePayload):
    """An issue that another is linked to."""

    issue_link_id: int
    link_type: str


class NotePayload(Payload):
    """A note on an issue or a merge request."""

    id: int
    body: str
    author: UserPayload | None
    system: bool = False
    created_at: AwareDatetime
    updated_at: AwareDatetime


class AwardPayload(Payload):
    """A reaction."""

    name: str
    user: UserPayload


class NamedLabelPayload(Payload):
    """A label as an event shows it."""

    name: str


class LabelEventPayload(Payload):
    """A label that came or went; the label is null once its definition is gone."""

    user: UserPayload | None
    created_at: AwareDatetime
    label: NamedLabelPayload | None
    action: str


class StateEventPayload(Payload):
    """A closing or reopening."""

    user: UserPayload | None
    created_at: AwareDatetime
    state: str


class MergePayload(Payload):
    """A merge request."""

    iid: int = Field(ge=1)
    id: int
    title: str
    description: Text = ""
    state: str
    draft: bool
    source_branch: str
    target_branch: str
    sha: Text = ""
    author: UserPayload | None
    reviewers: tuple[UserPayload, ...] = ()
    web_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    merge_status: Text = ""
    merge_commit_sha: Text = ""
    squash_commit_sha: Text = ""


class CommitPayload(Payload):
    """A commit's name."""

    id: str


class BranchPayload(Payload):
    """A branch or a tag."""

    name: str
    commit: CommitPayload


class FilePayload(Payload):
    """A file with its content; ``last_commit_id`` is the precondition of the next change."""

    file_path: str
    blob_id: str
    last_commit_id: str
    encoding: str
    content: str


class WrittenPayload(Payload):
    """What a change of a file answers."""

    file_path: str
    branch: str


class StatusPayload(Payload):
    """A commit status."""

    id: int
    name: str
    status: str
    description: Text = ""
    target_url: Text = ""
    allow_failure: bool = False
    created_at: AwareDatetime | None = None


class SelfLinkPayload(Payload):
    """The page of a release."""

    own: Text = Field(default="", alias="self")


class ReleasePayload(Payload):
    """A release."""

    tag_name: str
    name: Text = ""
    description: Text = ""
    author: UserPayload | None = None
    links: SelfLinkPayload = Field(default=SelfLinkPayload(), alias="_links")


class PipelinePayload(Payload):
    """A started pipeline."""

    id: int
    web_url: str


OWN_USER = TypeAdapter(OwnUserPayload)
TOKEN = TypeAdapter(TokenPayload)
USERS = TypeAdapter(tuple[UserPayload, ...])
MEMBER = TypeAdapter(MemberPayload)
PROJECT = TypeAdapter(ProjectPayload)
HOOK = TypeAdapter(HookPayload)
LABEL = TypeAdapter(LabelPayload)
ISSUE = TypeAdapter(IssuePayload)
LINK = TypeAdapter(LinkPayload)
NOTE = TypeAdapter(NotePayload)
AWARD = TypeAdapter(AwardPayload)
LABEL_EVENT = TypeAdapter(LabelEventPayload)
STATE_EVENT = TypeAdapter(StateEventPayload)
MERGE = TypeAdapter(MergePayload)
BRANCH = TypeAdapter(BranchPayload)
FILE = TypeAdapter(FilePayload)
WRITTEN = TypeAdapter(WrittenPayload)
STATUS = TypeAdapter(StatusPayload)
RELEASE = TypeAdapter(ReleasePayload)
PIPELINE = TypeAdapter(PipelinePayload)


def login_of(user: UserPayload | None) -> str:
    """A login, the ghost's for a deleted account."""
    return user.username if user is not None else GHOST


def account_of(user: OwnUserPayload, rights: tuple[str, ...] | None) -> Account:
    """Whose token it is."""
    return Account(user.username, str(user.id), "bot" if user.bot else "user", rights)


def repository_of(payload: ProjectPayload, answer: Answer, asked: str) -> Repository:
    """The project; ``moved_to`` when it has another path by now."""
    moved = payload.path_with_namespace.casefold() != asked.casefold()
    return Repository(
        id=str(payload.id),
        path=payload.path_with_namespace,
        default_branch=payload.default_branch,
        archived=payload.archived,
        has_issues=payload.issues_access_level != "disabled",
        url=payload.web_url,
        moved_to=payload.path_with_namespace if moved else "",
        date=answer.date,
        rights=None if payload.permissions is None else rights_of(payload.permissions),
    )


def rights_of(permissions: PermissionsPayload) -> frozenset[Right]:
    """What the higher of both roles allows."""
    roles = (permissions.project_access, permissions.group_access)
    level = max((role.access_level for role in roles if role is not None), default=0)
    return frozenset(right for right, least in LEVELS.items() if level >= least)


def hook_of(payload: HookPayload) -> Hook:
    """A webhook; GitLab switches one off whose deliveries fail."""
    working = payload.alert_status in ("", "executable")
    return Hook(str(payload.id), payload.url, working, "" if working else f"GitLab says {payload.alert_status}")


def label_of(payload: LabelPayload) -> LabelDef:
    """A label's definition."""
    return LabelDef(str(payload.id), payload.name, payload.color.removeprefix("#").lower())


def issue_of(payload: IssuePayload) -> Issue:
    """An issue."""
    return Issue(
        number=payload.iid,
        id=str(payload.id),
        title=payload.title,
        body=payload.description,
        is_open=payload.state == "opened",
        labels=payload.labels,
        assignees=tuple(login_of(each) for each in payload.assignees),
        author=login_of(payload.author),
        url=payload.web_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
    )


def is_card(payload: IssuePayload) -> bool:
    """Whether it is a plain issue of this project still: no incident, no task, not moved away."""
    return payload.issue_type == "issue" and payload.moved_to_id is None


def comment_of(payload: NotePayload, number: int, page: str) -> ForgeComment:
    """A note as a comment; ``page`` is the address of what it stands on."""
    return ForgeComment(
        id=str(payload.id),
        number=number,
        author=login_of(payload.author),
        body=payload.body,
        url=f"{page}#note_{payload.id}",
        created_at=payload.created_at,
        updated_at=payload.updated_at,
    )


def label_event_of(payload: LabelEventPayload) -> LabelEvent | None:
    """Who put a label on or took it off; None for a label that is no more."""
    if payload.label is None:
        return None
    return LabelEvent(login_of(payload.user), payload.created_at, payload.label.name, payload.action == "add")


def state_event_of(payload: StateEventPayload) -> LabelEvent | None:
    """Who closed or reopened; None for other states."""
    if payload.state not in ("closed", "reopened"):
        return None
    return LabelEvent(login_of(payload.user), payload.created_at, closed=payload.state == "closed")


def blocker_of(payload: LinkPayload, project: str) -> Blocker:
    """What an issue waits for; ``project`` is the path of the issue's own."""
    path = payload.references.full.rpartition("#")[0] if payload.references else ""
    elsewhere = path and path.casefold() != project.casefold()
    return Blocker(payload.iid, path if elsewhere else "", payload.state == "opened")


def plain_title(title: str) -> str:
    """A title without the word that marks a draft."""
    word = next((each for each in DRAFTS if title.lower().startswith(each)), "")
    return title[len(word) :].strip() if word else title


def draft_title(title: str, *, draft: bool) -> str:
    """A title that marks a draft, or does not."""
    return f"{DRAFT} {plain_title(title)}" if draft else plain_title(title)


def pull_of(payload: MergePayload) -> Pull:
    """A merge request."""
    return Pull(
        number=payload.iid,
        id=str(payload.id),
        title=plain_title(payload.title) if payload.draft else payload.title,
        body=payload.description,
        state=STATES.get(payload.state, "open"),
        draft=payload.draft,
        head=payload.source_branch,
        head_sha=payload.sha,
        base=payload.target_branch,
        author=login_of(payload.author),
        url=payload.web_url,
        created_at=payload.created_at,
        updated_at=payload.updated_at,
        mergeable=MERGEABLE.get(payload.merge_status),
        merge_sha=payload.merge_commit_sha or payload.squash_commit_sha,
        reviewers=tuple(login_of(each) for each in payload.reviewers),
    )


def branch_of(payload: BranchPayload) -> Ref:
    """A branch."""
    return Ref(payload.name, payload.commit.id)


def file_of(payload: FilePayload) -> File:
    """A file. Raises ``Misfit`` for a content that cannot be decoded."""
    content = decoded(payload.content) if payload.encoding == "base64" else payload.content.encode()
    return File(payload.file_path, payload.blob_id, content)


def check_of(payload: StatusPayload) -> Check:
    """A status; one that is allowed to fail does not spoil what it belongs to."""
    state = CHECKS.get(payload.status, "pending")
    if state == "failure" and payload.allow_failure:
        state = "success"
    return Check(payload.name, state, payload.description, payload.target_url, payload.created_at)


def release_of(payload: ReleasePayload) -> Release:
    """A release; its tag is its id."""
    return Release(
        id=payload.tag_name,
        tag=payload.tag_name,
        name=payload.name,
        body=payload.description,
        author=login_of(payload.author),
        url=payload.links.own,
    )


def pipeline_of(payload: PipelinePayload) -> Pipeline:
    """A started pipeline."""
    return Pipeline(str(payload.id), payload.web_url)
