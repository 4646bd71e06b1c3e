"""Clients of GitLab and Forgejo as tests use them: over the real transport, against the fake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from connectors.errand import Errand, Purpose
from connectors.fake_forge.running import FakeForge
from connectors.forge.client import ForgeClient, Target
from connectors.forgejo import client as forgejo
from connectors.gitlab import client as gitlab
from connectors.secrets import Secret
from connectors.transport.client import TokenCredential
from tests.kit.wire import Link

READ = Errand(Purpose.WATCH)
WRITE = Errand(Purpose.ACTION, effect_id="e1")
KINDS = ("gitlab", "forgejo")


def client_at(kind: str, url: str, token: str, repo: str = "octo/demo", **more: Any) -> ForgeClient:
    """A client of a repository at an address. ``dressed`` makes another credential of its own; what is more goes to the
    transport."""
    dressed = more.pop("dressed", lambda credential: credential)
    if kind == "gitlab":
        credential = dressed(TokenCredential(Secret(token), gitlab.CREDENTIAL_HEADER, ""))
        link = Link(url, kind=kind, headers=gitlab.HEADERS, credential=credential, token=token, **more)
        return gitlab.GitLabClient(link.transport, Target(repo))
    credential = dressed(TokenCredential(Secret(token), prefix=forgejo.CREDENTIAL_PREFIX))
    link = Link(url, kind=kind, headers=forgejo.HEADERS, credential=credential, token=token, **more)
    return forgejo.ForgejoClient(link.transport, Target(repo))


@contextmanager
def client_of(forge: FakeForge, **more: Any) -> Iterator[Any]:
    """A client of the fake."""
    client: Any = client_at(forge.kind, forge.url, forge.token, **more)
    try:
        yield client
    finally:
        client.close()
