"""The newest schema as one script, ``head.sql``, so that a new store is made at once and without a migration library.

Called by ``schema.py`` for a store without tables. The script names the migrations that it was made from by their
digest; when they differ it is not used, and the migrations run. Made anew by
``python -m engine.store.migrations`` after any change of a migration; a test says when that was forgotten.
"""

from __future__ import annotations

import hashlib
import sqlite3
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = HERE / "head.sql"


@cache
def digest() -> str:
    """SHA-256 over the migrations of this build, in their order."""
    total = hashlib.sha256()
    for path in sorted((HERE / "versions").glob("[0-9]*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


def script() -> str:
    """The script when it was made from the present migrations, else nothing."""
    try:
        text = SCRIPT.read_text()
    except OSError:
        return ""
    return text if text.startswith(f"-- {digest()}\n") else ""


def dumped(connection: sqlite3.Connection) -> str:
    """The script that makes a store like this one, which was just migrated."""
    return "\n".join([f"-- {digest()}", *connection.iterdump(), ""])
