"""A board over a forge's labels, put together from the configuration, the connection and the store.

Called by ``wiring`` for each board of a forge; nothing is read or sent here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from connectors.effects.guard import Guard
from connectors.effects.journal import Desk, Journal
from connectors.forge.board import Hands, LabelBoard
from connectors.forge.cards import BoardPlan
from connectors.forge.client import ForgeClient
from connectors.forge.memory import Crossing, KnownLabel, Placed, Remembered
from connectors.registry import client_by_status
from dispatcher.forges import Forges, columns, places
from dispatcher.ledger.forge_rows import UNSEEN, BoardMemory, Seat
from engine.ports import Clock

if TYPE_CHECKING:
    from config.boards import BoardSettings
    from config.settings import Settings
    from dispatcher.ledger import Ledger
    from engine.store.effects import Effects


@dataclass(frozen=True, slots=True)
class Parts:
    """What a board is made of. ``watches``: whether this process remembers where it saw cards."""

    settings: Settings
    forges: Forges
    ledger: Ledger
    effects: Effects
    journal: Journal
    clock: Clock
    passed: Callable[[str], None]
    watches: bool


def made(parts: Parts, given: BoardSettings) -> LabelBoard:
    """The board. Raises ``Unsupported`` for a token that cannot be used, and for statuses without a project."""
    forges = parts.forges
    client, plan = client_of(forges, given), plan_of(parts.settings, given)
    seat = Seat(given.name, given.kind, forges.connections_to(given))
    memory = BoardMemory(seat, parts.ledger, parts.effects, writes=parts.watches)
    sending = Desk(parts.journal, Guard(client.pace, parts.clock, parts.passed), forges.seconds(given.name))
    words, observer = forges.words(given.name), forges.world.observer
    return LabelBoard(plan, client, Hands(memory, sending, words, parts.clock, observer))


def client_of(forges: Forges, given: BoardSettings) -> ForgeClient:
    """The client through which the board looks. Raises ``Unsupported``."""
    client = forges.client(given.name)
    mapped = {each.status for each in given.columns.values() if each.status}
    return client_by_status(client, mapped) if mapped else client


def plan_of(settings: Settings, given: BoardSettings) -> BoardPlan:
    """The board as configured."""
    mapped = places(given.columns)
    roles = frozenset(str(name) for name in settings.columns.model_dump().values() if name)
    repos = {(each.repo or "").lower(): each.name for each in settings.boards if each.kind == given.kind}
    by_ref = settings.claims.arbitration == "ref"
    return BoardPlan(given.name, columns(mapped, mapped), mapped, roles, given.priority_labels, repos, by_ref)


class Unremembered:
    """The memory of a board that nobody ever looked at, for who only looks. Implements ``ForgeMemory``."""

    def columns(self) -> Mapping[str, KnownLabel]:
        """None is known."""
        return {}

    def keep_columns(self, found: Mapping[str, KnownLabel]) -> None:
        """Kept nowhere."""

    def cards(self, card_ids: Collection[str]) -> Mapping[str, Remembered]:
        """None was seen."""
        return {}

    def place(self, seen: Mapping[str, Placed], *, moved: bool = False) -> Mapping[str, Placed]:
        """Newer than all that is known."""
        return {card_id: replace(placed, sequence=UNSEEN) for card_id, placed in seen.items()}

    def cross(self, card_id: str, crossing: Crossing | None) -> None:
        """Kept nowhere."""

    def crossings(self) -> Mapping[str, Crossing]:
        """None is under way."""
        return {}

    def keep_note(self, card_id: str, comment_id: str) -> None:
        """Kept nowhere."""

    def run_of_move(self, card_id: str, labels: Collection[str]) -> str:
        """No run is known."""
        return ""
