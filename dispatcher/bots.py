"""Compiled bots, remembered by the look of their files: a tick compiles each bot at most once.

Used by ``engine_door``. A file counts as unchanged while its size and modification time are; whoever edits a bot is
seen at the next look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from dispatcher.candidate import Problem
from engine.dsl.load import Loaded, load
from engine.dsl.surroundings import Surroundings
from engine.errors import SourceInvalid, SourceMissing
from engine.ports import Clock

Look = tuple[tuple[str, int, int], ...]
LOOK_AGAIN = 0.05
"""Seconds for which a look at the files holds: one tick looks once."""
MOST_CHECKS = 4096


class Bots:
    """Loaded sources and checked values by path."""

    def __init__(self, clock: Clock, around: Surroundings) -> None:
        self._clock = clock
        self._around = around
        self._looks: dict[Path, tuple[float, Look]] = {}
        self._loaded: dict[Path, tuple[Look, Loaded | None]] = {}
        self._checks: dict[tuple[Path, Look, str], Problem | None] = {}

    def loaded(self, path: Path) -> Loaded | None:
        """The source as it is now; None when it cannot be opened."""
        look = self._look(path)
        known = self._loaded.get(path)
        if known is None or known[0] != look:
            known = (look, self._load(path))
            self._loaded[path] = known
        return known[1]

    def checked(self, path: Path, values: Mapping[str, object], check: Callable[[], Problem | None]) -> Problem | None:
        """The answer of ``check`` for these values, asked once while the source stays as it is."""
        key = (path, self._look(path), json.dumps(values, sort_keys=True, default=str))
        if key not in self._checks:
            if len(self._checks) >= MOST_CHECKS:
                self._checks.clear()
            self._checks[key] = check()
        return self._checks[key]

    def _load(self, path: Path) -> Loaded | None:
        try:
            return load(path, self._around)
        except (SourceMissing, SourceInvalid):
            return None

    def _look(self, path: Path) -> Look:
        now = self._clock.monotonic()
        known = self._looks.get(path)
        if known is not None and now - known[0] < LOOK_AGAIN:
            return known[1]
        look = look_at(path)
        self._looks[path] = (now, look)
        return look


def look_at(path: Path) -> Look:
    """Size and time of everything that may belong to the source: the bundle's files, or the file and its ``lib``."""
    folder = path if path.is_dir() else path.parent / "lib"
    files = [path] if path.is_file() else []
    files += sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []
    looks = []
    for file in files:
        try:
            found = file.stat()
        except OSError:
            continue
        looks.append((str(file), found.st_mtime_ns, found.st_size))
    return tuple(looks)
