"""Where the repository of a board is by now, and why it cannot be read (connectors.md 12, 14).

Used by ``board_reading``, whose reads it is told of, and by ``board``, which changes nothing in a repository that lives
elsewhere until the configuration says so. It decides nothing about cards.
"""

from __future__ import annotations

from connectors.errand import Errand, Purpose
from connectors.errors import ForgeError, ForgeRefused
from connectors.forge.client import ForgeClient
from connectors.forge.records import Missing

ABSENT = frozenset({403, 404, 410})
"""Refusals of a list behind which the repository itself is looked at."""
FORBIDDEN = 403
WATCHING = Errand(Purpose.WATCH)


class Whereabouts:
    """The place of one board's repository. Safe to share between threads."""

    def __init__(self, client: ForgeClient) -> None:
        self._client = client
        self.elsewhere = ""
        """Where the last list was answered from, when that is for good another place."""

    def note(self, moved_to: str) -> None:
        """A list was read from there, empty for the usual place."""
        if not moved_to:
            self.elsewhere = ""
        elif not self.elsewhere:
            self.elsewhere = self._name() or moved_to

    def closed(self) -> str:
        """Why nothing is written there, empty when something may be."""
        return f"the repository moved to {self.elsewhere}" if self.elsewhere else ""

    def fault(self) -> str:
        """Why an absence proves nothing: the repository itself is not there, or has no issues; empty when it is."""
        try:
            found = self._client.repository(WATCHING)
        except ForgeRefused as error:
            if error.status == FORBIDDEN:  # the list and the repository itself: that is the credential's matter
                self._client.pace.refused(FORBIDDEN)
            return error.message
        except ForgeError as error:
            return error.message
        if isinstance(found, Missing):
            return f"the repository is not there{f': moved to {found.moved_to}' if found.moved_to else ''}"
        return "" if found.has_issues else "issues are switched off"

    def explained(self, error: ForgeRefused) -> ForgeRefused:
        """The refusal of a list, with what is the matter with the repository where that is known."""
        why = self.fault() if error.status in ABSENT else ""
        if not why or why == error.message:
            return error
        hint = "look at the repository, and at boards[].repo; pointsman doctor shows what the token may see"
        return ForgeRefused(f"{why} ({error.message})", error.hint or hint, evidence=error.evidence)

    def _name(self) -> str:
        """The repository's present name, empty when it cannot be read."""
        try:
            found = self._client.repository(WATCHING)
        except ForgeError:
            return ""
        return found.moved_to
