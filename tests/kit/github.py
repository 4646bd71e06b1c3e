"""A client of GitHub as tests use it: over the real transport, against the fake or a raw peer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from connectors.errand import Errand, Purpose
from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ProjectTarget, Target
from connectors.github.connector import HEADERS, GitHubClient
from connectors.transport.validators import MemoryValidators
from tests.kit.wire import Link

READ = Errand(Purpose.WATCH)
WRITE = Errand(Purpose.ACTION, effect_id="e1")
PROJECT = ProjectTarget("octo", 1)


def client_at(url: str, repo: str = "octo/demo", **more: Any) -> GitHubClient:
    """A client of a repository at an address; what is more goes to the transport."""
    project, app = more.pop("project", None), more.pop("app", None)
    link = Link(url, kind="github", headers=HEADERS, **{"validators": MemoryValidators(), **more})
    return GitHubClient(link.transport, Target(repo, project=project), url=url, app=app)


@contextmanager
def github(forge: FakeForge, **more: Any) -> Iterator[GitHubClient]:
    """A client of the fake."""
    client = client_at(forge.url, **{"token": forge.token, **more})
    try:
        yield client
    finally:
        client.close()
