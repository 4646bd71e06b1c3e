"""Every setting and every default (interface.md 7, dispatcher.md 36). Frozen; unknown keys are refused.

Made by ``config.load`` from a file, or by ``defaults`` without one. Only the dispatcher reads settings; engine and
connectors receive plain values (house: floors). Durations are seconds, costs US dollars. What holds about the world
outside (does this bot exist, is that column there) is not checked here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, model_validator

from config.boards import BoardSettings, ConnectionSettings, Section
from config.durations import Seconds
from config.hours import WorkingHours
from config.variables import Variables, read_variables

Cap = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
ELIGIBLE_BY_DEFAULT = ("ready", "in_progress")
"""The columns of a new native board from which the dispatcher picks (interface.md 4)."""


def is_loopback(host: str) -> bool:
    """Whether a listener on ``host`` can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class StoreSettings(Section):
    """Where state lives. Without ``dir``: the nearest ``.pointsman`` upwards, else ``./.pointsman``."""

    dir: Path | None = None
    url: str | None = None
    synchronous: Literal["full", "normal"] = "full"
    allow_network: bool = False


class ColumnSettings(Section):
    """Which column a card goes to; ``null`` leaves it where it is."""

    running: str | None = "in_progress"
    awaiting_input: str | None = "awaiting_input"
    completed: str | None = "review"
    failed: str | None = "blocked"
    cancelled: str = "backlog"


class TickSettings(Section):
    """How often the dispatcher looks, and the longest read of one board."""

    interval: Seconds = Field(default=15.0, gt=0)
    board_deadline: Seconds = Field(default=30.0, gt=0)


class ConcurrencySettings(Section):
    """How many runs execute at once, in all and by what they belong to; ``wip`` caps the cards of a column."""

    max: Cap = 4
    by_column: dict[str, Cap] = Field(default_factory=dict)
    by_bot: dict[str, Cap] = Field(default_factory=dict)
    by_assignee: dict[str, Cap] = Field(default_factory=dict)
    by_board: dict[str, Cap] = Field(default_factory=dict)
    wip: dict[str, Cap] = Field(default_factory=dict)


class RunSettings(Section):
    """How runs execute and when silence counts as death."""

    isolation: Literal["thread", "process"] = "thread"
    stall_timeout: Seconds = 600.0
    orphan_grace: Seconds = 120.0
    force_stale_after: Seconds = 60.0
    workspace_boundaries: bool = True
    stop_grace: Seconds = 60.0


class RetrySettings(Section):
    """The ladder of unattended retries; ``sandbox`` is that of the sandbox codes, its last value repeats."""

    max_attempts: Positive = 10
    base: Seconds = Field(default=10.0, gt=0)
    cap: Seconds = Field(default=300.0, gt=0)
    sandbox: Annotated[tuple[Seconds, ...], Field(min_length=1)] = (60.0, 180.0, 300.0, 3600.0)


class LimitSettings(Section):
    """Caps over all runs; 0 is off."""

    max_cost_per_day_usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class WorkspaceSettings(Section):
    """Where the cards' folders lie and when they are cleaned."""

    root: Path = Path("workspaces")
    persist: Literal["keep", "cleanup_on_done", "cleanup_on_terminal"] = "keep"


class HookSettings(Section):
    """A shell text or a file, with a time limit (dispatcher.md 22)."""

    script: str | None = None
    path: Path | None = None
    timeout: Seconds = Field(default=60.0, gt=0)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.script is None) == (self.path is None):
            raise ValueError("a hook has either script or path")
        return self


class HooksSettings(Section):
    """What runs around a card's runs."""

    after_create: HookSettings | None = None
    before_run: HookSettings | None = None
    after_run: HookSettings | None = None
    before_remove: HookSettings | None = None


class ShutdownSettings(Section):
    """How long runs may go on towards a boundary after a stop was asked for."""

    grace: Seconds = 30.0


class ServerSettings(Section):
    """The HTTP side. Off loopback it needs a token."""

    host: str = "127.0.0.1"
    port: int = Field(default=4892, ge=0, le=65535)
    token: SecretStr | None = None
    allowed_hosts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _token_off_loopback(self) -> Self:
        if not is_loopback(self.host) and not (self.token and self.token.get_secret_value()):
            raise ValueError(f"listening on {self.host} needs server.token, because it is not loopback")
        return self


class BotSettings(Section):
    """Where bots are looked for by name."""

    paths: tuple[Path, ...] = (Path("bots"),)


class ClaimSettings(Section):
    """Leases of a shared store and of shared boards (dispatcher.md 9)."""

    lease: Seconds = Field(default=60.0, gt=0)
    heartbeat: Seconds = Field(default=20.0, gt=0)
    forge_lease: Seconds = Field(default=900.0, gt=0)
    settle_delay: Seconds = Field(default=5.0, ge=5)
    arbitration: Literal["comment", "ref"] = "comment"

    @model_validator(mode="after")
    def _three_heartbeats(self) -> Self:
        if self.lease < 3 * self.heartbeat:
            raise ValueError("claims.lease must be at least three times claims.heartbeat")
        return self


class BreakerSettings(Section):
    """When the dispatcher stops trying (dispatcher.md 15)."""

    card_moves: Positive = 6
    card_window: Seconds = Field(default=600.0, gt=0)
    same_cause: Positive = 5
    board_failures: Positive = 5
    board_window: Seconds = Field(default=300.0, gt=0)
    half_open_after: Seconds = Field(default=900.0, gt=0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where settings came from: the file (none for pure defaults), its folder, and which names held secrets."""

    file: Path | None = None
    folder: Path = Path()
    digest: str = ""
    secret_names: frozenset[str] = frozenset()
    unset_names: frozenset[str] = frozenset()
    variables: Variables = field(default_factory=Variables)


def _native_board() -> tuple[BoardSettings, ...]:
    return (BoardSettings(name="native"),)


class Settings(Section):
    """The whole configuration."""

    name: str = "pointsman"
    store: StoreSettings = StoreSettings()
    boards: tuple[BoardSettings, ...] = Field(default_factory=_native_board)
    connections: dict[str, ConnectionSettings] = Field(default_factory=dict)
    columns: ColumnSettings = ColumnSettings()
    tick: TickSettings = TickSettings()
    concurrency: ConcurrencySettings = ConcurrencySettings()
    runs: RunSettings = RunSettings()
    retry: RetrySettings = RetrySettings()
    limits: LimitSettings = LimitSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    hooks: HooksSettings = HooksSettings()
    shutdown: ShutdownSettings = ShutdownSettings()
    server: ServerSettings = ServerSettings()
    bots: BotSettings = BotSettings()
    working_hours: WorkingHours | None = None
    claims: ClaimSettings = ClaimSettings()
    breakers: BreakerSettings = BreakerSettings()

    _origin: Origin = PrivateAttr(default_factory=Origin)

    def located(self, origin: Origin) -> Settings:
        """The same settings with every relative path taken from ``origin.folder``."""
        located = self.model_copy(update=_located(self, origin.folder))
        located._origin = origin  # noqa: SLF001  # a copy of this very class
        return located

    def replaced(self, **values: Any) -> Settings:
        """The same settings, from the same place, with those sections instead of theirs."""
        made = self.model_copy(update=values)
        made._origin = self._origin  # noqa: SLF001  # a copy of this very class
        return made

    @property
    def mirrored(self) -> frozenset[str]:
        """The boards of forges that a native board mirrors; they are not dispatched themselves."""
        return frozenset(board.mirror for board in self.boards if board.mirror)

    @property
    def origin(self) -> Origin:
        """Where these settings came from."""
        return self._origin

    @property
    def secret_names(self) -> frozenset[str]:
        """Variables that the configuration uses as secrets; no tool, hook or agent may see them."""
        return self._origin.secret_names

    @property
    def variables(self) -> Variables:
        """The ``POINTSMAN_*`` variables of the process that loaded these settings."""
        return self._origin.variables


def _located(settings: Settings, folder: Path) -> dict[str, Section]:
    def below(path: Path) -> Path:
        return folder / path.expanduser()

    store, paths = settings.store, settings.bots.paths
    return {
        "store": store.model_copy(update={"dir": below(store.dir)}) if store.dir else store,
        "workspace": settings.workspace.model_copy(update={"root": below(settings.workspace.root)}),
        "bots": settings.bots.model_copy(update={"paths": tuple(below(path) for path in paths)}),
        "hooks": settings.hooks.model_copy(update=_located_hooks(settings.hooks, folder)),
    }


def _located_hooks(hooks: HooksSettings, folder: Path) -> dict[str, HookSettings]:
    given: dict[str, HookSettings | None] = {name: getattr(hooks, name) for name in HooksSettings.model_fields}
    return {
        name: hook.model_copy(update={"path": folder / hook.path}) for name, hook in given.items() if hook and hook.path
    }


def defaults(folder: Path, environment: Mapping[str, str]) -> Settings:
    """The settings of an installation without a configuration file."""
    origin = Origin(folder=folder.absolute(), variables=read_variables(environment))
    return Settings().located(origin)
