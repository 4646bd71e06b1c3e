"""A board over a forge's labels, put together from the configuration, the connection and the store.

Called by ``wiring`` for each board of a forge; nothing is read or sent here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.effects.guard import Guard
from connectors.effects.journal import Desk, Journal
from connectors.forge.board import Hands, LabelBoard
from connectors.forge.cards import BoardPlan
from connectors.registry import client_by_status
from dispatcher.forges import Forges, columns, places
from dispatcher.ledger.forge_rows import BoardMemory, Seat
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
    settings, forges, mapped = parts.settings, parts.forges, places(given.columns)
    client = forges.client(given.name)
    if any(place.status for place in mapped.values()):
        client = client_by_status(client)
    roles = frozenset(str(name) for name in settings.columns.model_dump().values() if name)
    repos = {(each.repo or "").lower(): each.name for each in settings.boards if each.kind == given.kind}
    plan = BoardPlan(given.name, columns(mapped, mapped), mapped, roles, given.priority_labels, repos)
    seat = Seat(given.name, given.kind, forges.connections_to(given))
    memory = BoardMemory(seat, parts.ledger, parts.effects, writes=parts.watches)
    sending = Desk(parts.journal, Guard(client.pace, parts.clock, parts.passed), forges.seconds(given.name))
    words, observer = forges.words(given.name), forges.world.observer
    return LabelBoard(plan, client, Hands(memory, sending, words, parts.clock, observer))
