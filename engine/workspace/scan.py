"""One walk over a workspace: which files are there, by their stat alone; no content is read.

Called by ``record``. Symbolic links and special files are passed over. A workspace above the limits is refused before
any content is read, so that it costs one walk (engine.md 8.5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from engine.errors import WorkspaceUnrecorded
from engine.workspace.ignore import BUILT, NEVER, Rules

Stat: TypeAlias = "tuple[int, int, int, int, int]"
"""Modified and changed (nanoseconds), size in bytes, mode, inode."""

_SEEN_PER_KEPT = 4
"""So many files may be looked at, ignored ones included, for each that may be captured."""


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


def walk(ground: Ground) -> dict[str, Stat]:
    """Every file that is captured, by its path relative to the root. Raises WorkspaceUnrecorded."""
    found: dict[str, Stat] = {}
    size = 0
    limits = ground.limits
    for seen, (path, stat, kept) in enumerate(_files(ground), 1):
        if kept:
            found[path] = stat
            size += stat[2] if stat[2] <= limits.max_file else 0
        if len(found) > limits.max_files or seen > limits.max_files * _SEEN_PER_KEPT:
            raise _too_much(ground.root, f"more than {limits.max_files} files")
    if size > limits.max_bytes:
        raise _too_much(ground.root, f"more than {limits.max_bytes // 1024**2} MiB of files")
    return found


def _too_much(root: Path, what: str) -> WorkspaceUnrecorded:
    text = f"the workspace {root} holds {what}; its boundaries are not recorded"
    return WorkspaceUnrecorded(text, "name what does not belong to the work in .pointsmanignore")


def _files(ground: Ground) -> Iterator[tuple[str, Stat, bool]]:
    """Path, stat, and whether the file is captured."""
    rules, store = ground.rules, os.fspath(ground.store)
    stack: list[tuple[str, str, bool]] = [(os.fspath(ground.root), "", False)]
    while stack:
        folder, prefix, left_out = stack.pop()
        try:
            entries = os.scandir(folder)
        except OSError:
            continue
        with entries:
            for entry in entries:
                name = entry.name
                if name in NEVER:
                    continue
                path = prefix + name
                if entry.is_dir(follow_symlinks=False):
                    if name in BUILT or entry.path == store:
                        continue
                    excluded = rules.excludes(path, folder=True, inherited=left_out)
                    if not excluded or rules.include_again:
                        stack.append((entry.path, path + "/", excluded))
                elif entry.is_file(follow_symlinks=False):
                    kept = not rules.excludes(path, folder=False, inherited=left_out)
                    if stat := _stat(entry):
                        yield path, stat, kept


def _stat(entry: os.DirEntry[str]) -> Stat | None:
    """The stat of a file; None when it is gone by now."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode, found.st_ino)
