"""The store verbs are proved once, over each database: SQLite always, PostgreSQL wherever its server can be started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.clock import FakeClock

if TYPE_CHECKING:
    from engine.store.store import Store
    from tests.kit.postgres import Server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server of this session; skipped, and said aloud, where none can be started."""
    from tests.kit.postgres import Missing, running

    try:
        with running() as server:
            yield server
    except Missing as reason:
        pytest.skip(f"POSTGRESQL IS NOT TESTED: {reason}")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A store of its own, over each database in turn; ``@pytest.mark.sqlite`` where a test is about that one."""
    from engine.store.database import Database
    from engine.store.store import Store
    from tests.kit.runs import open_store

    if request.param == "sqlite":
        opened = open_store(tmp_path, clock)
    elif request.node.get_closest_marker("sqlite"):
        pytest.skip("about SQLite")
    else:
        url = request.getfixturevalue("postgres").fresh()
        opened = Store(Database.open(url), clock, tmp_path / ".pointsman")
    yield opened
    opened.database.close()
