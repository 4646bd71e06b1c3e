"""What the clients share about payloads: models that must fit, items of a listing, query keys, absences.

Used by the three forges. A listing is read to its end or says why not; an item that does not fit is told by
its number and the field, the rest is used (connectors.md 3, 5).
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from connectors.answer import AnswerKind, Read, Unfit
from connectors.errand import Errand
from connectors.errors import Evidence, ForgeRefused
from connectors.forge.records import Missing, MissingKind
from connectors.transport.client import Transport
from connectors.transport.models import Misfit, fitting
from connectors.transport.paging import Page, Plan, paged
from connectors.transport.request import Request

P = TypeVar("P")
T = TypeVar("T")
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text that a forge may give as null."""


class Payload(BaseModel):
    """What all payloads have in common: unknown fields are of no concern."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class Items(Generic[P, T]):
    """How the items of one listing are understood: their model, and what is made of each.

    ``made`` answers a record, or the kind under which the item is counted and left out. ``within`` names the list in a
    page that is an object. ``enough`` ends the reading with an item behind which none matters.
    """

    model: TypeAdapter[P]
    made: Callable[[P], T | str]
    within: str = ""
    enough: Callable[[T], bool] | None = None

    def page(self, document: object) -> Page[tuple[object, T]]:
        """One page, each item with what tells it from the others. Raises ``Misfit`` for a document that is no list."""
        if self.within:
            document = document.get(self.within) if isinstance(document, Mapping) else None
        if not isinstance(document, list):
            raise Misfit(f"{self.within or 'payload'}: a list was expected")
        items: list[tuple[object, T]] = []
        unfit: list[Unfit] = []
        skipped: Counter[str] = Counter()
        for each in document:
            try:
                made = self.made(fitting(each, self.model))
            except Misfit as error:
                unfit.append(Unfit(_number_of(each), str(error)))
                continue
            if isinstance(made, str):
                skipped[made] += 1
            else:
                items.append((_key_of(each), made))
        return Page(tuple(items), len(document), tuple(unfit), skipped)


def _key_of(item: object) -> object:
    return item.get("id", repr(item)) if isinstance(item, Mapping) else repr(item)


def _number_of(item: object) -> int:
    """The number by which people know an item, else its id, else 0."""
    if isinstance(item, Mapping):
        for key in ("iid", "number", "id"):
            if isinstance(item.get(key), int):
                return int(item[key])
    return 0


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a listing is read: the page size that is asked for, the most pages, and the most items (0: all)."""

    size: int
    max_pages: int
    limit: int = 0


def listed(transport: Transport, errand: Errand, request: Request, items: Items[P, T], extent: Extent) -> Read[T]:
    """A listing, page by page."""
    enough = items.enough
    plan: Plan[tuple[object, T]] = Plan(
        parse=items.page,
        key=lambda pair: pair[0],
        size=extent.size,
        max_pages=extent.max_pages,
        limit=extent.limit,
        enough=(lambda pair: enough(pair[1])) if enough is not None else None,
    )
    read = paged(transport, errand, request, plan)
    found = tuple(item for _, item in read.items)
    return Read(found, read.complete, read.stopped, read.why, read.date, read.unfit, read.skipped, read.moved_to)


def query_of(known: frozenset[str], **keys: str) -> tuple[tuple[str, str], ...]:
    """The query of a listing, without empty values. Raises ``KeyError`` for a key that is not ``known``: forges ignore
    such a key, and a typo would widen what is read."""
    unknown = keys.keys() - known
    if unknown:
        raise KeyError(f"the listing knows no key {', '.join(sorted(unknown))}")
    return tuple((key, value) for key, value in keys.items() if value)


def missing(error: ForgeRefused) -> Missing:
    """How an object is not there. Raises the error again when it says something else."""
    kind, where = error.evidence.kind, error.evidence.where
    if kind == AnswerKind.NOT_FOUND_OR_HIDDEN:
        return Missing(MissingKind.NOT_FOUND)
    if kind == AnswerKind.GONE:
        return Missing(MissingKind.GONE)
    if kind == AnswerKind.MOVED:
        return Missing(MissingKind.MOVED, where or "unknown")
    raise error


def refused(message: str, hint: str, kind: AnswerKind = AnswerKind.INVALID, status: int = 422) -> ForgeRefused:
    """What a forge would refuse, refused before anything is sent."""
    return ForgeRefused(message, hint, status=status, evidence=Evidence(kind=kind.value, status=status))


def decoded(content: str) -> bytes:
    """The bytes of a base64 text, which forges break into lines. Raises ``Misfit``."""
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except binascii.Error as error:
        raise Misfit("content: it is no base64") from error


def number_in(text: str, what: str) -> int:
    """An id as the forge's number. Raises ``ForgeRefused`` for a text that is none."""
    if not text.isdecimal():
        raise refused(f'There is no {what} "{text}".', "Its id is a number.", AnswerKind.NOT_FOUND_OR_HIDDEN, 404)
    return int(text)


def stamp(instant: datetime | None) -> str:
    """An instant as forges read it in a query, empty for none."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if instant is not None else ""
