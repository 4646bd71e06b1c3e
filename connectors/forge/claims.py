"""Who has a card of a board that several installations work on: one rule over what its comments say (connectors.md 19).

Pure. Among the claims that live by the forge's own clock the lowest comment id has the card, in everybody's reading
alike. A claim that somebody edited is read tolerantly; of one that cannot be read any more nobody knows whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from connectors.effects.markers import begins_claim, markers_in

if TYPE_CHECKING:
    from connectors.forge.records import ClaimCommit, ForgeComment


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom a store claims: its random id, this process, the login of its account, the comment that it wrote."""

    owner: str
    login: str
    instance: str = ""
    comment_id: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a claim says: the store, its process, the epoch, until when by the forge's clock."""

    owner: str
    instance: str
    epoch: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Claimed:
    """One claim of a card. ``until`` is None when it cannot be read; ``changed_at``: the last edit of its comment.

    ``comment_id`` names where it stands: a comment by its number, or the commit of a ref, of which a card has one.
    """

    comment_id: str
    author: str
    changed_at: datetime
    url: str
    owner: str = ""
    instance: str = ""
    epoch: int = 0
    until: datetime | None = None

    @property
    def rank(self) -> int:
        """The lower, the older."""
        return int(self.comment_id) if self.comment_id.isdigit() else 0

    def ends(self, lease: timedelta) -> datetime:
        """Until when it counts: as it says, else two leases after its last edit."""
        return self.until or self.changed_at + 2 * lease

    def is_ours(self, me: Identity) -> bool:
        """Whether this store wrote it; another account's copy of our marker is not ours."""
        return self.comment_id == me.comment_id or (self.owner == me.owner and self.author == me.login)


class Standing(StrEnum):
    """What the claims of a card mean for one store."""

    FREE = "free"
    OURS = "ours"
    THEIRS = "theirs"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The standing, and by which claim; ``epoch`` is the highest that was seen."""

    standing: Standing
    by: Claimed | None = None
    epoch: int = 0


def claims_of(comments: Iterable[ForgeComment]) -> tuple[Claimed, ...]:
    """Every claim in the comments, also the ended and the unreadable ones."""
    found = (_claim(each) for each in comments)
    return tuple(each for each in found if each is not None)


def judge(claims: Iterable[Claimed], me: Identity, now: datetime, lease: timedelta) -> Verdict:
    """Who has the card at ``now``, the forge's own time."""
    known = tuple(claims)
    epoch = max((each.epoch for each in known), default=0)
    living = [each for each in known if each.ends(lease) > now and not _copied(each, me)]
    first = min(living, key=lambda each: each.rank, default=None)
    if first is None:
        return Verdict(Standing.FREE, None, epoch)
    if first.is_ours(me):
        return Verdict(Standing.OURS, first, epoch)
    return Verdict(Standing.UNCERTAIN if first.until is None else Standing.THEIRS, first, epoch)


def _copied(claim: Claimed, me: Identity) -> bool:
    """Our marker in the text of somebody else counts for nothing (connectors.md 10)."""
    return claim.owner == me.owner and not claim.is_ours(me)


def claim_of_commit(commit: ClaimCommit) -> Claimed:
    """The claim that a card's claim ref points to; whatever stands there claims the card."""
    unread = Claimed(commit.sha, commit.author, commit.made_at, commit.url)
    return _marked(unread, commit.message) or unread


def _claim(comment: ForgeComment) -> Claimed | None:
    unread = Claimed(comment.id, comment.author, comment.updated_at, comment.url)
    found = _marked(unread, comment.body)
    return found or (unread if begins_claim(comment.body) else None)


def _marked(unread: Claimed, text: str) -> Claimed | None:
    """The claim as a marker of the text has it, None when no marker says whose it is until when."""
    for marker in markers_in(text):
        owner, until = marker.pairs.get("owner", ""), _instant(marker.pairs.get("until", ""))
        if marker.is_claim and owner and until is not None:
            epoch = marker.pairs.get("epoch", "")
            number = int(epoch) if epoch.isascii() and epoch.isdigit() else 0
            return replace(unread, owner=owner, instance=marker.pairs.get("instance", ""), epoch=number, until=until)
    return None


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo is not None else None
