"""One dispatcher per store and per workspace root: two file locks (dispatcher.md 31).

The lock is the authority; its text is for people. A stale file, a reused pid or a killed owner never prevents a start.
Daemons of one shared store may have one workspace root, since only one of them leads a board at a time; those of
another store may not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from dispatcher.refusals import Refused
from engine.run import Owner
from engine.store.locks import FileLock

STORE_LOCK = "dispatcher.lock"
ROOT_LOCK = ".dispatcher.lock"
ROOT_HINT = "Let workspace.root name a folder that the daemon may write; under systemd: ${CACHE_DIRECTORY:-workspaces}"


class InstanceLocks:
    """Both locks, held from before the first tick until the process ends."""

    def __init__(self, store_dir: Path, workspace_root: Path, owner: Owner, since: str, shared_store: str = "") -> None:
        told: Mapping[str, object] = {**asdict(owner), "since": since, "store": shared_store}
        self._locks = (FileLock(store_dir / STORE_LOCK, told), FileLock(workspace_root / ROOT_LOCK, told))
        self._shared_store = shared_store

    def acquire(self) -> None:
        """Take both. Raises ``Refused``, naming the holder or the workspace root that cannot be used, and
        ``StoreError`` from the files of the store."""
        root = self._locks[-1].path.parent
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = f"The workspace root {root} cannot be made: {error.strerror}"
            raise Refused("store_unreachable", text, ROOT_HINT) from error
        if not os.access(root, os.W_OK):
            raise Refused("store_unreachable", f"The workspace root {root} cannot be written", ROOT_HINT)
        for lock in self._locks:
            if not self._taken(lock):
                text = f"another dispatcher holds {lock.path}: {lock.holder_text()}"
                self.release()
                raise Refused("instance_held", text, "Stop it first, or use another store and workspace root")

    def keep(self) -> bool:
        """Take a lock again whose file was removed or replaced; False when another process has it."""
        for lock in self._locks:
            if lock.taken and not lock.still_ours():
                lock.release()
                if not self._taken(lock):
                    return False
        return True

    def _taken(self, lock: FileLock) -> bool:
        """The root's lock is shared by the daemons of one shared store."""
        if not self._shared_store or lock is not self._locks[-1]:
            return lock.acquire()
        return lock.share() and lock.holder().get("store") == self._shared_store

    def release(self) -> None:
        """Give both up. Harmless when they are not held."""
        for lock in self._locks:
            lock.release()
