"""The configuration in force, generation by generation (dispatcher.md 23).

A reload reads and checks the whole file. An invalid one leaves the last good one in force and is told; a valid one
becomes the next generation at the next tick's start. The file's folder is watched; besides, it is looked at each tick.
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
from dispatcher.daemon.lookout import Lookout
from dispatcher.preflight import load_checked
from engine.ports import Clock

QUIET = 0.2
"""Seconds for which a changed file must have been left alone before it is read."""
Look = tuple[int, int, int]
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
        self._changed: tuple[Look | None, float] | None = None
        self._lookout: Lookout | None = None
        self._next: Settings | None = None
        self._lock = threading.Lock()

    @property
    def watch(self) -> str:
        """How a change of the file is noticed: ``events`` of its folder, or ``polling`` each tick."""
        return "events" if self._lookout is not None and not self._lookout.trouble else "polling"

    def open(self) -> None:
        """Begin to watch the file's folder; where the system refuses, each tick looks at the file all the same."""
        if self._file is not None and self._lookout is None:
            self._lookout = Lookout(self._file.parent)
            if self._lookout.trouble:
                _log.warning("config.watch_degraded", error=self._lookout.trouble)

    def close(self) -> None:
        """Watch no longer."""
        if self._lookout is not None:
            self._lookout.close()
            self._lookout = None

    def stirred(self) -> bool:
        """Whether something happened in the file's folder and the file is another one than was read; never waits."""
        if self._lookout is None or not (self._lookout.heard() or self._changed is not None):
            return False
        return _look(self._file) != self._seen

    def reload(self) -> bool:
        """Read the file; whether there is a next generation. Never raises for what stands in it."""
        if self._file is None:
            return False
        with self._lock:
            self._seen, self._changed = _look(self._file), None
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

    def look(self) -> bool | None:
        """Reload when the file changed and was left alone since: as ``reload``, None when there was nothing to do."""
        seen, now = _look(self._file), self._clock.monotonic()
        if self._file is None or seen == self._seen or (seen is not None and seen[1] == 0):
            self._changed = None  # an empty file is one that somebody is about to write
            return None
        if self._changed is None or self._changed[0] != seen:
            self._changed = (seen, now)
        old = seen is not None and self._clock.now().timestamp() - seen[0] / 1e9 >= QUIET
        return self.reload() if old or now - self._changed[1] >= QUIET else None

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


def _look(file: Path | None) -> Look | None:
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
