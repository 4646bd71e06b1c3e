"""The five fixtures of the house: clock, store, engine, board, script. No more."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.clock import FakeClock

if TYPE_CHECKING:
    from engine.store.store import Store
    from tests.kit.engine import Rig

# The processes that tests start keep what they compiled, as those of users do: else each compiles the product again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still until a test moves it."""
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A store of its own, on a real file."""
    from tests.kit.runs import open_store

    opened = open_store(tmp_path, clock)
    yield opened
    opened.database.close()


@pytest.fixture
def engine(store: Store, clock: FakeClock, tmp_path: Path) -> Rig:
    """An engine over that store, and the words that tests use for it."""
    from tests.kit.engine import Rig

    return Rig(store, clock, tmp_path)
