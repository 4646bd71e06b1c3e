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

from sqlalchemy import Connection

from engine.errors import StoreError
from engine.store import schema
from engine.store.drivers import Driver, driver_of


@dataclass(frozen=True, slots=True)
class StoreLook:
    """What was seen. ``fault`` is empty when the store can be read; ``behind`` when a migration is due."""

    exists: bool
    revision: str = ""
    behind: bool = False
    newer: bool = False
    fault: str = ""


def look(url: str) -> StoreLook:
    """Look at the store of ``url``; raises InvalidSetting for an address that this build cannot open."""
    if not driver_of(url).exists():
        return StoreLook(exists=False)
    try:
        with looking(url) as seen:
            revision, faults = seen.revision, seen.faults(quick=True)
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


class Seen:
    """An open look at a store."""

    def __init__(self, driver: Driver, connection: Connection) -> None:
        self._driver = driver
        self.connection = connection

    @property
    def revision(self) -> str:
        """The revision of the store, empty for one without tables."""
        return self._driver.stored_revision(self.connection.connection.dbapi_connection)

    def faults(self, *, quick: bool = False) -> tuple[str, ...]:
        """What the database finds wrong with its own files, in its words; nothing when they are whole."""
        return self._driver.faults(self.connection, quick=quick)


@contextmanager
def looking(url: str) -> Iterator[Seen]:
    """A connection that cannot write, to a store of any schema. Raises InvalidSetting, StoreUnreachable, StoreBusy."""
    driver = driver_of(url)
    engine = driver.looking_engine()
    try:
        with engine.connect() as connection:
            yield Seen(driver, connection)
    except driver.errors as error:
        ours = driver.translated(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        engine.dispose()


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
