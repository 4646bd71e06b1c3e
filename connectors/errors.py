"""The exceptions of boards and forges, one tree.

ConnectorError                 anything a board refuses or cannot do
├── BadCard                    the caller gave something unusable; nothing was made or changed
│   ├── InvalidText            too long, empty, NUL or a lone surrogate
│   ├── InvalidField           an undeclared field, a wrong type, a value outside the enum, a missing one
│   ├── InvalidNotBefore       a start time without zone, or one that is no time
│   ├── UnknownColumn          the board has no such column
│   ├── UnknownBlocker         the blocker names no card
│   ├── BlockerCycle           the card would wait for itself
│   ├── InvalidColumn          a column change that cannot be made as asked
│   └── InvalidImport          the document is no board export
├── UnknownCard                no such card was ever stored
├── CardDeleted                the card was deleted; its number is spent
├── Conflict                   the card is not as the caller expected; nothing was changed
├── ColumnInUse                a role of the configuration needs the column
├── DamagedCard                the stored card cannot be decoded; the others can
├── Unsupported                this kind of board cannot do that
├── ColumnLost                 the column's label is not on the forge; nothing was sent
├── MovePending                a move was sent and no read shows it yet
├── EffectMissing              a mutation without the row that stands for it; raised before any call
├── Withdrawn                  the order was taken back before anything was sent
└── ForgeError                 what came of a call to a forge, with its evidence
    ├── NotSent                proof that nothing reached the forge
    ├── RateLimited            the forge asks to wait; nothing was done
    ├── ForgeRefused           the forge answered and said no
    ├── Unreachable            a read that failed as a whole
    ├── EffectPending          the forge took the order and has not done it yet (202)
    └── AmbiguousEffect        a mutation whose answer was lost

Each class carries ``code`` (the stable ``error.code`` of interface.md 1), and each instance ``message`` and ``hint``:
what was found, then what to do. Which exit code and HTTP status belong to a code is ``dispatcher/refusals.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from connectors.answer import StopReason


class ConnectorError(Exception):
    """The board could not do what it was asked."""

    code: ClassVar[str] = "connector_error"
    effect_id: str = ""
    """The row that stands for the change that failed, where one was written."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        self.message = message or (type(self).__doc__ or "").split("\n", 1)[0]
        self.hint = hint
        super().__init__(self.message)


class BadCard(ConnectorError):
    """The card's values cannot be used."""

    code = "bad_card"


class InvalidText(BadCard):
    """The text cannot be stored."""

    code = "invalid_text"


class InvalidField(BadCard):
    """The field's value does not fit."""

    code = "invalid_field"


class InvalidNotBefore(BadCard):
    """The start time cannot be read."""

    code = "invalid_not_before"


class UnknownColumn(BadCard):
    """The board has no such column."""

    code = "unknown_column"


class UnknownView(BadCard):
    """The board has no such view."""

    code = "unknown_view"


class UnknownBlocker(BadCard):
    """The blocker is no card of this board."""

    code = "unknown_blocker"


class BlockerCycle(BadCard):
    """The card would wait for itself."""

    code = "blocker_cycle"


class InvalidColumn(BadCard):
    """The column cannot be changed as asked."""

    code = "invalid_column"


class InvalidImport(BadCard):
    """The document is no board export."""

    code = "invalid_import"


class UnknownCard(ConnectorError):
    """The card is unknown."""

    code = "card_unknown"


class CardDeleted(ConnectorError):
    """The card was deleted."""

    code = "card_deleted"


class Conflict(ConnectorError):
    """The card is not as expected."""

    code = "card_conflict"


class ColumnInUse(ConnectorError):
    """A role of the configuration needs the column."""

    code = "column_in_use"


class DamagedCard(ConnectorError):
    """The stored card cannot be read."""

    code = "card_unreadable"


class Unsupported(ConnectorError):
    """This kind of board cannot do that."""

    code = "unsupported"


class ColumnLost(ConnectorError):
    """The column's label is not on the forge."""

    code = "column_lost"


class MovePending(ConnectorError):
    """The move was sent, and no read shows it yet."""

    code = "move_pending"


class EffectMissing(ConnectorError):
    """A change of the forge was asked for without the row that stands for it; nothing was sent."""

    code = "effect_missing"


class Withdrawn(ConnectorError):
    """The order was taken back before anything was sent."""

    code = "withdrawn"

    def nothing_sent(self) -> bool:
        """True: no byte left (engine.md 5.2)."""
        return True


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one call: what its effect's row keeps beside the state (connectors.md 9, 11, 12).

    ``kind`` of the answer, ``where`` it pointed, ``proof`` that nothing was sent by its name, the wire record as plain
    values. Nothing is decided from ``message``.
    """

    kind: str = ""
    status: int = 0
    code: str = ""
    message: str = ""
    request_id: str = ""
    where: str = ""
    proof: str = ""
    wire: Mapping[str, object] = field(default_factory=dict)


class ForgeError(ConnectorError):
    """A call to the forge did not succeed."""

    code = "forge_error"

    def __init__(self, message: str = "", hint: str = "", *, evidence: Evidence | None = None) -> None:
        super().__init__(message, hint)
        self.evidence = evidence or Evidence()


class NotSent(ForgeError):
    """Nothing reached the forge."""

    code = "not_sent"

    def nothing_sent(self) -> bool:
        """True: the engine may send it again (engine.md 5.2)."""
        return True


def when(until: datetime) -> str:
    """An instant as messages tell it."""
    return until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class RateLimited(ForgeError):
    """The forge asks to wait. ``until`` is the instant (UTC) that it named, None when it named none."""

    code = "rate_limited"

    def __init__(
        self, message: str = "", hint: str = "", *, until: datetime | None = None, evidence: Evidence | None = None
    ) -> None:
        super().__init__(message, hint, evidence=evidence)
        self.until = until

    def limited_until(self) -> datetime | None:
        """The instant, as the engine asks for it."""
        return self.until


class ForgeRefused(ForgeError):
    """The forge refused. ``status`` is its HTTP status, 0 when it has none."""

    code = "forge_refused"

    def __init__(self, message: str = "", hint: str = "", *, status: int = 0, evidence: Evidence | None = None) -> None:
        super().__init__(message, hint, evidence=evidence or Evidence(status=status))
        self.status = status or self.evidence.status

    def refused_status(self) -> int:
        """The status, as the engine asks for it."""
        return self.status


class Unreachable(ForgeError):
    """The forge could not be read. ``stopped`` is the reason as a listing tells it (connectors.md 5)."""

    code = "forge_unreachable"

    def __init__(
        self,
        message: str = "",
        hint: str = "",
        *,
        evidence: Evidence | None = None,
        stopped: StopReason = StopReason.PAGE_FAILED,
    ) -> None:
        super().__init__(message, hint, evidence=evidence)
        self.stopped = stopped


class EffectPending(ForgeError):
    """The forge took the order and has not done it yet."""

    code = "effect_pending"


class AmbiguousEffect(ForgeError):
    """A mutation may have happened; its answer was lost. ``effect_id`` names its row."""

    code = "ambiguous_effect"

    def __init__(
        self, message: str = "", hint: str = "", *, effect_id: str = "", evidence: Evidence | None = None
    ) -> None:
        super().__init__(message, hint, evidence=evidence)
        self.effect_id = effect_id

    def ambiguous_effect(self) -> bool:
        """True: the engine asks this before it classifies anything else (engine.md 5.1)."""
        return True
