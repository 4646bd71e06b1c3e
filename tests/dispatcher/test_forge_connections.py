"""Connections of the configuration become clients: by token, by app, with what the forge wants and one limiter each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from config.settings import Settings
from connectors.errors import Unsupported
from connectors.fake_forge.running import FakeForge, Setup
from connectors.limiter.state import MemoryLimiterStore
from connectors.observer import Silent
from dispatcher.forges import Forges, World
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.github import READ

PEM = (
    rsa.generate_private_key(public_exponent=65537, key_size=2048)
    .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    .decode()
)


@contextmanager
def forges(*connections: dict[str, Any]) -> Iterator[Forges]:
    named = {f"c{index}": each for index, each in enumerate(connections)}
    clock = FakeClock(datetime.now().astimezone())
    found = Forges(Settings.model_validate({"connections": named}), World(clock, MemoryLimiterStore(), Silent()))
    try:
        yield found
    finally:
        found.close()


def at(forge: FakeForge, **more: Any) -> dict[str, Any]:
    return {"kind": forge.kind, "url": forge.url, "repo": forge.repo, "allow_private": True, **more}


@pytest.mark.parametrize("kind", ["github", "gitlab", "forgejo"])
def test_a_token_is_sent_as_the_forge_wants_it(kind: str) -> None:
    with fake(kind) as forge, forges(at(forge, token=forge.token)) as known:
        assert known.client("c0").whoami(READ).login == "pointsman-bot"
        assert known.world.redactor.clean(f"the token {forge.token}") == "the token ***"


def test_an_app_signs_as_its_bot_and_its_key_stands_nowhere() -> None:
    """C142."""
    clock = FakeClock(datetime.now().astimezone())
    app = {"id": 7, "installation": 11, "key": PEM}
    with fake("github", Setup(clock=clock)) as forge, forges(at(forge, app=app)) as known:
        client = known.client("c0")
        assert client.whoami(READ).login == "pointsman-bot[bot]"
        assert forge.requests(operation="app.token") == []
        client.repository(READ)
        assert len(forge.requests(operation="app.token")) == 1
        assert known.world.redactor.clean(PEM).strip() == "***"


def test_a_forge_without_apps_refuses_one() -> None:
    app = {"id": 7, "installation": 11, "key": PEM}
    with fake("forgejo") as forge, forges(at(forge, app=app)) as known, pytest.raises(Unsupported, match="no apps"):
        known.client("c0")


def test_two_connections_with_one_token_share_their_limiter() -> None:
    """C113."""
    with fake("github") as forge:
        mine = at(forge, token=forge.token)
        with forges(mine, {**mine, "repo": "octo/other"}, at(forge, token="another-token-of-ours")) as known:
            one, two, three = (known.client(f"c{index}").pace for index in range(3))
            assert one is two
            assert one is not three
