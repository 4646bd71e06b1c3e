"""Which rights a connection needs by its configuration, and whether its token has them (connectors.md 22). Pure but for
the one read that shows whether a project can be reached.

A right is held when the account has it in the repository and, where the token tells its scopes, a scope covers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from config.boards import BoardSettings
from connectors.errand import Errand, Purpose
from connectors.errors import ConnectorError
from connectors.forge.client import ForgeClient, ProjectClient
from connectors.forge.records import Account, Repository, Right

if TYPE_CHECKING:
    from config.settings import Settings
    from dispatcher.forges import Connected


class Task(StrEnum):
    """What a board does on its forge."""

    READ = "read"
    LABEL = "label"
    COMMENT = "comment"
    CLOSE = "close"
    CONTENTS = "contents"
    PROJECT = "project"


PURPOSES: Mapping[Task, str] = {
    Task.READ: "to see cards",
    Task.LABEL: "to move cards between columns",
    Task.COMMENT: "to say what became of a card",
    Task.CLOSE: "to move cards into a column that is the closed state",
    Task.CONTENTS: "to claim cards by refs",
    Task.PROJECT: "to move cards between the statuses of the project",
}
"""What each is for."""
ROLES: Mapping[Task, Right] = {
    Task.READ: Right.READ,
    Task.LABEL: Right.TRIAGE,
    Task.COMMENT: Right.READ,
    Task.CLOSE: Right.TRIAGE,
    Task.CONTENTS: Right.WRITE,
    Task.PROJECT: Right.READ,
}
"""The least right of the account in the repository."""
SCOPES: Mapping[str, Mapping[Task, tuple[str, ...]]] = {
    "github": {
        **dict.fromkeys((Task.LABEL, Task.COMMENT, Task.CLOSE, Task.CONTENTS), ("repo", "public_repo")),
        Task.PROJECT: ("project",),
    },
    "gitlab": {
        Task.READ: ("api", "read_api"),
        **dict.fromkeys((Task.LABEL, Task.COMMENT, Task.CLOSE, Task.CONTENTS), ("api",)),
    },
    "forgejo": {},
}
"""Forge -> the scopes of which a token that tells its scopes must have one."""
FINE: Mapping[str, Mapping[Task, str]] = {
    "github": {
        **dict.fromkeys((Task.LABEL, Task.COMMENT, Task.CLOSE), "the permission Issues: read and write"),
        Task.CONTENTS: "the permission Contents: read and write",
        Task.PROJECT: "the scope `project` of a classic token; fine-grained ones may not reach projects of users",
    },
    "gitlab": {},
    "forgejo": dict.fromkeys((Task.LABEL, Task.COMMENT, Task.CLOSE), "the scope write:issue"),
}
"""Forge -> what else gives the right, where scopes are not told."""


@dataclass(frozen=True, slots=True)
class Need:
    """One right that the configuration needs."""

    right: Task

    @property
    def purpose(self) -> str:
        """What it is for."""
        return PURPOSES[self.right]

    def remedy(self, kind: str) -> str:
        """How the right is given."""
        scopes = " or ".join(SCOPES[kind].get(self.right, ()))
        given = FINE[kind].get(self.right, "") or (f"the scope {scopes}" if scopes else "")
        also = f"the scope {scopes}, or {given}" if scopes and scopes not in given else given
        role = f"the role that may {ROLES[self.right].value} in the repository"
        return f"Give the account {role}, and the token {also}." if also else f"Give the account {role}."


def needs(settings: Settings, given: Connected) -> Iterator[Need]:
    """What a board needs by its configuration; of another connection only that it can be read is known."""
    yield Need(Task.READ)
    if not isinstance(given, BoardSettings):
        return
    places = given.columns.values()
    if any(place.label for place in places) or given.claim_label:
        yield Need(Task.LABEL)
    yield Need(Task.COMMENT)
    if any(place.closed is not None for place in places):
        yield Need(Task.CLOSE)
    if given.shared and settings.claims.arbitration == "ref":
        yield Need(Task.CONTENTS)
    if given.project is not None:
        yield Need(Task.PROJECT)


def judged(need: Need, client: ForgeClient, account: Account, repository: Repository) -> str:
    """Why the right is missing, as far as reading shows; empty when it is held."""
    task = need.right
    if task is not Task.READ and repository.archived:
        return "the repository is archived, nothing can be written"
    if task in (Task.LABEL, Task.COMMENT, Task.CLOSE) and not repository.has_issues:
        return "issues are switched off"
    role = ROLES[task]
    if repository.rights is not None and role not in repository.rights:
        return f"{account.login} may not {role.value} in the repository"
    scopes = SCOPES[client.kind].get(task, ())
    if account.rights is not None and scopes and not {*scopes} & {*account.rights}:
        return f"the token has none of the scopes {', '.join(scopes)}"
    return _project_fault(client) if task is Task.PROJECT else ""


def unwritable(repository: Repository) -> str:
    """What to do about a repository in which no token could write; empty for any other."""
    if repository.archived:
        return "Take it out of the archive, or take the board out of the configuration."
    return "" if repository.has_issues else "Switch issues on in the settings of the repository."


def _project_fault(client: ForgeClient) -> str:
    try:
        cast("ProjectClient", client).project_field(Errand(Purpose.DOCTOR))
    except ConnectorError as error:
        return f"the project cannot be reached: {error.message}"
    return ""
