"""What people see of a claim on the board itself: ``claim_label``, and the comment that a run was started.

Called at the end of T10. Both are pictures and never read as authority (connectors.md 19). A row per label that is
wanted or shown makes a crash or a lost answer end in the next tick; the row goes once the label does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

from connectors.errors import ConnectorError, ForgeRefused
from dispatcher import log
from dispatcher.commenting import say
from dispatcher.ledger import labels
from dispatcher.world import World

_log = log.get(__name__)


@runtime_checkable
class Labelled(Protocol):
    """A board whose cards carry labels of its forge."""

    def add_label(self, card_id: str, label: str) -> bool: ...  # noqa: D102

    def remove_label(self, card_id: str, label: str) -> bool: ...  # noqa: D102


def show(world: World) -> None:
    """The comment of each start, then the labels of claims that came and went."""
    if world.dry:
        return
    for key in world.started:
        link, card = world.link(key), world.cards.get(key)
        if card is not None and link is not None and "started" in world.station.board_settings(key[0]).comments:
            text = f"Run {link.last_run} was started (attempt {link.attempts})."
            say(world, card, text, f"run={link.last_run} started={link.attempts}")
    for board in world.station.settings.boards:
        seen = world.reads.get(board.name)
        if board.claim_label and seen is not None and not seen.standby:
            _labels(world, board.name, board.claim_label)


def _labels(world: World, name: str, label: str) -> None:
    board, ledger = world.station.boards[name], world.station.ledger
    if not isinstance(board, Labelled):
        return
    rows = labels.of_board(ledger, name)
    claimed = {card_id for where, card_id in ledger.snapshot().claims if where == name}
    for card_id in sorted(claimed - {each for each, shown in rows.items() if shown}):
        labels.keep(ledger, (name, card_id), world.now, shown=False)
        if _done(world, name, card_id, partial(board.add_label, card_id, label)):
            labels.keep(ledger, (name, card_id), world.now, shown=True)
    for card_id in sorted(rows.keys() - claimed):
        if _done(world, name, card_id, partial(board.remove_label, card_id, label)):
            labels.drop(ledger, (name, card_id))


def _done(world: World, name: str, card_id: str, change: Callable[[], bool]) -> bool:
    """Whether the label is as wanted, or its card is not there any more; else the next tick goes on."""
    try:
        change()
    except ForgeRefused as error:
        if error.status in (404, 410):
            return True
        if world.station.memory.first_time(f"claim label {name} {card_id} {error.message}"):
            _log.warning("board.degraded", board=name, card_id=card_id, what="claim label", error=error.message)
        return False
    except ConnectorError as error:
        _log.warning("board.degraded", board=name, card_id=card_id, what="claim label", error=error.message)
        return False
    return True
