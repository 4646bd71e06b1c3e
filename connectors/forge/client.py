"""What a forge's client offers: thin primitives over the transport, one call (or one paged read) each, no policy.

Implemented by ``github``, ``gitlab`` and ``forgejo``; used by the board over labels and by the operations. Reads that
fail in part say so in their ``Read``; a read that fails as a whole raises. Every mutation is exactly one request,
carries the effect id of its errand, is never repeated here, and raises what became of it:

``NotSent``          proof that nothing left (connectors.md 11)
``RateLimited``      a throttle: nothing was performed
``ForgeRefused``     the forge answered and did not do it; ``error.status``
``EffectPending``    202: taken, not done yet
``AmbiguousEffect``  anything else, a success whose payload does not fit its model included

Reads raise ``RateLimited``, ``ForgeRefused`` and ``Unreachable``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from connectors.answer import Read
from connectors.errand import Errand
from connectors.forge.records import (
    Account,
    Blocker,
    Check,
    ClaimRead,
    CommitDraft,
    File,
    FileChange,
    FileDraft,
    ForgeComment,
    Hook,
    Issue,
    IssueDraft,
    IssuePatch,
    IssueQuery,
    LabelDef,
    LabelEvent,
    LabelSwap,
    Missing,
    Pipeline,
    ProjectField,
    ProjectItem,
    Pull,
    PullDraft,
    PullPatch,
    PullQuery,
    Ref,
    Release,
    ReleaseDraft,
    Repository,
    Sighting,
    Subject,
)
from connectors.limiter.limiter import Limiter


@dataclass(frozen=True, slots=True)
class ProjectTarget:
    """A project board whose status field holds the columns (GitHub)."""

    owner: str
    number: int
    field: str = "Status"


@dataclass(frozen=True, slots=True)
class Target:
    """At what a client looks: the repository by its path, and the project when columns are its options."""

    repo: str
    max_pages: int = 100
    project: ProjectTarget | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """In what the forges differ above the client.

    ``chunk``: how many issues one by-number read takes. ``folds_case``: label names are equal without case.
    ``swaps``: one call adds a label, removes one and changes the state. ``sets_assignees``: assignees are replaced as
    a set. ``makes_labels``: an unknown label name makes a label. ``lists_whole``: a listing brings the cards of all
    labels at once. ``exclusive``: no card is in two columns. ``native_blockers``, ``label_history``, ``projects``,
    ``refs_claim``: what exists there.
    """

    chunk: int = 1
    folds_case: bool = False
    swaps: bool = False
    sets_assignees: bool = False
    makes_labels: bool = False
    lists_whole: bool = False
    exclusive: bool = False
    native_blockers: bool = True
    label_history: bool = True
    projects: bool = False
    refs_claim: bool = True


class Reads(Protocol):
    """What can be asked of any forge."""

    @property
    def kind(self) -> str:
        """``github``, ``gitlab`` or ``forgejo``."""
        ...

    @property
    def traits(self) -> Traits:
        """In what this forge differs."""
        ...

    def whoami(self, errand: Errand) -> Account: ...  # noqa: D102
    def repository(self, errand: Errand) -> Repository | Missing: ...  # noqa: D102
    def may_write(self, login: str, errand: Errand) -> bool: ...  # noqa: D102
    def hooks(self, errand: Errand) -> Read[Hook]:
        """The repository's webhooks; most credentials may not ask: ``ForgeRefused`` then."""
        ...

    def labels(self, errand: Errand) -> Read[LabelDef]: ...  # noqa: D102
    def issues(self, query: IssueQuery, errand: Errand) -> Read[Issue]: ...  # noqa: D102
    def issue(self, number: int, errand: Errand) -> Issue | Missing:
        """One issue by its number, never a filtered list; a pull's number is ``Missing``."""
        ...

    def issues_many(self, numbers: Sequence[int], errand: Errand) -> Sighting:
        """At most ``traits.chunk`` issues; a failing call makes them ``unread``, it does not raise."""
        ...

    def comments(self, subject: Subject, errand: Errand, since: datetime | None = None) -> Read[ForgeComment]:
        """People's and our comments of an issue or pull, oldest first, without system notes."""
        ...

    def label_events(self, number: int, errand: Errand) -> Read[LabelEvent]: ...  # noqa: D102
    def blockers(self, number: int, errand: Errand) -> Read[Blocker]: ...  # noqa: D102
    def pull(self, number: int, errand: Errand) -> Pull | Missing: ...  # noqa: D102
    def pulls(self, query: PullQuery, errand: Errand) -> Read[Pull]: ...  # noqa: D102
    def reviews(self, number: int, errand: Errand) -> Read[ForgeComment]: ...  # noqa: D102
    def checks(self, sha: str, errand: Errand) -> Read[Check]:
        """Statuses and check runs of a commit, the newest of each name."""
        ...

    def ref(self, name: str, errand: Errand) -> Ref | Missing: ...  # noqa: D102
    def file(self, path: str, ref: str, errand: Errand) -> File | Missing: ...  # noqa: D102
    def release(self, tag: str, errand: Errand) -> Release | Missing: ...  # noqa: D102


class IssueWrites(Protocol):
    """Mutations of issues, labels and comments."""

    def add_label(self, number: int, label: LabelDef, errand: Errand) -> None: ...  # noqa: D102
    def remove_label(self, number: int, label: LabelDef, errand: Errand) -> None: ...  # noqa: D102
    def swap_labels(self, number: int, swap: LabelSwap, errand: Errand) -> None:
        """Where ``traits.swaps``: one call for all that the swap names."""
        ...

    def define_label(self, name: str, color: str, description: str, errand: Errand) -> LabelDef: ...  # noqa: D102
    def set_state(self, number: int, is_open: bool, errand: Errand) -> Issue: ...  # noqa: D102
    def create_issue(self, draft: IssueDraft, errand: Errand) -> Issue: ...  # noqa: D102
    def edit_issue(self, number: int, patch: IssuePatch, errand: Errand) -> Issue: ...  # noqa: D102
    def change_assignees(self, number: int, present: tuple[str, ...], wanted: tuple[str, ...], errand: Errand) -> None:
        """Where ``traits.sets_assignees`` the set ``wanted`` is written; else the one that differs from ``present`` is
        added or removed."""
        ...

    def create_comment(self, subject: Subject, text: str, errand: Errand) -> ForgeComment: ...  # noqa: D102
    def edit_comment(self, number: int, comment_id: str, text: str, errand: Errand) -> ForgeComment: ...  # noqa: D102
    def delete_comment(self, number: int, comment_id: str, errand: Errand) -> None: ...  # noqa: D102
    def add_reaction(self, number: int, comment_id: str, name: str, errand: Errand) -> None:
        """On the issue when ``comment_id`` is empty."""
        ...

    def add_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None: ...  # noqa: D102
    def remove_dependency(self, number: int, blocker: Blocker, errand: Errand) -> None: ...  # noqa: D102


class CodeWrites(Protocol):
    """Mutations of refs, files, pulls, statuses and releases."""

    def create_ref(self, name: str, sha: str, errand: Errand) -> Ref: ...  # noqa: D102
    def delete_ref(self, name: str, errand: Errand) -> None: ...  # noqa: D102
    def put_file(self, draft: FileDraft, errand: Errand) -> FileChange: ...  # noqa: D102
    def create_pull(self, draft: PullDraft, errand: Errand) -> Pull: ...  # noqa: D102
    def edit_pull(self, number: int, patch: PullPatch, errand: Errand) -> Pull: ...  # noqa: D102
    def merge_pull(self, number: int, head_sha: str, method: str, errand: Errand) -> None: ...  # noqa: D102
    def review_pull(self, number: int, event: str, body: str, errand: Errand) -> ForgeComment: ...  # noqa: D102
    def request_reviews(self, number: int, logins: tuple[str, ...], errand: Errand) -> None: ...  # noqa: D102
    def set_status(self, sha: str, check: Check, errand: Errand) -> None: ...  # noqa: D102
    def create_release(self, draft: ReleaseDraft, errand: Errand) -> Release: ...  # noqa: D102
    def start_pipeline(self, ref: str, values: Mapping[str, str], errand: Errand, file: str = "") -> Pipeline | None:
        """A workflow of ``file`` on GitHub (answers None), a pipeline on GitLab."""
        ...


class ForgeClient(Reads, IssueWrites, CodeWrites, Protocol):
    """All of it, and the credential's pace."""

    @property
    def pace(self) -> Limiter:
        """The limiter of the credential."""
        ...


class RefClient(ForgeClient, Protocol):
    """A client of a forge where refs beside branches and tags can be made (``traits.refs_claim``)."""

    def claim_ref(self, number: int, errand: Errand) -> ClaimRead:
        """The ref that says who has the card."""
        ...

    def create_tree(self, path: str, text: str, errand: Errand) -> str:
        """A tree of one file; its SHA."""
        ...

    def create_commit(self, draft: CommitDraft, errand: Errand) -> str:
        """A commit that no ref points to yet; its SHA."""
        ...

    def create_claim_ref(self, number: int, sha: str, errand: Errand) -> None:
        """A new claim ref; ``ForgeRefused`` where one exists."""
        ...

    def advance_claim_ref(self, number: int, sha: str, errand: Errand) -> None:
        """The claim ref moves on; ``ForgeRefused`` where it does not point to an ancestor of the commit any more."""
        ...

    def delete_claim_ref(self, number: int, errand: Errand) -> None: ...  # noqa: D102


class ProjectClient(ForgeClient, Protocol):
    """A client of a forge with project boards (``traits.projects``)."""

    def project_field(self, errand: Errand) -> ProjectField: ...  # noqa: D102
    def project_items(self, errand: Errand) -> Read[ProjectItem]: ...  # noqa: D102
    def project_item(self, number: int, errand: Errand) -> ProjectItem | Missing: ...  # noqa: D102
    def add_project_item(self, number: int, errand: Errand) -> str:
        """The id of the item, also of one that was there."""
        ...

    def set_project_status(self, item_id: str, option_id: str, errand: Errand) -> None:
        """An empty ``option_id`` clears the status."""
        ...
