"""Which schema a store has, which one this build wants, and the way up.

Called by ``database.py`` while a store is opened. The usual case, a store that is already at the newest revision, is
one SELECT and imports no migration library. There is no way down: a newer store is refused (engine.md 2.3).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection

from engine.errors import SchemaNewer
from engine.store.drivers import Driver
from engine.store.migrations import snapshot

MIGRATIONS = Path(__file__).parent / "migrations"


@cache
def revisions() -> tuple[str, ...]:
    """The revisions of this build, oldest first: the numbers that begin the names in ``migrations/versions``."""
    names = sorted(path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return tuple(name.split("_", 1)[0] for name in names)


def is_current(stored: str) -> bool:
    """Whether nothing is to be done. Raises SchemaNewer for a revision that this build does not know."""
    if stored and stored not in revisions():
        message = f"the store has schema {stored}, this build knows up to {revisions()[-1]}"
        raise SchemaNewer(message, "use the newer version of pointsman that wrote it; nothing was changed")
    return stored == revisions()[-1]


class Opened(Protocol):
    """What a migration needs of a store that is being opened."""

    @property
    def driver(self) -> Driver:
        """The database's own ways."""
        ...

    def exclusive(self) -> AbstractContextManager[Any]:
        """The driver's connection, alone and outside a transaction."""
        ...

    def write(self) -> AbstractContextManager[Connection]:
        """One commit."""
        ...


def bring_up(database: Opened) -> None:
    """Migrate to the newest revision, one process at a time; the others wait as long as the store is patient."""
    driver = database.driver
    with driver.migrating():
        with database.exclusive() as raw:
            stored = driver.stored_revision(raw)
            driver.make_ready(raw)
            if is_current(stored) or driver.made_from(raw, snapshot.script()):
                return
        from engine.store.migrations import upgrade

        with database.write() as connection:
            if not is_current(driver.stored_revision(connection.connection.dbapi_connection)):
                upgrade.to_head(connection)
