"""The world that a fake forge starts with: a person, our bot's account with a token, a stranger, one repository.

The token's value is public on purpose: it opens nothing but a fake.
"""

from __future__ import annotations

from datetime import datetime

from connectors.fake_forge.git import Git, Push
from connectors.fake_forge.records import Kind, Label, Option, Project, ProjectField, Repo, Token, User, World

PERSON = "octo"
BOT = "pointsman-bot"
STRANGER = "passer-by"
REPO = "octo/demo"
OTHER_REPO = "octo/other"
TOKEN = "fake-forge-token-0123456789abcdef"  # noqa: S105 - opens nothing but a fake
COLUMNS = (
    "inbox",
    "backlog",
    "ready",
    "waiting_deps",
    "in_progress",
    "awaiting_input",
    "review",
    "blocked",
)
"""Labels of the repository, named like the default columns; ``done`` is usually the closed state."""
SCOPES = frozenset({"read", "issues", "contents", "pulls", "statuses", "actions", "project", "hooks"})
"""The rights that a token may have."""


def seeded(kind: Kind, now: datetime, git: Git) -> World:
    """A new world."""
    world = World(forge=kind)
    for login, form in ((PERSON, "User"), (BOT, "Bot" if kind is Kind.GITHUB else "User"), (STRANGER, "User")):
        world.users[login] = User.model_validate(
            {"id": world.new_id(), "login": login, "kind": form, "created_at": now}
        )
    world.tokens[TOKEN] = Token(value=TOKEN, login=BOT, scopes=set(SCOPES))
    for path in (REPO, OTHER_REPO):
        _repo(world, path, now, git)
    if kind is Kind.GITHUB:
        world.projects.append(_project(world))
    return world


def _repo(world: World, path: str, now: datetime, git: Git) -> None:
    repo = Repo(id=world.new_id(), path=path, created_at=now, updated_at=now)
    world.repos[path] = repo
    repo.rights = {PERSON: "admin", BOT: "write"}
    git.put(repo, Push("main", "README.md", b"# demo\n", "First commit", PERSON))
    for name in (*COLUMNS, "bug"):
        label = Label(id=world.new_id(), name=name)
        repo.labels[label.id] = label


def _project(world: World) -> Project:
    options = [Option(id=f"{world.new_id():08x}", name=name) for name in (*COLUMNS, "done")]
    field = ProjectField(id=f"PVTSSF_{world.new_id()}", name="Status", options=options)
    return Project(id=f"PVT_{world.new_id()}", owner=PERSON, number=1, title="Demo board", fields=[field])
