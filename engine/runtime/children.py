"""Pointers from the nodes of a run to the child runs that they started, kept on the parent's row (engine.md 9.6).

One per attempt, used by ``subbot`` and settled by ``writing`` behind the commit that stored a child's output.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from engine.errors import StoreBusy, StoreFull
from engine.store.store import Store

_log = logging.getLogger(__name__)


class Children:
    """The pointers from the nodes of one run to the child runs that they started."""

    def __init__(self, store: Store, run_id: str, known: Mapping[str, str]) -> None:
        self._store = store
        self._run_id = run_id
        self._lock = threading.Lock()
        self._pointers = dict(known)
        self._taken: set[str] = set()

    def of(self, key: str) -> str:
        """The child that was started under the key, empty for none."""
        return self._pointers.get(key, "")

    def point(self, key: str, child: str) -> None:
        """Store the pointer; the child starts after that."""
        with self._lock:
            self._pointers[key] = child
            self._store.runs.set_children(self._run_id, self._pointers)

    def taken(self, key: str) -> None:
        """The child's output is on its way into the parent's next commit."""
        self._taken.add(key)

    def settle(self) -> None:
        """That commit is stored: the pointers are not needed any more.

        A store that refuses to clear them is no reason to stop: they do no harm, and the next commit tries again.
        """
        if not self._taken:
            return
        with self._lock:
            left = {key: child for key, child in self._pointers.items() if key not in self._taken}
            try:
                self._store.runs.set_children(self._run_id, left)
            except (StoreFull, StoreBusy) as refused:
                _log.warning("run.pointers_kept", extra={"run_id": self._run_id, "error": refused.message})
                return
            self._pointers, self._taken = left, set()
