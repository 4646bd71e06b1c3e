"""What can be asked of Forgejo: single objects, and listings page by page (connectors.md 5 and 20).

Forgejo lists newest first and takes a filter by an unknown label for none: order and labels are ours to see to. Query
keys come from ``KEYS``, per listing, since keys that Forgejo does not know are ignored by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

from connectors.answer import Read
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeRefused
from connectors.forge.client import Target
from connectors.forge.payloads import Extent, Items, listed, missing, query_of, stamp
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
from connectors.forgejo import mapping
from connectors.transport.client import Transport
from connectors.transport.models import Misfit, accept, misfit
from connectors.transport.request import Request

P = TypeVar("P")
T = TypeVar("T")
PREFIX = "/api/v1"
PAGE = 50
"""The largest page that Forgejo gives unless it was told otherwise."""
WRITERS = ("owner", "admin", "write")
_COMMON = frozenset({"limit"})
KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "labels": _COMMON,
        "issues": _COMMON | {"state", "type", "labels", "since", "created_by"},
        "comments": frozenset({"since"}),
        "hooks": _COMMON,
        "timeline": _COMMON,
        "dependencies": _COMMON,
        "pulls": _COMMON | {"state"},
        "reviews": _COMMON,
        "statuses": _COMMON,
    }
)
"""Listing -> the query keys that Forgejo knows there and that we use."""


class Wired(Wire):
    """What every part of the client works with."""

    kind = "forgejo"

    def __init__(self, transport: Transport, target: Target) -> None:
        super().__init__(transport, target, f"{PREFIX}/repos/{quote(target.repo, safe='/')}")
        self._account: Account | None = None

    def _listed(
        self, errand: Errand, listing: tuple[str, str], items: Items[P, T], *, limit: int = 0, **keys: str
    ) -> Read[T]:
        """A listing by its name in ``KEYS`` and its path below the repository."""
        name, path = listing
        return self._listed_at(errand, (name, self._path + path), items, limit=limit, **keys)

    def _listed_at(
        self, errand: Errand, listing: tuple[str, str], items: Items[P, T], *, limit: int = 0, **keys: str
    ) -> Read[T]:
        name, path = listing
        size = min(PAGE, limit) if limit else PAGE
        paged = {"limit": str(size)} if "limit" in KEYS[name] else {}
        request = Request("GET", path, query_of(KEYS[name], **keys, **paged))
        extent = Extent(PAGE if paged else 0, self._target.max_pages, limit)
        return listed(self._transport, errand, request, items, extent)


class Reads(Wired):
    """Implements ``forge.client.Reads``."""

    def whoami(self, errand: Errand) -> Account:
        """The account of the token; asked for once, by ``doctor`` each time."""
        if self._account is None or errand.purpose is Purpose.DOCTOR:
            answer = self._transport.read(errand, Request("GET", f"{PREFIX}/user"))
            self._account = mapping.account_of(accept(answer, mapping.USER, errand))
        return self._account

    def repository(self, errand: Errand) -> Repository | Missing:
        """The repository, also under another name by now."""
        try:
            answer = self._get(errand, "")
        except ForgeRefused as error:
            return missing(error)
        return mapping.repository_of(accept(answer, mapping.REPOSITORY, errand), answer, self._target.repo)

    def may_write(self, login: str, errand: Errand) -> bool:
        """Whether somebody may push."""
        found = self._one(errand, f"/collaborators/{quote(login, safe='')}/permission", mapping.PERMISSION)
        return not isinstance(found, Missing) and found.permission in WRITERS

    def hooks(self, errand: Errand) -> Read[Hook]:
        """The repository's webhooks, for those who may see them."""
        return self._listed(errand, ("hooks", "/hooks"), Items(mapping.HOOK, mapping.hook_of))

    def labels(self, errand: Errand) -> Read[LabelDef]:
        """The labels of the repository, then those of its organisation; a person's repository has only its own."""
        items = Items(mapping.LABEL, mapping.label_of)
        own = self._listed(errand, ("labels", "/labels"), items)
        owner = self._target.repo.split("/", 1)[0]
        try:
            shared = self._listed_at(errand, ("labels", f"{PREFIX}/orgs/{quote(owner, safe='')}/labels"), items)
        except ForgeRefused as error:
            missing(error)
            return own
        worse = own if not own.complete else shared
        return replace(
            worse, moved_to=own.moved_to, items=(*own.items, *shared.items), unfit=(*own.unfit, *shared.unfit)
        )

    def issues(self, query: IssueQuery, errand: Errand) -> Read[Issue]:
        """Issues by creation. The label is looked at here, whatever Forgejo's own filter let through."""
        label = query.label
        filtered_there = label.name if label is not None and "," not in label.name else ""

        def kept(payload: mapping.IssuePayload) -> Issue | str:
            if payload.pull_request is not None:
                return "pull requests"
            if label is not None and not any(str(each.id) == label.id for each in payload.labels or ()):
                return "other labels"
            return mapping.issue_of(payload)

        read = self._listed(
            errand,
            ("issues", "/issues"),
            Items(mapping.ISSUE, kept),
            limit=query.limit if query.newest_first else 0,
            state=query.state,
            type="issues",
            labels=filtered_there,
            since=stamp(query.since),
            created_by=query.author,
        )
        if query.newest_first:
            return read
        ordered = sorted(read.items, key=lambda issue: (issue.created_at, issue.number))
        return replace(read, items=tuple(ordered[: query.limit] if query.limit else ordered))

    def issue(self, number: int, errand: Errand) -> Issue | Missing:
        """One issue by its index."""
        found = self._one(errand, f"/issues/{number}", mapping.ISSUE)
        if isinstance(found, Missing):
            return found
        return mapping.issue_of(found) if found.pull_request is None else Missing(MissingKind.NOT_FOUND)

    def issues_many(self, numbers: Sequence[int], errand: Errand) -> Sighting:
        """Each by itself: Forgejo has no read of several by number."""
        return sighted(numbers, lambda number: self.issue(number, errand))

    def comments(self, subject: Subject, errand: Errand, since: datetime | None = None) -> Read[ForgeComment]:
        """Comments by their age: one answer holds them all. Those of a pull lie with its issue."""
        items = Items(mapping.COMMENT, lambda payload: mapping.comment_of(payload, subject.number))
        path = f"/issues/{subject.number}/comments"
        read = self._listed(errand, ("comments", path), items, since=stamp(since))
        ordered = sorted(read.items, key=lambda each: (each.created_at, int(each.id)))
        return replace(read, items=tuple(ordered))

    def label_events(self, number: int, errand: Errand) -> Read[LabelEvent]:
        """Who put which label on and took it off, closed and reopened."""
        items = Items(mapping.TIMELINE, lambda payload: mapping.label_event_of(payload) or "other events")
        return self._listed(errand, ("timeline", f"/issues/{number}/timeline"), items)

    def blockers(self, number: int, errand: Errand) -> Read[Blocker]:
        """What the forge's own links say; a 404 of that list is a failure."""
        items = Items(mapping.ISSUE, lambda payload: mapping.blocker_of(payload, self._target.repo))
        return self._listed(errand, ("dependencies", f"/issues/{number}/dependencies"), items)

    def pull(self, number: int, errand: Errand) -> Pull | Missing:
        """One pull."""
        found = self._one(errand, f"/pulls/{number}", mapping.PULL)
        return found if isinstance(found, Missing) else mapping.pull_of(found)

    def pulls(self, query: PullQuery, errand: Errand) -> Read[Pull]:
        """Pulls by creation, newest first; head and base are looked at here."""

        def kept(payload: mapping.PullPayload) -> Pull | str:
            pull = mapping.pull_of(payload)
            fits = (not query.head or query.head == pull.head) and (not query.base or query.base == pull.base)
            return pull if fits and query.state in ("all", pull.state) else "other pulls"

        state = "closed" if query.state == "merged" else query.state
        return self._listed(errand, ("pulls", "/pulls"), Items(mapping.PULL, kept), limit=query.limit, state=state)

    def reviews(self, number: int, errand: Errand) -> Read[ForgeComment]:
        """Reviews that were sent off, oldest first."""
        items = Items(mapping.REVIEW, lambda payload: mapping.review_of(payload, number) or "pending reviews")
        return self._listed(errand, ("reviews", f"/pulls/{number}/reviews"), items)

    def checks(self, sha: str, errand: Errand) -> Read[Check]:
        """The newest status of each context."""
        items = Items(mapping.STATUS, lambda payload: (payload.id, mapping.check_of(payload)))
        read = self._listed(errand, ("statuses", f"/statuses/{sha}"), items)
        newest = {check.name: check for _, check in sorted(read.items, key=lambda pair: pair[0])}
        found = tuple(newest.values())
        return Read(found, read.complete, read.stopped, read.why, read.date, read.unfit, read.skipped, read.moved_to)

    def ref(self, name: str, errand: Errand) -> Ref | Missing:
        """A branch by its short name, any other ref by its full one."""
        short = name.removeprefix("refs/heads/")
        if not short.startswith("refs/"):
            found = self._one(errand, f"/branches/{quote(short, safe='/')}", mapping.BRANCH)
            return found if isinstance(found, Missing) else mapping.branch_of(found)
        refs = self._one(errand, f"/git/{quote(short, safe='/')}", mapping.REFS)
        if isinstance(refs, Missing):
            return refs
        exact = next((each for each in refs if each.ref == short), None)
        return Ref(name, exact.object.sha) if exact is not None else Missing(MissingKind.NOT_FOUND)

    def file(self, path: str, ref: str, errand: Errand) -> File | Missing:
        """A file of a branch, of the default one without a ``ref``."""
        try:
            answer = self._get(errand, f"/contents/{quote(path, safe='/')}", **({"ref": ref} if ref else {}))
        except ForgeRefused as error:
            return missing(error)
        try:
            return mapping.file_of(accept(answer, mapping.FILE, errand))
        except Misfit as error:
            raise misfit(answer, error, errand) from error

    def release(self, tag: str, errand: Errand) -> Release | Missing:
        """The release of a tag."""
        found = self._one(errand, f"/releases/tags/{quote(tag, safe='')}", mapping.RELEASE)
        return found if isinstance(found, Missing) else mapping.release_of(found)
