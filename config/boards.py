"""The settings of boards and connections (interface.md 7, dispatcher.md 36, connectors.md 25).

A board is a connection too; both share ``ForgeSettings``. Read through ``config.settings``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from config.durations import Seconds
from config.hours import WorkingHours
from config.templates import field_references, unknown_references

Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
ForgeKind = Literal["github", "gitlab", "forgejo"]
BoardKind = Literal["native", "github", "gitlab", "forgejo"]
CommentOn = Literal["parked", "gave_up", "failed", "finished", "started"]

_NEEDS_URL = ("forgejo",)


LEAST_SECRET = 8
"""Fewest characters of a forge's token, key or webhook secret."""


class Section(BaseModel):
    """What every part of the settings has in common: frozen, no unknown key."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _long_enough(secret: SecretStr) -> SecretStr:
    """Shorter ones cannot be taken out of texts without damage, and no forge issues any (connectors.md 17)."""
    if len(secret.get_secret_value()) < LEAST_SECRET:
        raise ValueError(f"a secret has at least {LEAST_SECRET} characters; this one has fewer")
    return secret


ForgeSecret = Annotated[SecretStr, AfterValidator(_long_enough)]


def _address(url: str) -> str:
    """An address that a connection can be made to; who is let in stands in ``token``."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("it is an address like https://git.example.org")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("it is an address alone: without user, query or fragment")
    return url


def _repository(repo: str) -> str:
    """The place on the forge, which becomes part of addresses."""
    parts = repo.split("/")
    if len(parts) < 2 or not all(re.fullmatch(r"[\w.-]+", part) and part.strip(".") for part in parts):
        raise ValueError("it is the path of a repository on its forge, like octo/web")
    return repo


Address = Annotated[str, AfterValidator(_address)]
Repository = Annotated[str, AfterValidator(_repository)]


class AppSettings(Section):
    """An app of the forge instead of a token."""

    id: int
    installation: int
    key: ForgeSecret


class ProjectSettings(Section):
    """A project board of the forge whose status field holds the columns."""

    owner: str
    number: int = Field(gt=0)
    field: str = "Status"


class ColumnMapping(Section):
    """How a column shows on a forge: exactly one of a label, a project status, or closed."""

    label: str | None = None
    status: str | None = None
    closed: bool | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(value is not None for value in (self.label, self.status, self.closed)) != 1:
            raise ValueError("a column is mapped by exactly one of label, status, closed")
        return self


class TrustSettings(Section):
    """Who may make a card start, and whether a later edit of its text holds it (dispatcher.md 20)."""

    who: Literal["write", "anyone"] | tuple[str, ...] = "write"
    pin_body: bool = True


class ForgeSettings(Section):
    """How a forge is reached. Secrets are references (``$NAME``), never the value."""

    url: Address | None = None
    repo: Repository | None = None
    token: ForgeSecret | None = None
    app: AppSettings | None = None
    allow_private: bool | tuple[str, ...] = False
    proxy: str | None = None
    max_pages: int = Field(default=100, gt=0)
    deadline: Seconds | None = Field(default=None, gt=0)
    """One for all calls; without it 30 s for a read and 60 s for a change."""
    writes_per_minute: int | None = Field(default=None, gt=0)
    allow_mentions: tuple[str, ...] = ()
    claim_label: str | None = None
    webhook_secret: ForgeSecret | None = None
    shared: bool = False
    project: ProjectSettings | None = None


class ConnectionSettings(ForgeSettings):
    """What ``connection: NAME`` of an action tool means."""

    kind: ForgeKind

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """A connection without ``repo`` is bound to none: each operation says on which it works."""
        _require_forge_keys(self.kind, self)
        return self


class BoardSettings(ForgeSettings):
    """One board: where its cards come from and which bots work on them."""

    name: Name
    kind: BoardKind = "native"
    bot: str | None = None
    routes: dict[str, str] = Field(default_factory=dict)
    vars: dict[str, Any] = Field(default_factory=dict)
    route_vars: dict[str, dict[str, Any]] = Field(default_factory=dict)
    columns: dict[str, ColumnMapping] = Field(default_factory=dict)
    trust: TrustSettings = TrustSettings()
    mirror: str | None = None
    """On a native board: the board of a forge whose cards are copied here, and whose columns follow this one."""
    comments: tuple[CommentOn, ...] = ("parked", "gave_up", "failed")
    priority_labels: dict[str, int] = Field(default_factory=dict)
    require_labels: tuple[str, ...] = ()
    exclude_labels: tuple[str, ...] = ()
    working_hours: WorkingHours | None = None

    @model_validator(mode="before")
    @classmethod
    def _trust_of_kind(cls, data: Any) -> Any:
        """A native board trusts whoever can write to its store; forges ask for write permission."""
        if isinstance(data, dict) and data.get("kind", "native") == "native" and not data.get("mirror"):
            given = data.get("trust", {})
            if isinstance(given, dict):
                return {**data, "trust": {"who": "anyone", "pin_body": False, **given}}
        return data

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind != "native":
            if self.mirror:
                raise ValueError("only a native board can mirror another; the forge's board is named by it")
            if not self.repo:
                raise ValueError(f"a {self.kind} board needs repo")
            _require_forge_keys(self.kind, self)
            _require_one_column_each(self.columns, folds_case=self.kind == "github")
            if self.project is None and any(mapping.status for mapping in self.columns.values()):
                raise ValueError("columns by status are those of a project, and the board has no project")
        return self


def _require_one_column_each(columns: dict[str, ColumnMapping], *, folds_case: bool) -> None:
    """One label, option or state maps one column (connectors.md 4); GitHub's labels are one whatever their case."""
    seen: dict[tuple[str, object], str] = {}
    for name, mapping in columns.items():
        ((by, value),) = mapping.model_dump(exclude_none=True).items()
        shown = (by, value.lower() if by == "label" and folds_case else value)
        if shown in seen:
            told = f'{by} "{value}"' if isinstance(value, str) else f"{by}: {str(value).lower()}"
            raise ValueError(f"the columns {seen[shown]} and {name} are mapped by the same {told}")
        seen[shown] = name


def _require_forge_keys(kind: str, forge: ForgeSettings) -> None:
    if forge.token is None and forge.app is None:
        raise ValueError(f"a {kind} connection needs token or app")
    if kind in _NEEDS_URL and not forge.url:
        raise ValueError(f"a {kind} connection needs url")
    if forge.project is not None and kind != "github":
        raise ValueError(f"a project is GitHub's; a {kind} connection has none")
    if (forge.url or "").startswith("http:") and not forge.allow_private:
        raise ValueError("its url is http, which is for hosts that allow_private covers; use https")


def templates_of(board: BoardSettings) -> Iterator[tuple[str, Any]]:
    """Each value of ``vars`` and ``route_vars`` with its key below the board."""
    yield from ((f"vars.{name}", value) for name, value in board.vars.items())
    for route, values in board.route_vars.items():
        yield from ((f"route_vars.{route}.{name}", value) for name, value in values.items())


def unknown_in_board(board: BoardSettings) -> list[tuple[str, str]]:
    """(key below the board, reference) of each template reference that no card can answer."""
    return [(key, reference) for key, value in templates_of(board) for reference in unknown_references(value)]


def fields_in_board(board: BoardSettings) -> list[tuple[str, str]]:
    """(key below the board, field) of each field of a card that a template names."""
    return [(key, field) for key, value in templates_of(board) for field in field_references(value)]
