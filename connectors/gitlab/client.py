"""The client of GitLab, of its parts: ``forge.client.ForgeClient`` for one project.

Made by the registry of connections; it refuses to start on anything but the guarded transport.
"""

from __future__ import annotations

from connectors.forge.client import Target, Traits
from connectors.gitlab.code_writes import CodeWrites
from connectors.gitlab.reads import CHUNK
from connectors.gitlab.writes import IssueWrites
from connectors.limiter.limiter import Limiter
from connectors.transport.client import Transport, guarded

PUBLIC = "https://gitlab.com"
"""The address of the public one; the interface lies below ``/api/v4`` of any."""
CREDENTIAL_HEADER = "private-token"
"""Where a token goes."""
HEADERS = {"accept": "application/json", "user-agent": "pointsman"}
"""What a transport to GitLab sends with every request (``Parts.headers``)."""


class GitLabClient(IssueWrites, CodeWrites):
    """Everything that can be asked and changed."""

    def __init__(self, transport: Transport, target: Target) -> None:
        """Raises ``Unsupported`` for a transport that is not guarded."""
        super().__init__(guarded(transport), target)

    @property
    def traits(self) -> Traits:
        """In what GitLab differs."""
        return Traits(chunk=CHUNK, swaps=True, sets_assignees=True, makes_labels=True, refs_claim=False)

    @property
    def pace(self) -> Limiter:
        """The limiter of the credential."""
        return self._transport.pace

    def close(self) -> None:
        """Let go of idle connections."""
        self._transport.close()
