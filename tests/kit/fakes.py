"""The fake forge as tests use it: running, on a clock that stands, each exchange held against the published forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx

from connectors.fake_forge.running import FakeForge, Setup, running
from tests.kit.published import checker_of


@contextmanager
def fake(kind: str, setup: Setup | None = None) -> Iterator[FakeForge]:
    """A running fake forge. Fails at its end when an exchange was not as the forge publishes it."""
    checker = checker_of(kind)
    with running(kind, replace(setup or Setup(), observer=checker)) as forge:
        yield forge
    assert not checker.found, "\n".join(dict.fromkeys(checker.found))


class Caller:
    """A bare client of the fake, for tests of the fake itself."""

    def __init__(self, forge: FakeForge, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {forge.token if token is None else token}"}
        verify = str(forge.authority) if forge.authority else False
        self.http = httpx.Client(base_url=forge.url, headers=headers, trust_env=False, timeout=5, verify=verify)

    def __call__(self, method: str, path: str, json: Any = None, **more: Any) -> httpx.Response:
        return self.http.request(method, path, json=json, **more)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
