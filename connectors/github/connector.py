"""The client of GitHub, of its parts: ``forge.client.ProjectClient`` for one repository and, perhaps, one project.

Made by the registry of connections with ``connected``; it refuses to start on anything but the guarded transport.
"""

from __future__ import annotations

from connectors.forge.client import Target, Traits
from connectors.github.app import AppCredential
from connectors.github.claim_refs import ClaimRefs
from connectors.github.client import API_VERSION, PUBLIC, USER_AGENT, Library
from connectors.github.code_writes import CodeWrites
from connectors.github.projects import Projects
from connectors.github.writes import IssueWrites
from connectors.limiter.limiter import Limiter
from connectors.transport.client import Transport, guarded

HEADERS = {
    "accept": "application/vnd.github+json",
    "user-agent": USER_AGENT,
    "x-github-api-version": API_VERSION,
}
"""What a transport to GitHub sends with every request (``Parts.headers``)."""


class GitHubClient(Projects, IssueWrites, CodeWrites, ClaimRefs):
    """Everything that can be asked and changed."""

    def __init__(
        self, transport: Transport, target: Target, *, url: str = PUBLIC, app: AppCredential | None = None
    ) -> None:
        """``url`` is the interface's base address, as the transport has it. Raises ``Unsupported`` for a transport
        that is not guarded."""
        super().__init__(guarded(transport), Library(transport, url, target.repo), target, app)
        self.transport, self.target, self.url, self.app = transport, target, url, app

    @property
    def traits(self) -> Traits:
        """In what GitHub differs."""
        return Traits(
            folds_case=True,
            makes_labels=True,
            projects=self._target.project is not None,
        )

    @property
    def pace(self) -> Limiter:
        """The limiter of the credential."""
        return self._transport.pace

    def close(self) -> None:
        """Let go of the library and of idle connections."""
        self._library.close()
        self._transport.close()
        if self.app is not None:
            self.app.close()
