"""One walk over a workspace: which files are there, by their stat alone; no content is read.

Called by ``record``. Symbolic links and special files are passed over. A workspace above the limits is refused before
any content is read, so that it costs one walk (engine.md 8.5).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from engine.errors import WorkspaceUnrecorded
from engine.workspace.ignore import BUILT, NEVER, Rules

Stat: TypeAlias = "tuple[int, int, int, int, int]"
"""Modified and changed (nanoseconds), size in bytes, mode, inode."""

_Folder: TypeAlias = "tuple[str, str, bool]"
"""Its path, the prefix of what lies in it, and whether that is left out unless a rule includes it again."""
_IGNORED_PER_KEPT = 4
"""So many ignored files may be passed for each that may be captured."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``max_file`` in bytes: larger files are recorded as skipped. ``max_bytes`` is the sum of all others."""

    max_file: int = 32 * 1024 * 1024
    max_files: int = 50_000
    max_bytes: int = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ground:
    """What is walked: the workspace, the store's folder, which is never captured, the rules, the limits."""

    root: Path
    store: Path
    rules: Rules
    limits: Limits

    @property
    def store_text(self) -> str:
        """The store's folder as text."""
        return os.fspath(self.store)


def walk(ground: Ground) -> dict[str, Stat]:
    """Every file that is captured, by its path relative to the root. Raises WorkspaceUnrecorded."""
    limits = ground.limits
    tally = _Tally(limits.max_files)
    folders: list[_Folder] = [(os.fspath(ground.root), "", False)]
    while folders:
        if not _enter(ground, folders.pop(), folders, tally):
            raise _too_much(ground.root, f"more than {limits.max_files} files")
    if sum(stat[2] for stat in tally.found.values() if stat[2] <= limits.max_file) > limits.max_bytes:
        raise _too_much(ground.root, f"more than {limits.max_bytes // 1024**2} MiB of files")
    return tally.found


@dataclass(slots=True)
class _Tally:
    """What a walk has found so far, and how many more files it may look at and capture."""

    most: int
    found: dict[str, Stat] = field(default_factory=dict)
    ignored: int = 0

    @property
    def full(self) -> bool:
        return len(self.found) > self.most or self.ignored > self.most * _IGNORED_PER_KEPT


def _too_much(root: Path, what: str) -> WorkspaceUnrecorded:
    text = f"the workspace {root} holds {what}; its boundaries are not recorded"
    return WorkspaceUnrecorded(text, "name what does not belong to the work in .pointsmanignore")


def _enter(ground: Ground, folder: _Folder, folders: list[_Folder], tally: _Tally) -> bool:
    """Look into one folder and put those below it on the list; False when there is too much.

    Written for speed: it is all that a boundary costs where nothing has changed.
    """
    place, prefix, left_out = folder
    rules, found, patterns = ground.rules, tally.found, ground.rules.patterns
    try:
        entries = os.scandir(place)
    except OSError:
        return True
    with entries:
        for entry in entries:
            name = entry.name
            if name in NEVER or not (name.isascii() or _speakable(name)):
                continue
            path = prefix + name
            excluded = left_out
            if entry.is_dir(follow_symlinks=False):
                if name in BUILT or entry.path == ground.store_text:
                    continue
                if patterns:
                    excluded = rules.excludes(path, folder=True, inherited=left_out)
                if not excluded or rules.include_again:
                    folders.append((entry.path, path + "/", excluded))
            elif entry.is_file(follow_symlinks=False):
                if patterns and rules.excludes(path, folder=False, inherited=left_out):
                    tally.ignored += 1
                    continue
                try:
                    stat = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                found[path] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_mode, stat.st_ino)
    return not tally.full


def _speakable(name: str) -> bool:
    """Whether a name is text; one that is only bytes cannot stand in the store."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
