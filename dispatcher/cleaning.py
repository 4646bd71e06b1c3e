"""When a card's workspace is cleaned: level-triggered, by policy and column (dispatcher.md 21, point E7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from connectors.base import Board
from connectors.card import Card
from connectors.errors import ConnectorError
from dispatcher import hooking, log
from dispatcher.documents import card_document
from dispatcher.hooks import Call, Hook
from dispatcher.ledger.records import Follows, Link, Settlement
from dispatcher.workspaces import Removal, Workspaces
from dispatcher.world import World

_log = log.get(__name__)
EVERY, EVERY_ON_A_FORGE = 60.0, 600.0
"""Seconds between two looks for cards that came to their end by themselves."""
AT_ONCE = 20
"""So many cards of a forge are looked at in one go."""
KEEP, ON_TERMINAL = "keep", "cleanup_on_terminal"
_STILL_NEEDED = frozenset({Follows.RETRY, Follows.PARKED, Follows.NOTHING})


def clean(world: World, card: Card, settlement: Settlement) -> None:
    """Remove the workspace of a card that reached its end, unless somebody still needs it or it holds unsaved work."""
    if settlement.follows not in _STILL_NEEDED and _over(world, card):
        remove(world, card, settlement.run_id)


def _over(world: World, card: Card) -> bool:
    """Whether the card is where its workspace goes, by the policy."""
    persist = world.station.settings.workspace.persist
    if persist == KEEP or card.column not in world.columns_of(card.board).terminal:
        return False
    return persist == ON_TERMINAL or card.column != world.roles(card.board).failed


def sweep(world: World) -> None:
    """Workspaces of cards that came to their end later, by another hand than ours: people move cards to done."""
    station = world.station
    if world.dry or station.settings.workspace.persist == KEEP:
        return
    due = [name for name in station.boards if _due(world, name)]
    if not due:
        return
    kept = [link for link in station.ledger.links_with_workspace() if station.workspaces.marked(link.workspace)]
    for name in due:
        busy = world.snapshot.active()
        here = {each.card_id: each for each in kept if each.board == name and each.key not in busy}
        _sweep_board(world, name, here)


def _due(world: World, name: str) -> bool:
    """Whether it is time to look around on the board."""
    station, seen = world.station, world.reads.get(name)
    if seen is None or seen.standby or seen.error or name in station.removed:
        return False
    now, every = station.clock.monotonic(), EVERY if _asked_freely(station.boards[name]) else EVERY_ON_A_FORGE
    return now - station.memory.swept.get(name, (-every, ""))[0] >= every


def _asked_freely(board: Board) -> bool:
    """Whether a board lies in this store."""
    return getattr(board, "revision", None) is not None


def _sweep_board(world: World, name: str, links: Mapping[str, Link]) -> None:
    """Look at the cards by their ids, those of a forge a few at a time, and remove what nobody needs."""
    station, memory = world.station, world.station.memory
    board, last = station.boards[name], memory.swept.get(name, (0.0, ""))[1]
    ids = sorted(links)
    if not _asked_freely(board):
        ids = [*(each for each in ids if each > last), *(each for each in ids if each <= last)][:AT_ONCE]
    memory.swept[name] = (station.clock.monotonic(), ids[-1] if ids else "")
    try:
        with world.in_time(name):
            found = board.get_many(ids).found if ids else {}
    except ConnectorError as error:
        _log.debug("board.read_failed", board=name, what="cards with a workspace", error=error.message)
        return
    for card_id, card in found.items():
        if _over(world, card):
            world.careful(world, (name, card_id), partial(_sweep_card, world, card, links[card_id]))


def _sweep_card(world: World, card: Card, link: Link) -> None:
    """Once for each place of the card: what is kept for unsaved work is told once."""
    station = world.station
    if station.slots.has(link.key) or (link.last_run and station.engine.lock_held(link.last_run)):
        return
    if station.memory.first_time(f"swept {link.workspace} {card.column_sequence}"):
        remove(world, card, link.last_run)


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
