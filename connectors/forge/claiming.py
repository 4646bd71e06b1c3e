"""Claims of one board, and those that stand in comments: read whole, written, prolonged, taken away (connectors.md 19).

Each change has its row. Whose a card is, ``claims`` decides. Times are the forge's own, from the very answer that
brought the claims. Claims that stand in refs are ``claim_refs``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.catalogue import results
from connectors.deadline import Timekeeper
from connectors.effects.guard import Change, Done, Effect, Ready, Row, Sight
from connectors.effects.journal import Desk as SendingDesk
from connectors.effects.journal import Order
from connectors.effects.markers import claim_marker
from connectors.errand import Errand
from connectors.errors import Unreachable
from connectors.forge.board_moving import SETTLING
from connectors.forge.claims import Claimed, Mark, claims_of
from connectors.forge.client import ForgeClient
from connectors.forge.desk import Desk, whole
from connectors.forge.issue_changes import CHANGED, edited, new_comment, unchanged
from connectors.forge.records import ForgeComment, Subject


@dataclass(frozen=True, slots=True)
class Look:
    """The claims of a card, and what time it was on the forge when it told them."""

    claims: tuple[Claimed, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Claims(ABC):
    """How claims of one board are read and written: as comments of its cards, or as refs of its repository."""

    board: str
    client: ForgeClient
    sending: SendingDesk
    desk: Desk
    clock: Timekeeper
    ahead: list[timedelta]
    """By how much the forge's clock was ahead of ours when it was seen last; empty before."""

    @property
    @abstractmethod
    def at_once(self) -> bool:
        """Whether a claim that could be written is won; else others may have an older one that shows later."""

    @abstractmethod
    def look(self, card_id: str) -> Look:
        """All claims of the card. Raises ``ForgeError``, also for half a list and for an answer without a time."""

    @abstractmethod
    def write(self, card_id: str, mark: Mark, look: Look) -> str:
        """A new claim beside or in the place of what the look showed; where it stands. Raises what the guard raises."""

    @abstractmethod
    def prolong(self, card_id: str, claim: Claimed, mark: Mark) -> str:
        """The same claim with another end; where it stands then. Raises what the guard raises."""

    @abstractmethod
    def remove(self, card_id: str, claim: Claimed) -> None:
        """The claim away, as a read shows; absent is done. Raises what the guard raises."""

    def login(self) -> str:
        """The account as whom claims are written. Raises ``ForgeError``."""
        return self.client.whoami(SETTLING).login

    def now(self) -> datetime | None:
        """The forge's time, as far as it was seen; no call."""
        return self.clock.now() + self.ahead[0] if self.ahead else None

    def seen(self, date: datetime | None) -> datetime:
        """The forge's time by an answer, remembered. Raises ``Unreachable`` for an answer without one."""
        if date is None:
            raise Unreachable(
                "the forge does not say what time it is", "claims are judged by its clock; try again later"
            )
        self.ahead[:] = [date - self.clock.now()]
        return date

    def _carry(
        self,
        card_id: str,
        what: str,
        effect: Effect,
        declare: Callable[[Row], Change[Any]],
        told: Callable[[Any], Mapping[str, object]] = lambda result: result.model_dump(mode="json"),
    ) -> Any:
        operation = f"{self.client.kind}.board.{what}"
        order = Order(self.board, card_id, f"claim {what}", operation, effect, {"number": int(card_id)})
        return self.sending.carry(order, declare, SETTLING, told)

    def _text(self, mark: Mark, row: Row) -> str:
        until = mark.until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        marker = claim_marker(mark.owner, mark.instance, mark.epoch, until, row.effect_id)
        return self.desk.words.compose(f"A dispatcher works on this card until {until} at least.", marker)


@dataclass(frozen=True, slots=True)
class ClaimComments(Claims):
    """The claim comments of one board."""

    @property
    def at_once(self) -> bool:
        """Of several the oldest wins, and a list may lag."""
        return False

    def look(self, card_id: str) -> Look:
        """All of them in the card's comments."""
        read = self.client.comments(Subject(int(card_id)), SETTLING)
        comments = whole(read)
        at = self.seen(read.date)
        return Look(claims_of(comments), at)

    def write(self, card_id: str, mark: Mark, look: Look) -> str:
        """A new comment beside all others."""
        del look

        def declare(row: Row) -> Change[results.Comment]:
            return new_comment(self._at(row), Subject(int(card_id)), self._text(mark, row))

        made = self._carry(card_id, "comment", Effect.AMBIGUOUS, declare)
        return str(made.id)

    def prolong(self, card_id: str, claim: Claimed, mark: Mark) -> str:
        """The same comment; a deleted one is a ``ForgeRefused``."""
        known = ForgeComment(
            claim.comment_id, int(card_id), claim.author, "", claim.url, claim.changed_at, claim.changed_at
        )

        def declare(row: Row) -> Change[results.Comment]:
            return edited(self._at(row), known, self._text(mark, row))

        self._carry(card_id, "edit_comment", Effect.IDEMPOTENT, declare)
        return claim.comment_id

    def remove(self, card_id: str, claim: Claimed) -> None:
        """The comment away."""
        subject = Subject(int(card_id))

        def look(reading: Errand) -> Sight[results.Changed]:
            found = whole(self.client.comments(subject, reading))
            return Ready() if any(each.id == claim.comment_id for each in found) else Done(CHANGED)

        def send(sending: Errand) -> results.Changed:
            self.client.delete_comment(subject.number, claim.comment_id, sending)
            return CHANGED

        def declare(_row: Row) -> Change[results.Changed]:
            return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)

        self._carry(card_id, "remove_comment", Effect.IDEMPOTENT, declare)

    def _at(self, row: Row) -> Desk:
        return replace(self.desk, effect_id=row.effect_id, marker=row.marker)
