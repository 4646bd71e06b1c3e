"""Lists in pages, with the links and totals of each forge, and how a scripted fault spoils them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from connectors.fake_forge.exchange import Answer, Call, Json
from connectors.fake_forge.records import Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Paging:
    """How a forge pages: the query key of the size, its default and the most that it honours."""

    key: str
    default: int
    most: int


GITHUB = Paging("per_page", 30, 100)
GITLAB = Paging("per_page", 20, 100)
FORGEJO = Paging("limit", 30, 50)
PAGING: Mapping[Kind, Paging] = {Kind.GITHUB: GITHUB, Kind.GITLAB: GITLAB, Kind.FORGEJO: FORGEJO}


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    size: int
    last: int
    next: int | None


def listed(call: Call, items: Sequence[T], show: Callable[[T], Json]) -> Answer:
    """One page of ``items`` as the forge of this world gives it."""
    paging = PAGING[call.world.forge]
    fault = call.paging.fault if call.paging else ""
    given = call.paging.given if call.paging else {}
    size = call.whole(paging.key, paging.default, paging.most)
    if fault == "page_clamp":
        size = min(size, int(given.get("to", 30)))
    number = call.whole("page", 1, 1_000_000)
    last = max(1, math.ceil(len(items) / size))
    chosen = _slice(items, number, size, fault, int(given.get("page", 2)))
    following = _following(number, last, fault, given)
    page = _Page(number, size, last, following)
    answer = Answer(200, [show(item) for item in chosen], _headers(call, page, len(items), totals=fault != "no_totals"))
    if fault == "page_cut":
        whole = answer.payload()
        return Answer(200, whole[: max(1, len(whole) // 2)], answer.headers)
    if fault == "shift_while_reading" and number == 1 and items:
        call.desk.later(items[0])
    return answer


def _slice(items: Sequence[T], number: int, size: int, fault: str, empty: int) -> Sequence[T]:
    start = (number - 1) * size
    if fault == "page_overlap" and number > 1:
        return items[start - 1 : start - 1 + size + 1]
    if fault == "page_empty_next":
        if number == empty:
            return ()
        start -= size if number > empty else 0
    return items[start : start + size]


def _following(number: int, last: int, fault: str, given: Mapping[str, Json]) -> int | None:
    if fault == "page_loop":
        return number + 1 if number < min(last, 2) else 1
    if fault == "page_empty_next":
        return number + 1 if number < last + 1 else None
    if fault == "page_clamp" and given.get("links") is False:
        return None
    return number + 1 if number < last else None


def _headers(call: Call, page: _Page, total: int, *, totals: bool) -> dict[str, str]:
    links = {"prev": page.number - 1 if page.number > 1 else None, "next": page.next}
    if call.world.forge is not Kind.FORGEJO or totals:
        links |= {
            "first": 1 if page.number > 1 else None,
            "last": page.last if page.last > page.number and totals else None,
        }
    text = ", ".join(f'<{_url(call, number)}>; rel="{rel}"' for rel, number in links.items() if number)
    headers = {"Link": text} if text else {}
    if call.world.forge is Kind.GITLAB:
        headers |= {"X-Page": str(page.number), "X-Per-Page": str(page.size)}
        headers |= {"X-Next-Page": str(page.next or ""), "X-Prev-Page": str(page.number - 1 or "")}
        if totals and total <= 10_000:
            headers |= {"X-Total": str(total), "X-Total-Pages": str(page.last)}
    elif call.world.forge is Kind.FORGEJO and totals:
        headers["X-Total-Count"] = str(total)
    return headers


def _url(call: Call, number: int) -> str:
    query = [(key, value) for key, value in call.request.query if key != "page"]
    return f"{call.base}{call.request.path}?{urlencode([*query, ('page', str(number))])}"
