"""The client of Forgejo, of its parts: ``forge.client.ForgeClient`` for one repository.

Made by the registry of connections; it refuses to start on anything but the guarded transport.
"""

from __future__ import annotations

from connectors.forge.client import Target, Traits
from connectors.forgejo.code_writes import CodeWrites
from connectors.forgejo.writes import IssueWrites
from connectors.limiter.limiter import Limiter
from connectors.transport.client import Transport, guarded

CREDENTIAL_PREFIX = "token "
"""What stands before a token in its header."""
HEADERS = {"accept": "application/json", "user-agent": "pointsman"}
"""What a transport to Forgejo sends with every request (``Parts.headers``)."""


class ForgejoClient(IssueWrites, CodeWrites):
    """Everything that can be asked and changed."""

    def __init__(self, transport: Transport, target: Target) -> None:
        """Raises ``Unsupported`` for a transport that is not guarded."""
        super().__init__(guarded(transport), target)

    @property
    def traits(self) -> Traits:
        """In what Forgejo differs."""
        return Traits(sets_assignees=True, refs_claim=False)

    @property
    def pace(self) -> Limiter:
        """The limiter of the credential."""
        return self._transport.pace

    def close(self) -> None:
        """Let go of idle connections."""
        self._transport.close()
