"""Which schema a store has, which one this build wants, and the way up.

Called by ``database.py`` while a store is opened. The usual case, a store that is already at the newest revision, is
one SELECT and imports no migration library. There is no way down: a newer store is refused (engine.md 2.3).
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import SchemaNewer, StoreBusy
from engine.store import sqlite
from engine.store.locks import FileLock
from engine.store.migrations import snapshot

if TYPE_CHECKING:
    from engine.store.database import Database

MIGRATIONS = Path(__file__).parent / "migrations"


@cache
def revisions() -> tuple[str, ...]:
    """The revisions of this build, oldest first: the numbers that begin the names in ``migrations/versions``."""
    names = sorted(path.stem for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return tuple(name.split("_", 1)[0] for name in names)


def stored_revision(connection: sqlite3.Connection) -> str:
    """The revision of the store, empty for one without tables."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
    return str(row[0]) if row else ""


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether nothing is to be done. Raises SchemaNewer for a revision that this build does not know."""
    stored = stored_revision(connection)
    if stored and stored not in revisions():
        message = f"the store has schema {stored}, this build knows up to {revisions()[-1]}"
        raise SchemaNewer(message, "use the newer version of pointsman that wrote it; nothing was changed")
    return stored == revisions()[-1]


def bring_up(database: Database, path: Path, patience: float) -> None:
    """Migrate to the newest revision, one process at a time; the others wait up to ``patience`` seconds."""
    lock = FileLock(path.with_name(path.name + ".migrate"), {"doing": "migrating the store"})
    if not lock.acquire(patience):
        raise StoreBusy(f"the store is being migrated by {lock.holder_text()}", "wait until it has ended")
    try:
        _migrate(database)
    finally:
        lock.release()


def _migrate(database: Database) -> None:
    with database.exclusive() as raw:
        sqlite.use_wal(raw)
        if is_current(raw) or _made_at_once(raw):
            return
    from engine.store.migrations import upgrade

    with database.write() as connection:
        upgrade.to_head(connection)


def _made_at_once(raw: sqlite3.Connection) -> bool:
    """Make the tables of an empty store from the snapshot, all or none; False with tables there, or no snapshot."""
    script = snapshot.script()
    if not script or raw.execute("SELECT 1 FROM sqlite_master").fetchone():
        return False
    try:
        raw.executescript(script)
    finally:
        if raw.in_transaction:
            raw.rollback()
    return True
