"""Something that happened to a card, between the deeds that do it and the hooks that tell it."""

from __future__ import annotations

from dataclasses import dataclass

from connectors.fake_forge.records import Issue, Repo


@dataclass(frozen=True, slots=True)
class Happening:
    """What the hooks are told: which card of which repository, the event with its action, and who did it."""

    repo: Repo
    issue: Issue
    event: str
    action: str
    login: str
