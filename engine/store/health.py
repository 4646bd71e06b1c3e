"""How a store is, without opening it for writing: what ``doctor`` shows (interface.md 5).

Makes no file and migrates nothing. It promises nothing about the moment after it looked.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from engine.store import schema, sqlite


@dataclass(frozen=True, slots=True)
class StoreLook:
    """What was seen. ``fault`` is empty when the store can be read; ``behind`` when a migration is due."""

    exists: bool
    revision: str = ""
    behind: bool = False
    newer: bool = False
    fault: str = ""


def look(url: str) -> StoreLook:
    """Look at the SQLite store of ``url``; raises InvalidSetting for a URL of another kind."""
    path = sqlite.path_of(url)
    if not path.exists():
        return StoreLook(exists=False)
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)
    except sqlite3.Error as error:
        return StoreLook(exists=True, fault=str(error))
    try:
        revision = schema.stored_revision(connection)
        verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return StoreLook(exists=True, fault=str(error))
    finally:
        connection.close()
    known = schema.revisions()
    return StoreLook(
        exists=True,
        revision=revision,
        behind=revision in ("", *known[:-1]),
        newer=bool(revision) and revision not in known,
        fault="" if verdict == "ok" else verdict,
    )


def locks_work(folder: Path) -> bool:
    """Whether files in ``folder`` can be locked: a lock on the folder itself is taken for a moment."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
