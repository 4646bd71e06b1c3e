"""What each operation takes (connectors.md 7): frozen models that accept nothing unknown.

Read by the catalogue; a value that does not fit is found before anything is written down or sent. Texts are cleaned,
cut and marked later (connectors.md 18), never by the caller.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PositiveInt, StringConstraints

NAME = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
NonEmptyText = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=NAME)]
Sha = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$")]
Color = Annotated[str, StringConstraints(pattern=r"^#?[0-9a-fA-F]{6}$")]


def _no_way_up(path: str) -> str:
    if any(not part.strip(".") for part in path.split("/")):
        raise ValueError("a part of it is made of dots alone")
    return path


RepoPath = Annotated[str, StringConstraints(pattern=r"^[\w.-]+(?:/[\w.-]+)+$"), AfterValidator(_no_way_up)]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/#-]{1,120}$")]
CommentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_=-]{1,80}$")]
Limit = Annotated[int, Field(ge=1, le=10_000)]


class Params(BaseModel):
    """What all have in common; ``repo`` is needed where the connection is bound to none, and refused where it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, coerce_numbers_to_str=True)
    repo: RepoPath | None = None


class Nothing(Params):
    """No parameter."""


class Numbered(Params):
    """One issue or pull."""

    number: PositiveInt


class IssueList(Params):
    """Issues of a state, with a label, changed since."""

    state: Literal["open", "closed", "all"] = "open"
    label: Name | None = None
    since: AwareDatetime | None = None
    limit: Limit = 100


class CommentList(Numbered):
    """Comments of an issue."""

    since: AwareDatetime | None = None
    limit: Limit = 100


class PullList(Params):
    """Pulls of a branch."""

    head: Name | None = None
    base: Name | None = None
    state: Literal["open", "closed", "all"] = "open"
    limit: Limit = 100


class RefName(Params):
    """A branch."""

    name: Name


class FileGet(Params):
    """A file of a branch, of the default one when ``ref`` is left out."""

    path: Name
    ref: Name | None = None


class IssueCreate(Params):
    """A new issue."""

    title: str
    body: NonEmptyText
    labels: tuple[Name, ...] = ()
    assignees: tuple[Name, ...] = ()


class IssueEdit(Numbered):
    """Title or body of an issue."""

    title: str | None = None
    body: NonEmptyText | None = None
    expect_updated_at: AwareDatetime | None = None


class IssueState(Numbered):
    """Close or reopen; ``expect`` is the state that it must have."""

    expect: Literal["open", "closed"] | None = None


class LabelOf(Numbered):
    """A label of an issue."""

    label: Name


class LabelDefine(Params):
    """A label's definition."""

    name: Name
    color: Color
    description: str = ""


class AssigneeOf(Numbered):
    """A person of an issue."""

    login: Name


class Text(Numbered):
    """A text on an issue or pull."""

    body: NonEmptyText


class KeyedText(Text):
    """A comment that is made once per key and edited from then on."""

    key: Key


class CommentEdit(Text):
    """A comment of our own."""

    comment_id: CommentId


class Reaction(Numbered):
    """A reaction to an issue or one of its comments."""

    comment_id: CommentId | None = None
    name: Name


class BranchCreate(RefName):
    """A branch at a commit."""

    sha: Sha


class BranchDelete(RefName):
    """A branch that shall go, if it is still at a commit."""

    expect_sha: Sha | None = None


class FilePut(Params):
    """A file of a branch; without ``expect_sha`` it must not exist yet."""

    path: Name
    branch: Name
    text: str
    message: NonEmptyText
    expect_sha: Sha | None = None


class PullCreate(Params):
    """A new pull."""

    head: Name
    base: Name
    title: str
    body: NonEmptyText
    draft: bool = False


class PullEdit(Numbered):
    """Fields of a pull."""

    title: str | None = None
    body: NonEmptyText | None = None
    state: Literal["open", "closed"] | None = None
    draft: bool | None = None


class Review(Text):
    """A review with a verdict."""

    event: Literal["approve", "request_changes", "comment"]


class ReviewRequest(Numbered):
    """People who shall review."""

    logins: Annotated[tuple[Name, ...], Field(min_length=1)]


class Merge(Numbered):
    """A merge of exactly this head."""

    head_sha: Sha
    method: Literal["merge", "squash", "rebase"] = "merge"


class StatusSet(Params):
    """The status of a commit in one context."""

    sha: Sha
    context: Name
    state: Literal["pending", "success", "failure"]
    text: str = ""
    url: str = ""


class ReleaseCreate(Params):
    """A release of a tag."""

    tag: Name
    name: Name
    body: NonEmptyText
    draft: bool = False


class WorkflowDispatch(Params):
    """A run of a workflow file."""

    file: Name
    ref: Name
    inputs: dict[str, str] = Field(default_factory=dict)


class PipelineCreate(Params):
    """A pipeline of a branch."""

    ref: Name
    variables: dict[str, str] = Field(default_factory=dict)


class Dependency(Numbered):
    """What an issue waits for: the number of another one of the repository."""

    blocked_by: PositiveInt


class ProjectStatus(Numbered):
    """The status of an issue in the connection's project."""

    status: Name
    expect: str | None = None
