"""The boundary commit: the one transaction that closes a step (engine.md 2.2), and what happens when it is refused.

Made by the runtime for one attempt; may be used by all branch threads of the attempt. Output rows, artifacts, events
and head are written together, on the driver's own cursor, conditional on the epoch of the attempt. It promises that
rows of a refused commit ride with the next one, and that the second refusal in a row is raised (engine.md 2.3).
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import NoReturn

from engine.checkpoint import Head
from engine.errors import OwnershipLost, StoreBusy, StoreFull
from engine.ports import Clock
from engine.store import writes
from engine.store.changes import Boundary, Stop, Transition, Written
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.run_reads import absent_here
from engine.store.setter import set_status
from engine.store.writes import Timed

_log = logging.getLogger(__name__)


class BoundaryWriter:
    """The hot path of one attempt of one run."""

    def __init__(self, database: Database, clock: Clock, run_id: str, epoch: int) -> None:
        self._database = database
        self._clock = clock
        self._run_id = run_id
        self._epoch = epoch
        self._order = threading.Lock()
        self._owed: list[Timed] = []
        self._refused = False

    @property
    def owes(self) -> bool:
        """Whether rows wait for the next commit."""
        return bool(self._owed)

    def commit(self, head: Head, written: Written = Written()) -> Boundary:
        """Write the rows of a step, the rows still owed, and the head: one commit.

        Refused once: logged, ``stored`` is False, the rows ride with the next commit. Refused twice in a row: raises
        StoreFull or StoreBusy. Raises OwnershipLost when the epoch is another's; nothing was written then.
        """
        with self._order:
            batches = [*self._owed, Timed(self._clock.now(), written)]
            try:
                stop = self._write(head, batches)
            except (StoreFull, StoreBusy) as error:
                return self._keep(batches, error)
            self._owed, self._refused = [], False
        return Boundary(stored=True, stop=stop)

    def finish(self, change: Transition) -> bool:
        """Change the status in one commit with its head and rows and the rows still owed; False when it no longer fits.

        Raises StoreFull, StoreBusy: nothing was written, and the rows owed are kept for another try.
        """
        owned = replace(change, epoch=self._epoch)
        with self._order:
            with self._database.write_raw() as cursor:
                done = set_status(cursor, self._run_id, owned, self._clock.now(), self._owed) is not None
            if done:
                self._owed, self._refused = [], False
        return done

    def _write(self, head: Head, batches: list[Timed]) -> Stop:
        at = batches[-1].at
        with self._database.write_raw() as cursor:
            after = writes.advance(cursor, self._run_id, batches, at, self._epoch)
            if after is None:
                self._lost(cursor)
            writes.write_rows(cursor, self._run_id, batches, after)
            writes.put_head(cursor, self._run_id, head, at)
        return after.stop

    def _lost(self, cursor: Cursor) -> NoReturn:
        if writes.owner_epoch(cursor, self._run_id) is None:
            raise absent_here(cursor, self._run_id)
        message = f"run {self._run_id} has another owner by now"
        raise OwnershipLost(message, "this attempt stops and writes nothing more")

    def _keep(self, batches: list[Timed], error: StoreFull | StoreBusy) -> Boundary:
        again, self._owed, self._refused = self._refused, batches, True
        _log.warning("run.boundary_refused", extra={"run_id": self._run_id, "error": error.message, "again": again})
        if again:
            raise error
        return Boundary(stored=False)
