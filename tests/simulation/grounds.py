"""Where the cards of a history lie: the protocol that a play needs, and the ground of the boards that live with us.

A ground gives each process its board, knows how every card really is, and does what people do to them. ``forge`` holds
the other one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from connectors.base import Board, Move, StopReason
from connectors.card import PERSON, MoverKind
from connectors.drafts import CardDraft, CardPatch
from connectors.memory.board import MemoryBoard
from connectors.native.defaults import DEFAULT_COLUMNS
from dispatcher.ledger.records import Snapshot
from engine.run import RunRecord
from tests.simulation.seams import Deed, Fault, SimulatedBoard
from tests.simulation.watch import Broken

if TYPE_CHECKING:
    from tests.simulation.machine import Execution
    from tests.simulation.play import Dispatcher, Play

CALM = (30.0,) * 12 + (400.0,) * 12 + (3700.0,) * 30
"""Seconds between the ticks in which everything comes to rest."""


class Standing(Protocol):
    """How a card really is; ``connectors.card.Card`` is one."""

    @property
    def board(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def column(self) -> str | None: ...
    @property
    def column_by(self) -> MoverKind: ...
    @property
    def column_sequence(self) -> int: ...
    @property
    def closed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A card that a person wants: its column, and the card that it waits for."""

    column: str
    blocker: Standing | None = None


class Ground(Protocol):
    """One board with everything on it."""

    name: str
    calm: tuple[float, ...]
    remote: bool
    """Whether it lies on another machine: moves are seen late, listings may be old."""

    def board(self, process: str) -> Board: ...
    def journal(self, process: str) -> Any: ...
    def cards(self) -> Iterator[Standing]: ...
    def step(self) -> None: ...
    def fault(self, number: int) -> Fault | Deed: ...
    def hide(self) -> None: ...
    def settle(self) -> None: ...
    def ticked(self) -> None: ...
    def at_rest(self, daemon: Dispatcher, snapshot: Snapshot) -> None: ...
    def changes(self) -> object: ...
    def blind(self) -> bool: ...
    def met(self) -> tuple[str, ...]: ...
    def died(self, process: str) -> None: ...
    def close_all(self) -> None: ...

    # people
    def create(self, draft: Draft) -> int: ...
    def move(self, card: Standing, to: str, number: int) -> None: ...
    def close(self, card: Standing) -> None: ...
    def delete(self, card: Standing) -> None: ...
    def edit(self, card: Standing, number: int) -> None: ...

    # runs
    def free(self, process: str) -> bool: ...
    def call(self, each: Execution) -> str: ...
    def decided(self, process: str, record: RunRecord, *, attended: bool) -> frozenset[str]: ...
    def doubtful(self, process: str, run_id: str) -> bool: ...
    def probe(self, process: str, effect_id: str) -> object: ...


class NativeGround:
    """A board in memory that all daemons share; its runs call nobody."""

    name = "native"
    calm = CALM
    remote = False

    def __init__(self, play: Play) -> None:
        plain = MemoryBoard(self.name, DEFAULT_COLUMNS, play.clock, play.ids)
        self._board = SimulatedBoard(plain, play.database, play.seams)
        self._board.moved = play.watch.moved

    def board(self, process: str) -> Board:
        return self._board

    def journal(self, process: str) -> Any:
        return None

    def cards(self) -> Iterator[Standing]:
        return iter(list(self._board._cards.values()))

    def step(self) -> None:
        self._board.faults.stopped = None

    def fault(self, number: int) -> Fault | Deed:
        return Fault.BOARD

    def hide(self) -> None:
        self._board.faults.stopped = StopReason.PAGE_CAP

    def settle(self) -> None:
        self.step()

    def ticked(self) -> None:
        """Each move was watched already."""

    def at_rest(self, daemon: Dispatcher, snapshot: Snapshot) -> None:
        seen: Counter[str] = Counter()
        for card in self.cards():
            for comment in self._board.comments(card.id):
                seen[comment.text.rsplit("\n", 1)[-1]] += 1
        twice = [marker for marker, count in seen.items() if marker.startswith("<!--") and count > 1]
        if twice:
            raise Broken("each effect of a finish once", f"comments {twice}")

    def changes(self) -> object:
        with self._board._database.exclusive() as raw:
            return raw.total_changes, len(self._board._events)

    def blind(self) -> bool:
        return False

    def met(self) -> tuple[str, ...]:
        return ()

    def died(self, process: str) -> None:
        """The board does not notice."""

    def close_all(self) -> None:
        """Nothing is open."""

    def create(self, draft: Draft) -> int:
        blockers = (draft.blocker.id,) if draft.blocker is not None else ()
        return self._board.create(CardDraft("a card", column=draft.column, blockers=blockers), PERSON).number

    def move(self, card: Standing, to: str, number: int) -> None:
        self._board.move(card.id, Move(to, PERSON))

    def close(self, card: Standing) -> None:
        self._board.close(card.id, PERSON, failed="blocked")

    def delete(self, card: Standing) -> None:
        self._board.delete(card.id, PERSON)

    def edit(self, card: Standing, number: int) -> None:
        self._board.update(card.id, CardPatch(priority=number), PERSON)

    def free(self, process: str) -> bool:
        return True

    def call(self, each: Execution) -> str:
        return ""

    def decided(self, process: str, record: RunRecord, *, attended: bool) -> frozenset[str]:
        return frozenset()

    def doubtful(self, process: str, run_id: str) -> bool:
        return False

    def probe(self, process: str, effect_id: str) -> object:
        return None
