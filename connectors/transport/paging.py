"""A collection, page by page, to its end or to the reason why not (connectors.md 5). Used by the forges' clients.

Only ``rel="next"`` of the same origin and below the same path prefix is followed. Nothing that stops a listing is
raised: the ``Read`` says so, with what was read until then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from connectors.answer import Read, StopReason, Unfit
from connectors.errand import Errand
from connectors.errors import ForgeRefused, RateLimited, Unreachable
from connectors.transport.client import Transport
from connectors.transport.models import Misfit
from connectors.transport.request import Answer, BodyUnreadable, Request, joined

T = TypeVar("T")
MAX_PAGES = 100
MOST_IDLE_PAGES = 2
"""Pages in a row that may add nothing new while they still have a next one."""
_LINK = re.compile(r'<([^<>]*)>((?:\s*;\s*[^,;="]+(?:=(?:"[^"]*"|[^",;]*))?)*)')
_NEXT = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next(?![^,;\s]))', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page as its client understood it; ``count`` is how many raw items it had, of whatever kind."""

    items: tuple[T, ...]
    count: int
    unfit: tuple[Unfit, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """How a listing is read.

    ``parse`` makes a page of a JSON document and raises ``Misfit`` for one that is none; ``key`` tells items apart;
    ``size`` is the page size that was asked for, 0 for none; ``limit`` ends the reading early, 0 reads to the end.
    ``enough`` ends it early too, when an item says that none behind it matters.
    """

    parse: Callable[[object], Page[T]]
    key: Callable[[T], object]
    size: int = 0
    max_pages: int = MAX_PAGES
    limit: int = 0
    enough: Callable[[T], bool] | None = None


def next_link(answer: Answer) -> str:
    """The whole address of the next page, empty for none."""
    for found in _LINK.finditer(answer.headers.get("link", "")):
        if _NEXT.search(found.group(2)):
            return joined(answer.url, found.group(1))
    return ""


def paged(transport: Transport, errand: Errand, request: Request, plan: Plan[T]) -> Read[T]:
    """Read the collection; once more from the start when its first page changed meanwhile."""
    first = _Walk(transport, errand, request, plan)
    found = first.walk()
    if found.complete and first.pages > 1 and not first.unchanged and first.has_shifted():
        return _Walk(transport, errand, request, plan).walk()
    return found


class _Walk(Generic[T]):
    """One pass over the pages."""

    def __init__(self, transport: Transport, errand: Errand, request: Request, plan: Plan[T]) -> None:
        self._transport = transport
        self._errand = errand
        self._request = request
        self._plan = plan
        self._found: dict[object, T] = {}
        self._unfit: dict[int, Unfit] = {}
        self._skipped: dict[str, int] = {}
        self._seen: set[str] = set()
        self._first: Answer | None = None
        self._prefix = ""
        self._read: Read[T] = Read()
        self.pages = 0
        self.unchanged = True
        """Whether the forge said of each page that it is as it was: then nothing can have shifted between them."""

    def walk(self) -> Read[T]:
        """All pages."""
        request, idle = self._request, 0
        while True:
            answer, page = self._page(request)
            if answer is None or page is None:
                return self._result()
            self.pages += 1
            idle = 0 if self._add(page) else idle + 1
            following = next_link(answer)
            if self._has_enough():
                return self._result()
            if not following:
                return self._last_page(page)
            stopped = self._why_not(following, idle)
            if stopped is not None:
                return self._stop(*stopped)
            self._seen.add(following)
            request = replace(request, path=following, query=())

    def has_shifted(self) -> bool:
        """Whether the first page is another one by now; False when it cannot be told."""
        if self._first is None or not self._first.headers.get("etag"):
            return False
        try:
            again = self._transport.read(self._errand, self._request)
        except (RateLimited, ForgeRefused, Unreachable):
            return False
        return again.headers.get("etag") != self._first.headers["etag"]

    def _page(self, request: Request) -> tuple[Answer | None, Page[T] | None]:
        try:
            answer = self._transport.read(self._errand, request)
            if self._first is None:
                self._begin(answer)
            self.unchanged = self.unchanged and answer.kept
            self._read = replace(self._read, date=answer.date or self._read.date)
            return answer, self._plan.parse(answer.json())
        except RateLimited as error:
            self._stop(StopReason.THROTTLED, error.message)
        except (BodyUnreadable, Misfit) as error:
            self._stop(StopReason.DECODE, f"page {self.pages + 1}: {error}")
        except ForgeRefused as error:
            if self.pages == 0:
                raise
            self._stop(StopReason.PAGE_FAILED, f"page {self.pages + 1}: {error.message}")
        except Unreachable as error:
            if self.pages == 0 and error.stopped is StopReason.REFUSED:
                raise
            self._stop(error.stopped, f"page {self.pages + 1}: {error.message}")
        return None, None

    def _begin(self, answer: Answer) -> None:
        self._first = answer
        self._read = replace(self._read, moved_to=answer.moved_to if answer.moved_for_good else "")
        self._seen.add(answer.url)
        self._prefix = _folder(answer.url)

    def _add(self, page: Page[T]) -> bool:
        """Take the page's items; whether any was new."""
        before = len(self._found) + len(self._unfit) + sum(self._skipped.values())
        for item in page.items:
            self._found.setdefault(self._plan.key(item), item)
        for unfit in page.unfit:
            self._unfit.setdefault(unfit.number or -len(self._unfit) - 1, unfit)
        for kind, count in page.skipped.items():
            self._skipped[kind] = self._skipped.get(kind, 0) + count
        return len(self._found) + len(self._unfit) + sum(self._skipped.values()) > before

    def _has_enough(self) -> bool:
        items, enough = self._found.values(), self._plan.enough
        limit_reached = bool(self._plan.limit) and len(items) >= self._plan.limit
        return limit_reached or (enough is not None and any(enough(item) for item in items))

    def _why_not(self, following: str, idle: int) -> tuple[StopReason, str] | None:
        """Why the next page must not be asked for."""
        if following in self._seen:
            return StopReason.LOOP, f"page {self.pages} leads back to an earlier one"
        if idle >= MOST_IDLE_PAGES:
            return StopReason.LOOP, f"{idle} pages in a row brought nothing new"
        if self.pages >= self._plan.max_pages:
            return StopReason.PAGE_CAP, f"there are more than {self._plan.max_pages} pages (max_pages)"
        elsewhere = _origin(following) != _origin(self._prefix) or not _folder(following).startswith(self._prefix)
        return (StopReason.PAGE_FAILED, f"page {self.pages + 1} lies elsewhere") if elsewhere else None

    def _last_page(self, page: Page[T]) -> Read[T]:
        """The end, unless the forge's own count says that it gave less than there is."""
        assert self._first is not None
        total = self._first.headers.get("x-total-count", "") or self._first.headers.get("x-total", "")
        given = len(self._found) + len(self._unfit) + sum(self._skipped.values())
        clamped = self.pages == 1 and total.isdigit() and int(total) > given and 0 < page.count < self._plan.size
        if clamped:
            return self._stop(StopReason.CLAMPED, f"the forge counts {total} and gave {given}, without a next page")
        return self._result()

    def _stop(self, stopped: StopReason, why: str) -> Read[T]:
        self._read = replace(self._read, complete=False, stopped=stopped, why=why)
        return self._result()

    def _result(self) -> Read[T]:
        items = tuple(self._found.values())
        cut = items[: self._plan.limit] if self._plan.limit else items
        return replace(self._read, items=cut, unfit=tuple(self._unfit.values()), skipped=self._skipped)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _folder(url: str) -> str:
    """Scheme, host and the path before the query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
