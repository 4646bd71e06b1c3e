"""The fake and a client of it, for tests of what the clients of GitLab and Forgejo have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ForgeClient
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_clients import KINDS, client_of


@pytest.fixture(params=KINDS)
def forge(request: pytest.FixtureRequest) -> Iterator[FakeForge]:
    with fake(request.param) as running:
        yield running


@pytest.fixture
def client(forge: FakeForge) -> Iterator[ForgeClient]:
    """Its clock stands, so that waits between repeats pass at once and no deadline is met by a slow machine."""
    with client_of(forge, clock=FakeClock()) as made:
        yield made
