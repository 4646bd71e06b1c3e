"""How a store is, without opening it for writing: what ``doctor`` and ``db`` show (interface.md 5).

Makes no file and migrates nothing. It promises nothing about the moment after it looked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from engine.errors import StoreError
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
    """Look at the store of ``url``; raises InvalidSetting for an address that no build opens."""
    if not sqlite.path_of(url).exists():
        return StoreLook(exists=False)
    try:
        with looking(url) as connection:
            revision = revision_of(connection)
            faults = faults_of(connection, quick=True)
    except StoreError as error:
        return StoreLook(exists=True, fault=error.message)
    known = schema.revisions()
    return StoreLook(
        exists=True,
        revision=revision,
        behind=revision in ("", *known[:-1]),
        newer=bool(revision) and revision not in known,
        fault=faults[0] if faults else "",
    )


@contextmanager
def looking(url: str) -> Iterator[Connection]:
    """A connection that cannot write, to a store of any schema. Raises StoreUnreachable, StoreBusy."""
    engine = sqlite.looking_engine(sqlite.path_of(url))
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        ours = sqlite.translated(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        engine.dispose()


def revision_of(connection: Connection) -> str:
    """The revision of the store, empty for one without tables."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def faults_of(connection: Connection, *, quick: bool = False) -> tuple[str, ...]:
    """What the database finds wrong with its own file, in its words; nothing when it is whole."""
    said = connection.execute(text("PRAGMA quick_check(1)" if quick else "PRAGMA integrity_check")).scalars().all()
    return () if said == ["ok"] else tuple(map(str, said))


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
