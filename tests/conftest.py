"""The five fixtures of the house: clock, store, engine, board, script. No more."""

from __future__ import annotations

import pytest

from tests.kit.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still until a test moves it."""
    return FakeClock()
