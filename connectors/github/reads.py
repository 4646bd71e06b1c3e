"""What can be asked of GitHub: single objects, and listings page by page (connectors.md 5 and 20).

Query keys come from ``KEYS``, per listing; one that is not in it fails here, before a request (connectors.md 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote, urlsplit

from connectors.answer import Read
from connectors.errand import Errand
from connectors.errors import ForgeRefused
from connectors.forge.client import Target
from connectors.forge.payloads import Extent, Items, listed, missing, query_of, refused, stamp
from connectors.forge.records import (
    Account,
    Blocker,
    Check,
    File,
    ForgeComment,
    Hook,
    Issue,
    IssueQuery,
    LabelDef,
    LabelEvent,
    Missing,
    MissingKind,
    Pull,
    PullQuery,
    Ref,
    Release,
    Repository,
    Sighting,
    Subject,
)
from connectors.forge.wire import Wire, sighted
from connectors.github import mapping
from connectors.github.app import AppCredential
from connectors.github.client import Library
from connectors.transport.client import Transport
from connectors.transport.models import accept
from connectors.transport.request import Answer, Request

P = TypeVar("P")
T = TypeVar("T")
PAGE = 100
_COMMON = frozenset({"per_page"})
KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "labels": _COMMON,
        "hooks": _COMMON,
        "issues": _COMMON | {"state", "labels", "sort", "direction", "since", "creator"},
        "comments": _COMMON | {"since"},
        "events": _COMMON,
        "blocked_by": _COMMON,
        "pulls": _COMMON | {"state", "head", "base", "sort", "direction"},
        "reviews": _COMMON,
        "statuses": _COMMON,
        "check-runs": _COMMON | {"filter"},
        "releases": _COMMON,
        "contents": frozenset({"ref"}),
    }
)
"""Listing -> the query keys that GitHub knows there."""


class Wired(Wire):
    """What every part of the client works with."""

    kind = "github"

    def __init__(self, transport: Transport, library: Library, target: Target, app: AppCredential | None) -> None:
        super().__init__(transport, target, f"/repos/{quote(target.repo, safe='/')}")
        self._library = library
        self._app = app
        self._repo_id = ""


class Reads(Wired):
    """Implements ``forge.client.Reads``."""

    def whoami(self, errand: Errand) -> Account:
        """The account of the token; an app's is its bot."""
        if self._app is not None:
            return self._app.account(errand)
        answer = self._transport.read(errand, Request("GET", "/user"))
        return mapping.account_of(accept(answer, mapping.USER, errand), answer)

    def repository(self, errand: Errand) -> Repository | Missing:
        """The repository, also under another name by now."""
        try:
            answer = self._get(errand, "")
        except ForgeRefused as error:
            return missing(error)
        found = mapping.repository_of(accept(answer, mapping.REPOSITORY, errand), answer, self._target.repo)
        self._repo_id = found.id
        return found

    def may_write(self, login: str, errand: Errand) -> bool:
        """Whether somebody may push, or triage: whoever may label."""
        found = self._one(errand, f"/collaborators/{quote(login, safe='')}/permission", mapping.PERMISSION)
        if isinstance(found, Missing):
            return False
        return found.permission in ("admin", "maintain", "write") or found.role_name == "triage"

    def hooks(self, errand: Errand) -> Read[Hook]:
        """The repository's webhooks, for those who may see them."""
        return self._listed(errand, "hooks", "/hooks", Items(mapping.HOOK, mapping.hook_of))

    def labels(self, errand: Errand) -> Read[LabelDef]:
        """All labels of the repository."""
        return self._listed(errand, "labels", "/labels", Items(mapping.LABEL, mapping.label_of))

    def issues(self, query: IssueQuery, errand: Errand) -> Read[Issue]:
        """Issues by creation; pulls in the list are counted and left out."""
        label = query.label.name if query.label is not None else ""
        filtered_there = label if "," not in label else ""
        keys = {
            "state": query.state,
            "labels": filtered_there,
            "sort": "created",
            "direction": "desc" if query.newest_first else "asc",
            "since": stamp(query.since),
            "creator": query.author,
        }
        wanted = label.casefold()

        def kept(payload: mapping.IssuePayload) -> Issue | str:
            issue = mapping.issue_of(payload)
            if payload.pull_request is not None:
                return "pull requests"
            return issue if not wanted or wanted in map(str.casefold, issue.labels) else "other labels"

        return self._listed(errand, "issues", "/issues", Items(mapping.ISSUE, kept), query.limit, **keys)

    def issue(self, number: int, errand: Errand) -> Issue | Missing:
        """One issue; one that lives elsewhere by now is moved."""
        return self.issue_by_number(number, errand)

    def issue_by_number(self, number: int, errand: Errand) -> Issue | Missing:
        """The issue itself, whatever a board makes of it."""
        try:
            answer = self._get(errand, f"/issues/{number}")
        except ForgeRefused as error:
            return missing(error)
        payload = accept(answer, mapping.ISSUE, errand)
        if not self._is_here(payload, answer, number, errand):
            return Missing(MissingKind.MOVED, f"{mapping.repo_of_url(payload.repository_url)}#{payload.number}")
        if payload.pull_request is not None:
            return Missing(MissingKind.NOT_FOUND)
        return mapping.issue_of(payload)

    def issues_many(self, numbers: Sequence[int], errand: Errand) -> Sighting:
        """Each by itself: an unchanged one costs nothing, and none can spoil another."""
        return sighted(numbers, lambda number: self.issue(number, errand))

    def comments(self, subject: Subject, errand: Errand, since: datetime | None = None) -> Read[ForgeComment]:
        """Comments by their age; those of a pull lie with its issue."""
        items = Items(mapping.COMMENT, lambda payload: mapping.comment_of(payload, subject.number))
        path = f"/issues/{subject.number}/comments"
        return self._listed(errand, "comments", path, items, since=stamp(since))

    def label_events(self, number: int, errand: Errand) -> Read[LabelEvent]:
        """Who put which label on and took it off, closed and reopened."""
        items = Items(mapping.EVENT, lambda payload: mapping.label_event_of(payload) or "other events")
        return self._listed(errand, "events", f"/issues/{number}/events", items)

    def blockers(self, number: int, errand: Errand) -> Read[Blocker]:
        """What the forge's own links say; a 404 of that list is a failure."""

        def made(payload: mapping.IssuePayload) -> Blocker:
            repo = mapping.repo_of_url(payload.repository_url)
            same = not repo or repo.casefold() == self._target.repo.casefold()
            return Blocker(payload.number, "" if same else repo, payload.state == "open")

        path = f"/issues/{number}/dependencies/blocked_by"
        return self._listed(errand, "blocked_by", path, Items(mapping.ISSUE, made))

    def pull(self, number: int, errand: Errand) -> Pull | Missing:
        """One pull."""
        found = self._one(errand, f"/pulls/{number}", mapping.PULL)
        return found if isinstance(found, Missing) else mapping.pull_of(found)

    def pulls(self, query: PullQuery, errand: Errand) -> Read[Pull]:
        """Pulls by creation, newest first."""
        head = query.head if not query.head or ":" in query.head else f"{self._target.repo.split('/')[0]}:{query.head}"
        state = "closed" if query.state == "merged" else query.state

        def kept(payload: mapping.PullPayload) -> Pull | str:
            pull = mapping.pull_of(payload)
            return pull if query.state in ("all", pull.state) else "other states"

        keys = {"state": state, "head": head, "base": query.base, "sort": "created", "direction": "desc"}
        return self._listed(errand, "pulls", "/pulls", Items(mapping.PULL, kept), query.limit, **keys)

    def reviews(self, number: int, errand: Errand) -> Read[ForgeComment]:
        """Reviews that were sent off, oldest first."""
        items = Items(mapping.REVIEW, lambda payload: mapping.review_of(payload, number) or "pending reviews")
        return self._listed(errand, "reviews", f"/pulls/{number}/reviews", items)

    def checks(self, sha: str, errand: Errand) -> Read[Check]:
        """The newest status of each context and the newest run of each check; incomplete when one list is."""
        statuses = self._listed(
            errand, "statuses", f"/commits/{sha}/statuses", Items(mapping.STATUS, mapping.status_of)
        )
        runs = self._listed(
            errand,
            "check-runs",
            f"/commits/{sha}/check-runs",
            Items(mapping.CHECK_RUN, mapping.check_of, within="check_runs"),
            filter="latest",
        )
        newest: dict[str, Check] = {}
        for check in (*statuses.items, *runs.items):
            newest.setdefault(check.name, check)
        worse = statuses if not statuses.complete else runs
        return replace(worse, items=tuple(newest.values()), unfit=(*statuses.unfit, *runs.unfit))

    def ref(self, name: str, errand: Errand) -> Ref | Missing:
        """A branch by its short name, any other ref by its full one."""
        found = self._one(errand, f"/git/ref/{quote(full_ref(name).removeprefix('refs/'), safe='/')}", mapping.REF)
        return found if isinstance(found, Missing) else mapping.ref_of(found)

    def file(self, path: str, ref: str, errand: Errand) -> File | Missing:
        """A file of a branch; a large one comes as a blob."""
        try:
            answer = self._get(errand, f"/contents/{quote(path, safe='/')}", **({"ref": ref} if ref else {}))
        except ForgeRefused as error:
            return missing(error)
        if isinstance(answer.json(), list):
            raise _no_file(path)
        payload = accept(answer, mapping.FILE, errand)
        if payload.type != "file":
            raise _no_file(path)
        if payload.encoding != "none":
            return mapping.file_of(payload)
        blob = accept(self._get(errand, f"/git/blobs/{payload.sha}"), mapping.BLOB, errand)
        return File(payload.path, payload.sha, mapping.decoded(blob.content, blob.encoding))

    def release(self, tag: str, errand: Errand) -> Release | Missing:
        """The release of a tag, a draft too."""
        found = self._one(errand, f"/releases/tags/{quote(tag, safe='')}", mapping.RELEASE)
        if not isinstance(found, Missing):
            return mapping.release_of(found)
        items = Items(mapping.RELEASE, mapping.release_of, enough=lambda release: release.tag == tag)
        drafts = self._listed(errand, "releases", "/releases", items)
        return next((release for release in drafts.items if release.tag == tag), found)

    def _listed(
        self, errand: Errand, listing: str, path: str, items: Items[P, T], limit: int = 0, **keys: str
    ) -> Read[T]:
        size = str(min(PAGE, limit) if limit else PAGE)
        query = query_of(KEYS[listing], **{**keys, "per_page": size})
        extent = Extent(PAGE, self._target.max_pages, limit)
        return listed(self._transport, errand, Request("GET", self._path + path, query), items, extent)

    def _is_here(self, payload: mapping.IssuePayload, answer: Answer, number: int, errand: Errand) -> bool:
        """Whether an issue still belongs to the repository, which may have another name by now."""
        repo = mapping.repo_of_url(payload.repository_url)
        if not answer.moved_to or not repo or repo.casefold() == self._target.repo.casefold():
            return True
        if not self._repo_id:
            self.repository(errand.reading())
        return bool(self._repo_id) and urlsplit(answer.moved_to).path.endswith(
            f"/repositories/{self._repo_id}/issues/{number}"
        )


def full_ref(name: str) -> str:
    """A ref's full name."""
    return name if name.startswith("refs/") else f"refs/heads/{name}"


def _no_file(path: str) -> ForgeRefused:
    return refused(f"{path} is no file.", "Name a file, not a folder or a link.")
