"""What every operation works on: the client, the parameters, the effect, the words; and the few reads that all need.

Made by ``operations`` for one call or one probe. Reads only; nothing here changes the forge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from connectors.answer import Read, StopReason
from connectors.deadline import Timekeeper
from connectors.effects.guard import Done, Ready, Sight
from connectors.effects.markers import carries, mentions
from connectors.errand import Errand
from connectors.errors import Evidence, ForgeRefused, RateLimited, Unreachable
from connectors.forge.client import ForgeClient
from connectors.forge.records import Issue, LabelDef, Missing, Pull

T = TypeVar("T")
BEFORE = timedelta(minutes=5)
"""How long before the send a probe begins to look, by the forge's own time (connectors.md 10)."""


class Words(Protocol):
    """How texts are made fit for the forge (connectors.md 18)."""

    def compose(self, text: str, marker: str = "", *, keep_closing: bool = False) -> str:
        """The text cleaned, neutralised, cut, with the marker as its last line."""
        ...

    def title(self, text: str) -> str:
        """A title of one line."""
        ...


class Texted(Protocol):
    """Anything with an author and a text."""

    @property
    def author(self) -> str:
        """A login."""
        ...

    @property
    def body(self) -> str:
        """The text."""
        ...

    @property
    def url(self) -> str:
        """The address."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """One call or one probe. ``errand`` is that of its reads.

    ``sent_at`` is set for a probe: when the change was sent, by our clock.
    """

    client: ForgeClient
    words: Words
    clock: Timekeeper
    params: Any
    errand: Errand
    effect_id: str = ""
    marker: str = ""
    sent_at: datetime | None = None
    foreign: Callable[[str], None] = lambda _url: None

    def begins(self, errand: Errand) -> datetime:
        """From when on a probe looks, by the forge's clock. Raises ``Unreachable`` when the repository is not there."""
        repository = self.client.repository(errand)
        if isinstance(repository, Missing):
            raise Unreachable("the repository cannot be read", "look at the connection with: pointsman doctor")
        sent = self.sent_at or self.clock.now()
        skew = repository.date - self.clock.now() if repository.date is not None else timedelta()
        return sent + skew - BEFORE

    def touched(self, updated_at: datetime, errand: Errand) -> bool:
        """Whether an object changed after the send that this probe is about, by the forge's clock."""
        return self.sent_at is not None and updated_at > self.begins(errand) + BEFORE + timedelta(seconds=2)


def whole(read: Read[T]) -> tuple[T, ...]:
    """The items of a complete read. Raises ``RateLimited``, ``Unreachable`` for any other: omission means nothing."""
    if read.stopped is StopReason.THROTTLED:
        raise RateLimited(f"the list could not be read to its end: {read.why}", "it is read again later")
    if not read.complete or read.unfit:
        why = read.why or (f"item {read.unfit[0].number} lacks {read.unfit[0].where}" if read.unfit else "")
        raise Unreachable(f"the list could not be read to its end: {why or read.stopped}", "try again later")
    return read.items


def issue_at(desk: Desk, number: int, errand: Errand) -> Issue:
    """The issue. Raises ``ForgeRefused`` (404, 410) when it is not there."""
    return there(desk.client.issue(number, errand), f"issue {number}")


def pull_at(desk: Desk, number: int, errand: Errand) -> Pull:
    """The pull. Raises ``ForgeRefused`` when it is not there."""
    return there(desk.client.pull(number, errand), f"pull {number}")


def there(found: T | Missing, what: str) -> T:
    """What was found. Raises ``ForgeRefused``: 404, 410 or moved."""
    if not isinstance(found, Missing):
        return found
    status = 410 if found.kind.value == "gone" else 404
    where = f"; it is in {found.moved_to} now" if found.moved_to else ""
    told = Evidence(kind=found.kind.value, status=status, where=found.moved_to)
    raise ForgeRefused(f"{what} is not there{where}", "name one that this connection can see", evidence=told)


def same_name(mine: str, theirs: str, *, folds_case: bool) -> bool:
    """Whether two label names are one on the forge: NFC, and without case where the forge folds it."""
    one, other = unicodedata.normalize("NFC", mine), unicodedata.normalize("NFC", theirs)
    return one == other or (folds_case and one.lower() == other.lower())


def label_named(desk: Desk, name: str, errand: Errand) -> LabelDef:
    """The definition in the spelling that is stored. Raises ``ForgeRefused`` for an unknown one: none is made."""
    found = pick(whole(desk.client.labels(errand)), name, folds_case=desk.client.traits.folds_case)
    if found is not None:
        return found
    told = Evidence(kind="unknown_label", status=422)
    raise ForgeRefused(f'there is no label "{name}" in the repository', "make it, or mend the name", evidence=told)


def pick(labels: Iterable[LabelDef], name: str, *, folds_case: bool) -> LabelDef | None:
    """The label of that name; the one of exactly that spelling wins."""
    known = tuple(labels)
    exact = [each for each in known if same_name(name, each.name, folds_case=False)]
    near = [each for each in known if same_name(name, each.name, folds_case=folds_case)]
    return next(iter((*exact, *near)), None)


def marked(desk: Desk, found: Iterable[T], errand: Errand, show: Callable[[T, Errand], Any]) -> Sight[Any]:
    """The oldest of our own objects that carries the effect's marker; others of ours are named as duplicates."""
    me = desk.client.whoami(errand).login
    ours: list[T] = []
    for each in found:
        texted: Any = each
        if texted.author == me and carries(texted.body, desk.effect_id):
            ours.append(each)
        elif mentions(texted.body, desk.effect_id):
            desk.foreign(texted.url)
    if not ours:
        return Ready()
    more: list[Any] = [*ours[1:]]
    return Done(show(ours[0], errand), f"duplicate: {', '.join(each.url for each in more)}" if more else "")
