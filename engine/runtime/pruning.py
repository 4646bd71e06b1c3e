"""Pruning the content pool: what no boundary of any run names any more is removed (engine.md 8.5).

Called behind the deletion of a run, once an hour at most. Every boundary is read first; when one cannot be read,
nothing is removed.
"""

from __future__ import annotations

from engine.errors import StoreError
from engine.runtime.runlog import LOGGER
from engine.store.store import Store
from engine.workspace.pool import Pool
from engine.workspace.tracker import UNRECORDED

EVERY = 3600.0
"""Seconds between two prunings."""


def prune_pool(store: Store, every: float = EVERY) -> int:
    """Remove what nothing names; how many objects went. It may fail without harm, and is logged then."""
    pool = Pool(store.root)
    try:
        return pool.prune(lambda: _wanted(store, pool), every)
    except (OSError, StoreError) as problem:
        LOGGER.warning("the pool of workspace contents was not pruned: %s", problem)
        return 0


def _wanted(store: Store, pool: Pool) -> set[str] | None:
    hashes, lists = store.marks.kept_content()
    wanted = {*hashes, *lists}
    for name in lists - {UNRECORDED}:
        listed = pool.get_list(name)
        if listed is None:
            LOGGER.warning("the files of a boundary cannot be read (%s); nothing is pruned", name[:12])
            return None
        wanted |= {each.hash for each in listed.values()}
    return wanted
