"""Claim comments of one board: read whole, written, prolonged, taken away, each with its row (connectors.md 19).

Whose a card is, ``claims`` decides. Times are the forge's own, from the very answer that brought the comments.
"""

from __future__ import annotations

from collections.abc import Callable
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
class ClaimComments:
    """The claim comments of one board."""

    board: str
    client: ForgeClient
    sending: SendingDesk
    desk: Desk
    clock: Timekeeper
    ahead: list[timedelta]
    """By how much the forge's clock was ahead of ours when it was seen last; empty before."""

    def login(self) -> str:
        """The account as whom comments are written. Raises ``ForgeError``."""
        return self.client.whoami(SETTLING).login

    def now(self) -> datetime | None:
        """The forge's time, as far as it was seen; no call."""
        return self.clock.now() + self.ahead[0] if self.ahead else None

    def look(self, card_id: str) -> Look:
        """All claims of the card. Raises ``ForgeError``, also for half a list and for an answer without a time."""
        read = self.client.comments(Subject(int(card_id)), SETTLING)
        comments = whole(read)
        if read.date is None:
            raise Unreachable(
                "the forge does not say what time it is", "claims are judged by its clock; try again later"
            )
        self.ahead[:] = [read.date - self.clock.now()]
        return Look(claims_of(comments), read.date)

    def write(self, card_id: str, mark: Mark) -> str:
        """A new claim; the id of its comment. Raises what the guard raises."""

        def declare(row: Row) -> Change[results.Comment]:
            return new_comment(self._at(row), Subject(int(card_id)), self._text(mark, row))

        made = self._carry(card_id, "comment", Effect.AMBIGUOUS, declare)
        return str(made.id)

    def prolong(self, card_id: str, claim: Claimed, mark: Mark) -> None:
        """The same comment with another end. Raises what the guard raises; a deleted one is a ``ForgeRefused``."""
        known = ForgeComment(
            claim.comment_id, int(card_id), claim.author, "", claim.url, claim.changed_at, claim.changed_at
        )

        def declare(row: Row) -> Change[results.Comment]:
            return edited(self._at(row), known, self._text(mark, row))

        self._carry(card_id, "edit_comment", Effect.IDEMPOTENT, declare)

    def remove(self, card_id: str, comment_id: str) -> None:
        """The claim away, as a read shows; absent is done. Raises what the guard raises."""
        subject = Subject(int(card_id))

        def look(reading: Errand) -> Sight[results.Changed]:
            found = whole(self.client.comments(subject, reading))
            return Ready() if any(each.id == comment_id for each in found) else Done(CHANGED)

        def send(sending: Errand) -> results.Changed:
            self.client.delete_comment(subject.number, comment_id, sending)
            return CHANGED

        def declare(_row: Row) -> Change[results.Changed]:
            return Change(Effect.IDEMPOTENT, send, look, looks_first=True, settles=True, already=unchanged)

        self._carry(card_id, "remove_comment", Effect.IDEMPOTENT, declare)

    def _carry(self, card_id: str, what: str, effect: Effect, declare: Callable[[Row], Change[Any]]) -> Any:
        operation = f"{self.client.kind}.board.{what}"
        order = Order(self.board, card_id, f"claim {what}", operation, effect, {"number": int(card_id)})
        return self.sending.carry(order, declare, SETTLING, lambda result: result.model_dump(mode="json"))

    def _at(self, row: Row) -> Desk:
        return replace(self.desk, effect_id=row.effect_id, marker=row.marker)

    def _text(self, mark: Mark, row: Row) -> str:
        until = mark.until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        marker = claim_marker(mark.owner, mark.instance, mark.epoch, until, row.effect_id)
        return self.desk.words.compose(f"A dispatcher works on this card until {until} at least.", marker)
