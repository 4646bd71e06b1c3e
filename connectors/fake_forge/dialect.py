"""What differs between the forges: their routes, credentials, errors, limits and webhooks.

Implemented by ``github.dialect``, ``gitlab.dialect`` and ``forgejo.dialect``; the desk asks, and knows none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from connectors.fake_forge.exchange import Answer, Json, Request, Route
from connectors.fake_forge.happening import Happening
from connectors.fake_forge.records import Hook, Kind, Limit, Repo

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk


class Dialect(Protocol):
    """One kind of forge."""

    kind: Kind
    quirks: frozenset[str]
    """Label behaviours that this forge has by itself; a scripted quirk replaces them."""
    validators: bool
    """Whether reads carry an ``ETag`` and answer 304."""

    @property
    def routes(self) -> Sequence[Route]:
        """Every address that answers, the first that matches wins."""
        ...

    def path_of(self, request: Request) -> str:
        """The path below the API's root; other paths as they are."""
        ...

    def credential(self, request: Request) -> str:
        """The token that the request carries, or nothing."""
        ...

    def refusal(self, status: int, message: str, more: Mapping[str, Json]) -> Answer:
        """An error document."""
        ...

    def archived(self, repo: Repo) -> None:
        """Raises the ``Refusal`` of a write to an archived repository."""
        ...

    def throttled(self, fault: str, seconds: float, now: datetime) -> Answer:
        """The answer of a scripted or a real limit."""
        ...

    def limit_headers(self, limit: Limit, resource: str) -> dict[str, str]:
        """What an answer tells about the budget."""
        ...

    def hook_payload(self, desk: Desk, happening: Happening) -> dict[str, Json] | None:
        """The document of a delivery, None when this forge tells nothing of it."""
        ...

    def ping_payload(self, desk: Desk, repo: Repo, hook: Hook) -> dict[str, Json] | None:
        """The document of a new hook's first delivery."""
        ...

    def with_action(self, document: dict[str, Json], action: str) -> dict[str, Json]:
        """The document with another action in it."""
        ...

    def hook_headers(self, hook: Hook, event: str, guid: str, body: bytes, now: datetime) -> dict[str, str]:
        """Signature, delivery id and event name."""
        ...

    def spoil_signature(self, headers: dict[str, str]) -> dict[str, str]:
        """The same headers with a signature that does not hold."""
        ...
