"""``python -m engine.store.migrations`` makes ``head.sql`` anew after a change of a migration."""

from __future__ import annotations

import sqlite3

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from engine.store.migrations import snapshot, upgrade


def main() -> None:
    """Migrate an empty store in memory and write down what came out."""
    raw = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    with engine.begin() as connection:
        upgrade.to_head(connection)
    snapshot.SCRIPT.write_text(snapshot.dumped(raw))
    engine.dispose()


if __name__ == "__main__":
    main()
