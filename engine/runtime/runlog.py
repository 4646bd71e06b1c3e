"""The log of a run, ``runs/<id>/run.log``: warnings, error streams of commands, and the attempts one after another.

Written by the attempt that owns the run; read by ``inspect --section log``. A log that cannot be written harms no run.
Agent output is prefixed by whoever writes it (engine.md 11.1).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from engine.ports import Clock, as_it_is

LOGGER = logging.getLogger("pointsman.engine")


class RunLog:
    """Appends whole lines, without secrets; opened at the first one. Thread-safe."""

    def __init__(self, path: Path, clock: Clock, clean: Callable[[object], object] = as_it_is) -> None:
        self._clean = clean
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._descriptor = -1

    def line(self, text: str) -> None:
        """Add a line with the present instant."""
        stamp = self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._append(f"{stamp} {self._clean(text)}\n")

    def alert(self, text: str) -> None:
        """Add a warning here and tell the people who watch this process."""
        text = str(self._clean(text))
        self.line(f"warning: {text}")
        LOGGER.warning(text)

    def block(self, prefix: str, text: str) -> None:
        """Add every line of ``text`` after ``prefix``."""
        if text:
            lines = str(self._clean(text)).splitlines()
            self._append("".join(f"{prefix} {line}\n" for line in lines))

    def close(self) -> None:
        """Give the file back. Harmless twice."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _append(self, text: str) -> None:
        with self._lock:
            try:
                if self._descriptor < 0:
                    self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                    self._descriptor = os.open(self._path, flags, 0o600)
                os.write(self._descriptor, text.encode("utf-8", "replace"))
            except OSError as problem:
                LOGGER.warning("the log %s takes no line: %s", self._path, problem.strerror)
