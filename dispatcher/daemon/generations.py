"""The configuration in force, generation by generation (dispatcher.md 23).

A reload reads and checks the whole file. An invalid one leaves the last good one in force and is told; a valid one
becomes the next generation at the next tick's start. The file is looked at each tick.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from config.problems import ConfigError
from config.settings import Settings
from dispatcher import log
from dispatcher.daemon.changes import check_names, merge
from dispatcher.preflight import load_checked
from engine.ports import Clock

QUIET = 0.2
"""Seconds for which a changed file must have been left alone before it is read."""
_log = log.get(__name__)


class Generations:
    """The settings now, the ones that come next, and what was wrong with the last attempt.

    ``settings.boards`` also holds the boards in ``removed``: those that the file names no more and that have work.
    """

    def __init__(self, settings: Settings, environment: Mapping[str, str], clock: Clock) -> None:
        self.settings = settings
        self.number = 1
        self.loaded_at: datetime = clock.now()
        self.error = ""
        self.restart_required: tuple[str, ...] = ()
        self.removed: frozenset[str] = frozenset()
        self._environment = environment
        self._clock = clock
        self._file = settings.origin.file
        self._seen = _look(self._file)
        self._next: Settings | None = None
        self._lock = threading.Lock()

    def reload(self) -> bool:
        """Read the file; whether there is a next generation. Never raises for what stands in it."""
        if self._file is None:
            return False
        with self._lock:
            self._seen = _look(self._file)
            try:
                settings = load_checked(self._file, self._environment)
                check_names(settings, self.settings, self.removed)
            except ConfigError as error:
                self.error = error.message
                _log.error("config.refused", error=error.message)
                return False
            self.error = ""
            self._next = settings
        return True

    def look(self) -> None:
        """Reload when the file changed and was left alone since."""
        seen = _look(self._file)
        if self._file is None or seen == self._seen or not seen or seen[1] == 0:
            return  # an empty file is one that somebody is about to write
        if self._clock.now().timestamp() - seen[0] / 1e9 >= QUIET:
            self.reload()

    def take(self) -> Settings | None:
        """The next generation, once, as a whole; parts that need a new start are named and keep their old values."""
        with self._lock:
            coming, self._next = self._next, None
        if coming is None or coming.origin.digest == self.settings.origin.digest:
            return None
        merged = merge(self.settings, coming)
        self.settings, self.restart_required, self.removed = merged.settings, merged.restart_required, merged.removed
        self.number += 1
        self.loaded_at = self._clock.now()
        _log.info("config.loaded", generation=self.number)
        if merged.restart_required:
            _log.warning("config.restart_needed", keys=merged.restart_required)
        return self.settings

    def retire(self, at_work: Collection[str]) -> Settings | None:
        """Let go of the removed boards without work; the settings without them, None when all are still needed."""
        over = self.removed - set(at_work)
        if not over:
            return None
        boards = tuple(board for board in self.settings.boards if board.name not in over)
        self.settings = self.settings.replaced(boards=boards)
        self.removed -= over
        _log.info("config.loaded", generation=self.number, boards_gone=sorted(over))
        return self.settings


def _look(file: Path | None) -> tuple[int, int] | None:
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
