"""What each operation answers (connectors.md 7): frozen models; what the forge says besides is left out.

A mutation whose answer does not fit its model has lost its answer. Made from neutral records by ``connectors.forge``.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, HttpUrl, PositiveInt

T = TypeVar("T")


class Result(BaseModel):
    """What all have in common."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class Repo(Result):
    """A repository."""

    id: str
    path: str
    default_branch: str
    archived: bool


class Issue(Result):
    """An issue."""

    number: PositiveInt
    id: str
    title: str
    body: str
    state: Literal["open", "closed"]
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    author: str
    url: HttpUrl
    created_at: AwareDatetime
    updated_at: AwareDatetime


class Comment(Result):
    """A comment, or the text of a review."""

    id: str = Field(min_length=1)
    number: PositiveInt
    author: str
    body: str
    url: HttpUrl
    created_at: AwareDatetime


class Pull(Result):
    """A pull request or merge request."""

    number: PositiveInt
    id: str
    title: str
    state: Literal["open", "closed", "merged"]
    draft: bool
    head: str
    head_sha: str
    base: str
    url: HttpUrl
    mergeable: bool | None = None
    merge_sha: str | None = None


class Label(Result):
    """A label's definition."""

    id: str
    name: str
    color: str


class Ref(Result):
    """A branch."""

    name: str
    sha: str


class Page(Result, Generic[T]):
    """A listing: with ``complete`` false nothing follows from what is absent."""

    items: tuple[T, ...]
    complete: bool
    stopped: str | None = None


class Changed(Result):
    """Whether anything was changed."""

    changed: bool


class Check(Result):
    """One check of a commit."""

    name: str
    state: Literal["pending", "success", "failure"]
    text: str
    url: str


class Checks(Result):
    """All checks of a pull's head; ``success`` only when every one is and the list is complete."""

    state: Literal["pending", "success", "failure"]
    items: tuple[Check, ...]
    complete: bool


class File(Result):
    """A file: ``text`` when it is UTF-8, else ``base64``."""

    path: str
    sha: str
    text: str | None = None
    base64: str | None = None


class Commit(Result):
    """What writing a file made."""

    commit: str = Field(min_length=1)
    sha: str


class Release(Result):
    """A release."""

    id: str = Field(min_length=1)
    tag: str
    url: HttpUrl


class Pipeline(Result):
    """A started pipeline."""

    id: str = Field(min_length=1)
    url: HttpUrl


class ProjectItem(Result):
    """An issue's place in a project."""

    item_id: str = Field(min_length=1)
