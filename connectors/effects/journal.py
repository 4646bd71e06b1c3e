"""The rows of changes that no run asked for: moves, comments and claims of a board (connectors.md 9).

The protocol is implemented by the dispatcher over the engine's effect rows. ``carry`` is how a board sends one change:
row, guard, outcome. A change whose row cannot be written is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from connectors.effects.guard import Change, Effect, Guard, Row
from connectors.errand import Errand
from connectors.errors import ConnectorError, NotSent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Order:
    """A change as it is written down. ``place`` is where it belongs among the writes of its card."""

    board: str
    card_id: str
    place: str
    operation: str
    effect: Effect
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Past:
    """The newest row of a place: its id, whether it is done or in doubt, what was answered, when it was sent."""

    effect_id: str
    marker: str
    done: bool
    in_doubt: bool
    response: Mapping[str, object]
    sent_at: datetime | None


class JournalRow(Row, Protocol):
    """A row that its board settles."""

    def done(self, response: Mapping[str, object]) -> None:
        """The change was made, or had not to be made."""
        ...

    def failed(self, error: BaseException) -> None:
        """What became of it, as the error tells."""
        ...


class Journal(Protocol):
    """Where the rows lie."""

    def newest(self, order: Order) -> Past | None:
        """The newest row of the order's place."""
        ...

    def begin(self, order: Order) -> JournalRow:
        """A new row, ``intended``. Raises the store's errors: then nothing is sent."""
        ...

    def found(self, effect_id: str, response: Mapping[str, object]) -> None:
        """A read shows that a change in doubt was made."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """With what a board sends its changes; ``seconds`` bound all tries of one. ``closed`` says why none is sent now."""

    journal: Journal
    guard: Guard
    seconds: float
    closed: Callable[[], str] = lambda: ""

    def carry(
        self,
        order: Order,
        change: Callable[[Row], Change[T]],
        errand: Errand,
        told: Callable[[T], Mapping[str, object]] = lambda _result: {},
    ) -> T:
        """Write the order down, make the change, write down what came of it. Raises what the guard raises."""
        if why := self.closed():
            raise NotSent(f"{why}; nothing is written there", "say in the configuration where the board is now")
        row = self.journal.begin(order)
        try:
            result = self.guard.carry_out(change(row), row, errand, self.seconds)
        except BaseException as error:
            row.failed(error)
            if isinstance(error, ConnectorError) and not error.effect_id:
                error.effect_id = row.effect_id
            raise
        row.done(told(result))
        return result
