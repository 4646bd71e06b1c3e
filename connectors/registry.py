"""Which class serves which ``kind`` of board. Read by ``dispatcher/wiring.py``; classes load when asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from connectors.errors import Unsupported
from connectors.limiter.limiter import Limiter
from connectors.secrets import Secret

if TYPE_CHECKING:
    from connectors.forge.client import ForgeClient
    from connectors.transport.client import Credential, Parts
    from connectors.transport.exchanging import Setting

CONNECTORS: Mapping[str, str] = MappingProxyType(
    {
        "native": "connectors.native.board:NativeBoard",
        "memory": "connectors.memory.board:MemoryBoard",
    }
)
"""kind -> module and class of boards that live with us."""
CLIENTS: Mapping[str, str] = MappingProxyType(
    {
        "github": "connectors.github.connector:GitHubClient",
        "gitlab": "connectors.gitlab.client:GitLabClient",
        "forgejo": "connectors.forgejo.client:ForgejoClient",
    }
)
"""kind -> module and class of the client of a forge; the board over each is ``connectors.forge.board:LabelBoard``."""

APPS: Mapping[str, str] = MappingProxyType({"github": "connectors.github.app"})
"""kind -> module that makes the credential of an app."""
BY_STATUS: Mapping[str, str] = MappingProxyType({"github": "connectors.github.statuses:StatusClient"})
"""kind -> module and class of the client for a board whose columns are the statuses of a project."""


def connector_class(kind: str) -> type:
    """The class of a kind. Raises ``Unsupported``."""
    return _class(CONNECTORS, kind)


def client_class(kind: str) -> type:
    """The class of a forge's client. Raises ``Unsupported``."""
    return _class(CLIENTS, kind)


def client_headers(kind: str) -> Mapping[str, str]:
    """What is sent to that forge with every request. Raises ``Unsupported``."""
    module = import_module(client_class(kind).__module__)
    headers: Mapping[str, str] = getattr(module, "HEADERS", {})
    return headers


@dataclass(frozen=True, slots=True)
class AppIdentity:
    """An app and where it is installed."""

    app_id: int
    installation: int
    key: Secret


def app_credential(kind: str, app: AppIdentity, setting: Setting, limiter: Limiter, parts: Parts) -> Credential:
    """The credential of an app's installation. Raises ``Unsupported`` for a forge that has no apps."""
    if kind not in APPS:
        raise Unsupported(f"{kind} has no apps.", "Give the connection a `token`.")
    made: Credential = import_module(APPS[kind]).credential_of(app, setting, limiter, parts)
    return made


def client_by_status(client: ForgeClient, mapped: Collection[str]) -> ForgeClient:
    """The client of a board whose columns are these statuses. Raises ``Unsupported`` where there are none."""
    if client.kind not in BY_STATUS:
        raise Unsupported(f"{client.kind} has no project statuses.", "Map the columns by `label`.")
    seen: Any = _class(BY_STATUS, client.kind)
    made: ForgeClient = seen.over(client, mapped)
    return made


def _class(places: Mapping[str, str], kind: str) -> type:
    place = places.get(kind)
    if place is None:
        known = ", ".join((*CONNECTORS, *CLIENTS))
        raise Unsupported(f'There is no connector of kind "{kind}".', f"This build has: {known}.")
    module, name = place.split(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, type)
    return found
