"""When a card's workspace is cleaned: level-triggered, by policy and column (dispatcher.md 21, point E7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from connectors.card import Card
from dispatcher import hooking, log
from dispatcher.documents import card_document
from dispatcher.hooks import Call, Hook
from dispatcher.ledger.records import Follows, Settlement
from dispatcher.workspaces import Removal, Workspaces
from dispatcher.world import World

_log = log.get(__name__)
KEEP, ON_TERMINAL = "keep", "cleanup_on_terminal"
_STILL_NEEDED = frozenset({Follows.RETRY, Follows.PARKED, Follows.NOTHING})


def clean(world: World, card: Card, settlement: Settlement) -> None:
    """Remove the workspace of a card that reached its end, unless somebody still needs it or it holds unsaved work."""
    persist = world.station.settings.workspace.persist
    read = world.columns_of(card.board)
    if persist == KEEP or settlement.follows in _STILL_NEEDED or card.column not in read.terminal:
        return
    if persist != ON_TERMINAL and card.column == world.station.settings.columns.failed:
        return
    remove(world, card, settlement.run_id)


def remove(world: World, card: Card, run_id: str) -> None:
    """``before_remove``, then the removal; any doubt keeps the folder and says why."""
    station = world.station
    key = station.workspace_key(card, world.link((card.board, card.id)))
    path = station.workspaces.path_of(key)
    if not path.is_dir():
        return
    call = Call(card, run_id, 0, path, station.store.root, card_document(card))

    def unsaved(folder: Path) -> str:
        why = station.unsaved(folder)
        if not why:
            hooking.run(station, Hook.BEFORE_REMOVE, replace(call, workspace=folder))
        return why

    removal, why = station.workspaces.remove(key, card.id, unsaved)
    _tell(removal, why, board=card.board, card_id=card.id, path=str(path))


def finish_removals(workspaces: Workspaces) -> None:
    """What an earlier process began to remove and died over; called at the daemon's start, under its lock."""
    for key, (removal, why) in workspaces.finish_removals().items():
        _tell(removal, why, path=str(workspaces.path_of(key)))


def _tell(removal: Removal, why: str, **told: object) -> None:
    if removal is Removal.REMOVED:
        _log.info("workspace.removed", **told)
    elif removal is Removal.KEPT_DIRTY:
        _log.warning("workspace.kept_dirty", reason=why, **told)
    elif removal is Removal.QUARANTINED:
        _log.warning("workspace.quarantined", reason=why, **told)
