"""Logging that is set up with its first line: the library behind ``log`` takes longer to load than most verbs work.

The session arranges it; the first record of anybody, or the first module that imports ``log``, sets logging up for good
(interface.md 1: heavy imports are lazy). No line is lost or written twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable


class LaterHandler(logging.Handler):
    """Stands at the root until there is a line; then ``begin`` puts the real handler in its place."""

    def __init__(self, begin: Callable[[], None]) -> None:
        super().__init__()
        self._begin = begin

    def begin(self) -> None:
        """Set logging up now; this handler is gone afterwards."""
        logging.getLogger().removeHandler(self)
        self._begin()

    def emit(self, record: logging.LogRecord) -> None:
        """Set logging up and pass the first line on."""
        self.begin()
        root = logging.getLogger()
        if record.levelno >= root.level:
            root.handle(record)


def arrange(level: str, begin: Callable[[], None]) -> None:
    """Have ``begin`` set logging up when there is a line of ``level`` or above."""
    root = logging.getLogger()
    root.handlers[:] = [LaterHandler(begin)]
    root.setLevel(level.upper())


def begin_if_arranged() -> None:
    """Set logging up now when that was put off."""
    for handler in tuple(logging.getLogger().handlers):
        if isinstance(handler, LaterHandler):
            handler.begin()
