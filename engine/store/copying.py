"""A backup of the database while everything runs: one consistent moment, in a private file of its own.

Called by ``pointsman db backup``. It copies rows, not the files of runs beside the database. To restore one, stop every
process of the store and put the copy in the database's place.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from engine.errors import BadInput, Refusal, StoreFull
from engine.store import sqlite
from engine.store.drivers import POSTGRES

_TAKEN = "name another file; a backup never replaces one"


def backup(url: str, target: Path) -> int:
    """Copy the store of ``url`` to ``target`` (0600), whole or not at all; its size in bytes.

    Raises Refusal when ``target`` exists, BadInput when it cannot be made, StoreFull, StoreUnreachable, StoreBusy.
    """
    if url.startswith(POSTGRES):
        raise BadInput("a PostgreSQL store is not copied into a file", "use pg_dump, it is consistent while all runs")
    path = sqlite.path_of(url)
    if os.path.lexists(target):
        raise Refusal(f"{target} exists", _TAKEN)
    partial = target.with_name(target.name + ".part")
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise Refusal(f"{partial} exists", "another backup is being made, or one was interrupted: remove it") from error
    except OSError as error:
        raise BadInput(f"{target} cannot be made: {error.strerror}", "choose a folder that can be written") from error
    try:
        _fill(path, partial)
        os.link(partial, target)
    except FileExistsError as error:
        raise Refusal(f"{target} exists", _TAKEN) from error
    except OSError as error:
        raise StoreFull(f"{target} cannot be written: {error.strerror}", "free some space, then try again") from error
    except sqlite3.Error as error:
        ours = sqlite.translated(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        partial.unlink(missing_ok=True)
    flush(target.parent)
    return target.stat().st_size


def _fill(path: Path, partial: Path) -> None:
    sqlite.copy_to(path, partial)
    flush(partial)


def flush(path: Path) -> None:
    """Have the file or folder on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
