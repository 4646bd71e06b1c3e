"""What open streams share: how many there are, and one look for all of them whether anything was committed.

Used inside the event loop's thread only, by ``stream``; so that a hundred readers of runs that wait cost one look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from engine.store.database import Database

MOST = 128
"""Streams at once: half of the connections that the listener takes, so that pages and probes find room."""
FRESH = 0.2
"""Seconds for which a look holds for everybody."""


class News:
    """One per listener."""

    def __init__(self) -> None:
        self.readers = 0
        self._looked, self._version = float("-inf"), 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A stream is open for the length of the block."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    def has_room(self) -> bool:
        """Whether one more may be opened."""
        return self.readers < MOST

    async def version(self, database: Database) -> int | None:
        """A number that is another one after every commit, a moment old at most; None where it costs a query."""
        now = asyncio.get_running_loop().time()
        if now - self._looked >= FRESH:
            self._looked = now
            found = await run_in_threadpool(database.version)
            if found is None:
                self._looked = float("-inf")
                return None
            self._version = found
        return self._version
