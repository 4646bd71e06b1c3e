"""What of a new configuration holds at once, and what waits for a new start: pure (dispatcher.md 23).

Called by ``generations``. A board that the file names no more stays until its work has ended; an existing board keeps
its address, since claims, workspaces and comments belong to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from config.boards import BoardSettings
from config.problems import ConfigError, Problem
from config.settings import Settings

NEEDS_START: Mapping[str, tuple[str, ...]] = {
    "store": ("dir", "url", "synchronous", "allow_network"),
    "workspace": ("root",),
    "runs": ("isolation",),
    "claims": ("lease", "heartbeat"),
    "server": ("host", "port", "token"),
}
"""section -> the keys of it that are read once, when the process starts."""
WHOLE = frozenset({"store"})
"""Sections that are named as a whole when one of those keys changed."""
BOARD_NEEDS_START = ("kind", "repo", "url", "token", "app", "project")
"""The keys of an existing board that are read once: where it is, and as whom it is asked."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The next generation, the keys in it that a new start waits for, and the boards that are only watched."""

    settings: Settings
    restart_required: tuple[str, ...]
    removed: frozenset[str]


def merge(present: Settings, coming: Settings) -> Merged:
    """``coming`` with the present values where only a new start takes others, and with the boards that it lacks."""
    sections, waiting = _sections(present, coming)
    old = {board.name: board for board in present.boards}
    boards = []
    for board in coming.boards:
        known = old.pop(board.name, None)
        changed = _changed(known, board) if known is not None else []
        waiting += [f"boards[{board.name}].{key}" for key in changed]
        boards.append(board.model_copy(update={key: getattr(known, key) for key in changed}))
    settled = coming.replaced(**sections, boards=(*boards, *old.values()))
    return Merged(settled, tuple(waiting), frozenset(old))


def _sections(present: Settings, coming: Settings) -> tuple[dict[str, Any], list[str]]:
    sections: dict[str, Any] = {}
    waiting: list[str] = []
    for name, keys in NEEDS_START.items():
        before, after = getattr(present, name), getattr(coming, name)
        changed = [key for key in keys if getattr(before, key) != getattr(after, key)]
        if changed:
            sections[name] = after.model_copy(update={key: getattr(before, key) for key in changed})
            waiting += [name] if name in WHOLE else [f"{name}.{key}" for key in changed]
    return sections, waiting


def _changed(before: BoardSettings, after: BoardSettings) -> list[str]:
    return [key for key in BOARD_NEEDS_START if getattr(before, key) != getattr(after, key)]


def check_names(coming: Settings, present: Settings, removed: Collection[str]) -> None:
    """Raises ``ConfigError`` when the name of a removed board that still has work is given to another address."""
    old = {board.name: board for board in present.boards if board.name in removed}
    reused = [board.name for board in coming.boards if board.name in old and _changed(old[board.name], board)]
    if reused:
        hint = "Give the new board another name, or wait until the work of the old one has ended."
        problems = [Problem(f"board {name} was removed and still has work", "boards", hint) for name in reused]
        raise ConfigError("config_invalid", problems)
