"""What can be asked of GitLab: single objects, and listings page by page (connectors.md 5 and 20).

Query keys come from ``KEYS``, per listing: GitLab ignores a key that it does not know, so one that is not in the table
fails here, before a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

from connectors.answer import Read
from connectors.errand import Errand, Purpose
from connectors.errors import ForgeError, ForgeRefused, RateLimited
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
from connectors.gitlab import mapping
from connectors.transport.client import Transport
from connectors.transport.models import Misfit, accept, misfit
from connectors.transport.request import Answer, Request

P = TypeVar("P")
T = TypeVar("T")
PREFIX = "/api/v4"
PAGE = 100
CHUNK = 50
"""Issues that one read by number takes."""
DEVELOPER = 30
"""The access level from which on somebody may write."""
_COMMON = frozenset({"per_page"})
KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "labels": _COMMON,
        "issues": _COMMON
        | {
            "state",
            "labels",
            "order_by",
            "sort",
            "scope",
            "issue_type",
            "updated_after",
            "author_username",
        },
        "hooks": _COMMON,
        "notes": _COMMON | {"sort", "order_by", "activity_filter"},
        "events": _COMMON,
        "links": frozenset(),
        "merge_requests": _COMMON | {"state", "source_branch", "target_branch", "order_by", "sort", "scope"},
        "statuses": _COMMON,
        "awards": _COMMON,
        "users": frozenset({"username"}),
        "files": frozenset({"ref"}),
    }
)
"""Listing -> the query keys that GitLab knows there and that we use."""
_STATES = {"open": "opened", "closed": "closed", "merged": "merged", "all": "all"}


class Wired(Wire):
    """What every part of the client works with."""

    kind = "gitlab"

    def __init__(self, transport: Transport, target: Target) -> None:
        super().__init__(transport, target, f"{PREFIX}/projects/{quote(target.repo, safe='')}")
        self._account: Account | None = None

    def _listed(
        self, errand: Errand, listing: tuple[str, str], items: Items[P, T], *, limit: int = 0, **keys: str
    ) -> Read[T]:
        """A listing by its name in ``KEYS`` and its path below the project."""
        name, path = listing
        size = str(min(PAGE, limit) if limit else PAGE)
        query = query_of(KEYS[name], **keys, **({"per_page": size} if "per_page" in KEYS[name] else {}))
        request = Request("GET", self._path + path, query)
        return listed(self._transport, errand, request, items, Extent(PAGE, self._target.max_pages, limit))

    def _page_of(self, subject: Subject) -> str:
        """The web page of an issue or merge request."""
        part = "merge_requests" if subject.is_pull else "issues"
        return f"{self._transport.origin}/{self._target.repo}/-/{part}/{subject.number}"

    def _user_id(self, login: str, errand: Errand) -> int | None:
        """The id behind a login, None for nobody."""
        query = query_of(KEYS["users"], username=login)
        answer = self._transport.read(errand, Request("GET", f"{PREFIX}/users", query))
        users = accept(answer, mapping.USERS, errand)
        return next((user.id for user in users if user.username.casefold() == login.casefold()), None)


class Reads(Wired):
    """Implements ``forge.client.Reads``."""

    def whoami(self, errand: Errand) -> Account:
        """The account of the token; asked for once, by ``doctor`` each time and with the token's rights."""
        if self._account is None or errand.purpose is Purpose.DOCTOR:
            answer = self._transport.read(errand, Request("GET", f"{PREFIX}/user"))
            rights = self._rights(errand) if errand.purpose is Purpose.DOCTOR else None
            self._account = mapping.account_of(accept(answer, mapping.OWN_USER, errand), rights)
        return self._account

    def _rights(self, errand: Errand) -> tuple[str, ...] | None:
        """The token's scopes; None where it may not ask about itself."""
        try:
            answer = self._transport.read(errand, Request("GET", f"{PREFIX}/personal_access_tokens/self"))
        except ForgeRefused:
            return None
        return accept(answer, mapping.TOKEN, errand).scopes

    def repository(self, errand: Errand) -> Repository | Missing:
        """The project, also under another path by now."""
        try:
            answer = self._get(errand, "")
        except ForgeRefused as error:
            return missing(error)
        return mapping.repository_of(accept(answer, mapping.PROJECT, errand), answer, self._target.repo)

    def may_write(self, login: str, errand: Errand) -> bool:
        """Whether somebody may push, inherited rights included."""
        number = self._user_id(login, errand)
        if number is None:
            return False
        found = self._one(errand, f"/members/all/{number}", mapping.MEMBER)
        return not isinstance(found, Missing) and found.access_level >= DEVELOPER

    def hooks(self, errand: Errand) -> Read[Hook]:
        """The project's webhooks, for those who may see them."""
        return self._listed(errand, ("hooks", "/hooks"), Items(mapping.HOOK, mapping.hook_of))

    def labels(self, errand: Errand) -> Read[LabelDef]:
        """All labels of the project and its groups."""
        return self._listed(errand, ("labels", "/labels"), Items(mapping.LABEL, mapping.label_of))

    def issues(self, query: IssueQuery, errand: Errand) -> Read[Issue]:
        """Issues by creation; incidents, tasks and those that moved away are counted and left out."""
        wanted = query.label.name if query.label is not None else ""

        def kept(payload: mapping.IssuePayload) -> Issue | str:
            if not mapping.is_card(payload):
                return "moved issues" if payload.moved_to_id is not None else f"{payload.issue_type}s"
            return mapping.issue_of(payload) if not wanted or wanted in payload.labels else "other labels"

        return self._listed(
            errand,
            ("issues", "/issues"),
            Items(mapping.ISSUE, kept),
            limit=query.limit,
            state=_STATES[query.state],
            labels=wanted,
            order_by="created_at",
            sort="desc" if query.newest_first else "asc",
            scope="all",
            issue_type="issue",
            updated_after=stamp(query.since),
            author_username=query.author,
        )

    def issue(self, number: int, errand: Errand) -> Issue | Missing:
        """One issue by its iid; one that moved to another project says so by the id it has there."""
        found = self._one(errand, f"/issues/{number}", mapping.ISSUE)
        return found if isinstance(found, Missing) else _card(found)

    def issues_many(self, numbers: Sequence[int], errand: Errand) -> Sighting:
        """One read by number; what it does not show is asked for alone, since a list proves no absence.

        A single one is asked for alone as well: lists are older than the cards themselves at times.
        """
        if len(numbers) == 1:
            return sighted(numbers, lambda number: self.issue(number, errand))
        path = f"{self._path}/issues"
        query = (*(("iids[]", str(number)) for number in numbers), ("scope", "all"), ("per_page", str(PAGE)))
        items = Items(mapping.ISSUE, lambda payload: payload)
        extent = Extent(PAGE, self._target.max_pages)
        try:
            read = listed(self._transport, errand, Request("GET", path, query), items, extent)
        except RateLimited:
            raise
        except ForgeError as error:
            return Sighting(unread=dict.fromkeys(numbers, error.message))
        unread = {each.number: each.where for each in read.unfit if each.number in numbers}
        shown = {payload.iid: _card(payload) for payload in read.items if payload.iid in numbers}
        left = [number for number in numbers if number not in shown and number not in unread]
        if not read.complete:
            unread.update(dict.fromkeys(left, read.why))
            left = []
        sighting = sighted((*shown, *left), lambda number: shown.get(number) or self.issue(number, errand))
        return replace(sighting, unread={**unread, **sighting.unread})

    def comments(self, subject: Subject, errand: Errand, since: datetime | None = None) -> Read[ForgeComment]:
        """People's and our notes, oldest first; GitLab has no filter by time, so it is done here."""
        page = self._page_of(subject)

        def kept(payload: mapping.NotePayload) -> ForgeComment | str:
            if payload.system:
                return "system notes"
            if since is not None and payload.updated_at < since:
                return "older comments"
            return mapping.comment_of(payload, subject.number, page)

        part = "merge_requests" if subject.is_pull else "issues"
        return self._listed(
            errand,
            ("notes", f"/{part}/{subject.number}/notes"),
            Items(mapping.NOTE, kept),
            activity_filter="only_comments",
            sort="asc",
            order_by="created_at",
        )

    def label_events(self, number: int, errand: Errand) -> Read[LabelEvent]:
        """Who put which label on and took it off, closed and reopened; incomplete when one list is."""
        path = f"/issues/{number}"
        labels = Items(mapping.LABEL_EVENT, lambda payload: mapping.label_event_of(payload) or "deleted labels")
        states = Items(mapping.STATE_EVENT, lambda payload: mapping.state_event_of(payload) or "other states")
        first = self._listed(errand, ("events", f"{path}/resource_label_events"), labels)
        second = self._listed(errand, ("events", f"{path}/resource_state_events"), states)
        worse = first if not first.complete else second
        found = sorted((*first.items, *second.items), key=lambda event: event.at)
        return replace(worse, items=tuple(found), unfit=(*first.unfit, *second.unfit))

    def blockers(self, number: int, errand: Errand) -> Read[Blocker]:
        """What the forge's own links say; without a licence they cannot be read, and that is a failure."""

        def made(payload: mapping.LinkPayload) -> Blocker | str:
            if payload.link_type != "is_blocked_by":
                return "other links"
            return mapping.blocker_of(payload, self._target.repo)

        return self._listed(errand, ("links", f"/issues/{number}/links"), Items(mapping.LINK, made))

    def pull(self, number: int, errand: Errand) -> Pull | Missing:
        """One merge request."""
        found = self._one(errand, f"/merge_requests/{number}", mapping.MERGE)
        return found if isinstance(found, Missing) else mapping.pull_of(found)

    def pulls(self, query: PullQuery, errand: Errand) -> Read[Pull]:
        """Merge requests by creation, newest first."""
        return self._listed(
            errand,
            ("merge_requests", "/merge_requests"),
            Items(mapping.MERGE, mapping.pull_of),
            limit=query.limit,
            state=_STATES[query.state],
            source_branch=query.head,
            target_branch=query.base,
            scope="all",
            order_by="created_at",
            sort="desc",
        )

    def reviews(self, number: int, errand: Errand) -> Read[ForgeComment]:
        """None of their own: the text of a review is a note of the merge request."""
        return Read()

    def checks(self, sha: str, errand: Errand) -> Read[Check]:
        """The newest status of each name."""
        read = self._listed(
            errand, ("statuses", f"/repository/commits/{sha}/statuses"), Items(mapping.STATUS, mapping.check_of)
        )
        oldest = datetime.min.replace(tzinfo=UTC)
        ordered = sorted(read.items, key=lambda check: check.at or oldest)
        return replace(read, items=tuple({check.name: check for check in ordered}.values()))

    def ref(self, name: str, errand: Errand) -> Ref | Missing:
        """A branch by its short name, a tag by its full one; GitLab shows no other refs."""
        if name.startswith("refs/tags/"):
            found = self._one(errand, f"/repository/tags/{quote(name[10:], safe='')}", mapping.BRANCH)
            return found if isinstance(found, Missing) else Ref(name, found.commit.id)
        short = name.removeprefix("refs/heads/")
        if short.startswith("refs/"):
            return Missing(MissingKind.NOT_FOUND)
        found = self._one(errand, f"/repository/branches/{quote(short, safe='')}", mapping.BRANCH)
        return found if isinstance(found, Missing) else mapping.branch_of(found)

    def file(self, path: str, ref: str, errand: Errand) -> File | Missing:
        """A file of a branch, of the default one without a ``ref``."""
        try:
            answer = self._file(path, ref, errand)
        except ForgeRefused as error:
            return missing(error)
        try:
            return mapping.file_of(accept(answer, mapping.FILE, errand))
        except Misfit as error:
            raise misfit(answer, error, errand) from error

    def _file(self, path: str, ref: str, errand: Errand) -> Answer:
        return self._get(errand, f"/repository/files/{quote(path, safe='')}", ref=ref or "HEAD")

    def release(self, tag: str, errand: Errand) -> Release | Missing:
        """The release of a tag."""
        found = self._one(errand, f"/releases/{quote(tag, safe='')}", mapping.RELEASE)
        return found if isinstance(found, Missing) else mapping.release_of(found)


def _card(payload: mapping.IssuePayload) -> Issue | Missing:
    """The issue, or why it is no card."""
    if payload.moved_to_id is not None:
        return Missing(MissingKind.MOVED, f"issue id {payload.moved_to_id}")
    return mapping.issue_of(payload) if mapping.is_card(payload) else Missing(MissingKind.NOT_FOUND)
