"""The only place where engine, connectors and config meet: everything is built from the settings, when it is asked for.

Made by the command line's session and by the daemon. Each attribute is built once; ``close`` gives back what was built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.registry import CLIENTS, connector_class
from connectors.secrets import Redactor
from dispatcher import __version__
from dispatcher.metrics import Tally
from dispatcher.operations import CATALOGUE, LateRemote, RemoteDoor
from dispatcher.refusals import Refused
from dispatcher.secrecy import Where, remember, way_out
from engine.ports import Clock, IdMaker, RandomIds, Remote, SystemClock, as_it_is
from engine.store.locks import MOUNTS, network_file_system

if TYPE_CHECKING:
    from config.boards import BoardSettings
    from config.settings import Settings
    from connectors.base import Board
    from dispatcher.board_rows import BoardRows
    from dispatcher.forges import Forges
    from dispatcher.leading import Leadership
    from dispatcher.ledger import Ledger
    from engine.api import Engine, EngineSettings
    from engine.dsl.catalogue import Operation
    from engine.dsl.surroundings import Surroundings
    from engine.store.database import Database
    from engine.store.store import Store


RUNS = "runs"
"""Folder of the store directory in which each run has its lock."""
BUNDLE_CACHE = "cache"
"""Folder of the store directory where packed bundles are unpacked."""


class Wiring:
    """Database, store, boards and ledger of one process; ``store_dir`` and ``store_url`` are absolute."""

    def __init__(self, settings: Settings, *, store_dir: Path, store_url: str) -> None:
        self.settings = settings
        self.store_dir = store_dir
        self.store_url = store_url
        self.clock: Clock = SystemClock()
        self.ids: IdMaker = RandomIds()
        self._leadership: Leadership | None = None
        if host := settings.origin.variables.host_id:
            from engine.store.owners import name_host

            name_host(host)
        self.mounts = MOUNTS
        """Where the system tells what is mounted where."""
        self.instance = ""
        """The random id of a daemon; empty for a command."""
        self.passed: Callable[[str], None] = lambda _point: None
        """Told each point of a remote change (connectors.md 9)."""
        self.watches = False
        """Whether this process remembers where it saw the cards of forges: the daemon does, who only looks does not."""
        self.tally = Tally()
        """What the connectors count, for whoever reads it."""
        self._past: list[Forges] = []
        self.catalogue: Mapping[str, Operation] | None = CATALOGUE
        """The operations of the connectors; None means that nothing is checked against them."""

    @cached_property
    def store_name(self) -> str:
        """The address of the store as it may be shown and written down: without a password."""
        from engine.store.drivers import driver_of

        return driver_of(self.store_url).name

    @property
    def store_shared(self) -> bool:
        """Whether daemons of several hosts may use the store."""
        from engine.store.drivers import POSTGRES

        return self.store_url.startswith(POSTGRES)

    @cached_property
    def store_doubt(self) -> str:
        """Why the database must not be opened where it lies, in one sentence; empty where it may (dispatcher.md 31)."""
        from engine.store.sqlite import path_of

        return "" if self.store_shared else self._on_network(path_of(self.store_url).parent)

    @cached_property
    def lock_doubt(self) -> str:
        """Why the free lock of a run proves nothing here, in one sentence; empty where it does (dispatcher.md 10)."""
        return "" if self.store_shared else self._on_network(self.store_dir / RUNS)

    def _on_network(self, folder: Path) -> str:
        kind = "" if self.settings.store.allow_network else network_file_system(folder, self.mounts)
        return f"{folder} lies on a network file system ({kind}), where locks prove nothing" if kind else ""

    @cached_property
    def database(self) -> Database:
        """The open store. Raises Refused for one that lies where two processes may both believe to hold it."""
        from engine.store.database import Database

        if self.store_doubt:
            hint = "Move the store to a local disk, or set store.allow_network: true and know why."
            raise Refused("invalid_setting", f"{self.store_doubt}.", hint)
        return Database.open(self.store_url, synchronous=self.settings.store.synchronous)

    @cached_property
    def store(self) -> Store:
        """The engine's verbs over the database."""
        from engine.store.leases import Leases
        from engine.store.store import Store

        claims = self.settings.claims
        leases = Leases(self.database, claims.lease, claims.heartbeat)
        store = Store(self.database, self.clock, self.store_dir, leases)
        store.effects.told = self._count_effect
        return store

    def _count_effect(self, operation: str, state: str) -> None:
        self.tally.count("pointsman_effects_total", operation=operation, state=state)

    @cached_property
    def engine(self) -> Engine:
        """The durable engine over the store."""
        from engine.api import Engine

        return Engine(self.store, self._engine_settings(), self.clock, self.ids, instance=self.instance)

    def leadership(self, tally: Tally) -> Leadership:
        """Who leads which board; made once, ``tally`` hears what is lost."""
        if self._leadership is None:
            from dispatcher.leading import Leadership

            self._leadership = Leadership(self.engine.leases, self.database, tally)
        return self._leadership

    def _engine_settings(self) -> EngineSettings:
        """The plain values that the engine needs (engine.md 18)."""
        from config.environment import process_environment
        from engine.api import EngineSettings

        given, variables = self.settings, self.settings.origin.variables
        daily = variables.max_cost_per_day_usd
        return EngineSettings(
            force_stale_after=given.runs.force_stale_after,
            exit_grace=variables.budget_exit_grace,
            schema_repairs=variables.schema_repairs,
            process_timeout=variables.process_timeout,
            output_cap=variables.output_cap,
            max_cost_per_day_usd=given.limits.max_cost_per_day_usd if daily is None else daily,
            branch_cancel_grace=variables.branch_cancel_grace,
            environment=process_environment(),
            secret_names=given.origin.secret_names,
            around=self.around,
            workspace_boundaries=given.runs.workspace_boundaries,
            workspace_max_file=variables.workspace_max_file,
            remote=self.remote,
            clean=self._cleaned if self.redactor else as_it_is,
            locks_prove=not self.lock_doubt,
        )

    def take(self, settings: Settings) -> None:
        """Go on with other settings: boards that stay are kept, and what the engine begins from now on sees them.

        Called by the daemon between two ticks. Where the store lies does not change.
        """
        self.settings = settings
        remember(self.redactor, settings)
        self.__dict__.pop("around", None)
        self._leave_forges()
        if "boards" in self.__dict__:
            known = {name: board for name, board in self.boards.items() if board.kind not in CLIENTS}
            self.boards = {each.name: known.get(each.name) or self._board(each) for each in settings.boards}
        if "engine" in self.__dict__:
            self.engine.use(self._engine_settings())

    def _leave_forges(self) -> None:
        """Connections are made anew; calls that are under way end with the old ones."""
        if "forges" in self.__dict__:
            self._past.append(self.__dict__.pop("forges"))
            self.__dict__.pop("journal", None)
            self.__dict__.pop("remote", None)

    @cached_property
    def remote(self) -> Remote | None:
        """What runs connector operations, and asks what became of them; loaded when one is called."""
        return LateRemote(self._remote).port()

    def _remote(self) -> RemoteDoor:
        from dispatcher.remote import ForgeRemote

        return ForgeRemote(self.forges, self.passed)

    @cached_property
    def redactor(self) -> Redactor:
        """What takes the secrets of the configuration out of texts; what it knew once it knows for good."""
        from dispatcher.log import hide

        redactor = Redactor()
        remember(redactor, self.settings)
        hide(way_out(redactor, self.tally, Where.LOG))
        return redactor

    def _cleaned(self, value: object) -> object:
        return way_out(self.redactor, self.tally, Where.OUTPUT).scrub(value)

    @cached_property
    def forges(self) -> Forges:
        """The connections of the configuration."""
        from dispatcher.forges import Forges, World
        from dispatcher.ledger.forge_rows import LedgerLimits
        from dispatcher.watching import Watcher

        return Forges(self.settings, World(self.clock, LedgerLimits(self.ledger), Watcher(self.tally), self.redactor))

    @cached_property
    def journal(self) -> BoardRows:
        """The rows of board writes."""
        from dispatcher.board_rows import BoardRows, Desk

        rows = way_out(self.redactor, self.tally, Where.ROW)
        return BoardRows(Desk(self.store.effects, self.clock, self.ids, rows, self.passed))

    @cached_property
    def around(self) -> Surroundings:
        """What the compiler is told: connections, this version, where packed bundles are unpacked."""
        from engine.dsl.surroundings import Surroundings

        cache = self.store_dir / BUNDLE_CACHE
        return Surroundings(self.catalogue, self.connection_kinds(), frozenset(), version=__version__, cache=cache)

    def connection_kinds(self) -> Mapping[str, str]:
        """The kind of each connection by name; each board is one too (interface.md 7)."""
        boards: dict[str, str] = {each.name: each.kind for each in self.settings.boards}
        return boards | {name: each.kind for name, each in self.settings.connections.items()}

    @cached_property
    def ledger(self) -> Ledger:
        """The dispatcher's own rows."""
        from dispatcher.ledger import Ledger

        return Ledger(self.database)

    @cached_property
    def boards(self) -> Mapping[str, Board]:
        """Every board of the configuration, by name."""
        return {each.name: self._board(each) for each in self.settings.boards}

    def _board(self, each: BoardSettings) -> Board:
        if each.kind in CLIENTS:
            return self._forge_board(each)
        made: Board = connector_class(each.kind)(each.name, self.database, self.clock, self.ids)
        return made

    def _forge_board(self, each: BoardSettings) -> Board:
        from dispatcher.forge_boards import Parts, made

        parts = Parts(
            settings=self.settings,
            forges=self.forges,
            ledger=self.ledger,
            effects=self.store.effects,
            journal=self.journal,
            clock=self.clock,
            passed=self.passed,
            watches=self.watches,
        )
        return made(parts, each)

    def close(self) -> None:
        """Close what was opened."""
        for forges in (*self._past, *([self.forges] if "forges" in self.__dict__ else [])):
            forges.close()
        if "database" in self.__dict__:
            self.database.close()
