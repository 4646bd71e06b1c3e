"""What a tick works with: settings of one generation, the boards, the engine, the ledger, and a few caches.

Made in ``wiring``, handed to every phase. The ``Memory`` decides nothing: losing it costs a read (dispatcher.md 2).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from config.boards import BoardSettings
from config.settings import HookSettings, Settings
from connectors.base import Board
from connectors.card import Card
from dispatcher.candidate import Problem
from dispatcher.crashpoints import CrashPoints
from dispatcher.hooks import Call, HookEnd
from dispatcher.ladder import RetrySettings
from dispatcher.leading import Leadership
from dispatcher.ledger import Ledger
from dispatcher.ledger.records import IdleReason, Key, Link
from dispatcher.metrics import Tally
from dispatcher.pulse import Pulse
from dispatcher.slots import Slots
from dispatcher.troubles import Trouble
from dispatcher.workspaces import Place, Workspaces, key_of
from engine.ports import Clock, IdMaker
from engine.run import Owner
from engine.store.store import Store

if TYPE_CHECKING:
    from connectors.forge.board import LabelBoard
    from engine.api import ResumeRequest

STARTED = "start"
"""Why a card is moved to the running column; its history says so."""
REMOVED = "removed from the configuration; what it has under way is watched to its end"
"""Why nothing is picked up from a board that the configuration names no more."""
INTERRUPT_EXTERNAL_MOVE = "external_move"
INTERRUPT_CARD_GONE = "card_gone"
INTERRUPT_STALL = "stall"
INTERRUPT_SHUTDOWN = "shutdown"
INTERRUPT_LEASE_LOST = "lease_lost"


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """A fresh run as the engine is asked for it."""

    run_id: str
    bot: Path
    vars: Mapping[str, object]
    workspace: Path
    name: str


@dataclass(frozen=True, slots=True)
class Child:
    """A process that outlived the daemon which started it."""

    pid: int
    command: str
    ours: bool
    """Whether its identity is the recorded one; only then it may be signalled."""


class EngineDoor(Protocol):
    """What the dispatcher asks of the engine; ``engine_door`` implements it over ``engine.api``.

    ``claimed`` is called once, right after the run is ``running`` and ours. ``launch`` and ``resume`` return when the
    run stopped; they raise the engine's refusals when it was not claimed. An ``outcome`` is the only one behind
    which a resume may claim the run, ``by`` names the person who asks for it.
    """

    def launch(self, order: LaunchOrder, claimed: Callable[[], None]) -> None: ...  # noqa: D102
    def resume(  # noqa: D102
        self, run_id: str, attended: bool, claimed: Callable[[], None], outcome: int = -1, by: str = ""
    ) -> None: ...
    def promote(self, run_id: str, *, from_ahead: bool = False) -> bool:
        """Promote an orphan under its lock (dispatcher.md 10); False when there was nothing to do.

        ``from_ahead`` says that its claim is dated after now, and was young for as long as that may last.
        """
        ...

    def interrupt(self, run_id: str, cause: str) -> bool:
        """Write the cause and signal the stop of a run that executes here; False when it was told already."""
        ...

    def probe_effect(self, effect_id: str) -> object:
        """Ask the forge about a call in doubt, and settle it when it is found. Raises EffectSettled."""
        ...

    def executing(self) -> Collection[str]:
        """Runs that execute in this process."""
        ...

    def silent_for(self, run_id: str) -> float:
        """Seconds since the last sign of life, 0 while the run may be silent (dispatcher.md 13)."""
        ...

    def at_node(self, run_id: str) -> str:
        """The node at which the run is, empty before the first one."""
        ...

    def lock_held(self, run_id: str) -> bool:
        """Whether anybody holds the run's lock."""
        ...

    def isolated(self) -> bool:
        """Whether runs execute in processes of their own, which go on when the daemon stops."""
        ...

    def kill(self, run_id: str) -> bool:
        """SIGKILL to the process of an isolated run; False where there is none that is provably its own."""
        ...

    def owner_alive(self, owner: Owner) -> bool:
        """Whether the recorded process may still live; only "no" is a proof (dispatcher.md 9)."""
        ...

    def source_changed(self, path: str, digest: str) -> bool:
        """Whether the source at ``path`` is another than the digest says; an unreadable one is."""
        ...

    def problem(self, bot: Path, values: Mapping[str, object]) -> Problem | None:
        """The first diagnostic of the bot, or the first value that does not fit it."""
        ...

    def declared(self, bot: Path) -> frozenset[str] | None:
        """The names of the vars that the bot declares; None for a bot that does not compile."""
        ...

    def children(self, run_id: str) -> tuple[Child, ...]:
        """The recorded processes of the run that still work."""
        ...

    def stop_children(self, run_id: str) -> int:
        """Stop those whose identity is the recorded one; how many were signalled."""
        ...

    def question(self, run_id: str) -> str:
        """What the paused run asks, in one line."""
        ...

    def answered(self, run_id: str) -> bool:
        """Whether valid answers are recorded and not consumed."""
        ...

    def interrupt_cause(self, run_id: str) -> str:
        """By what the run was interrupted last, from its timeline."""
        ...

    def pause_reason(self, run_id: str) -> str:
        """Why the run was paused, from its timeline."""
        ...

    def budget_stop(self, run_id: str) -> Mapping[str, object]:
        """``axis``, ``used`` and ``limit`` of the budget that stopped the run."""
        ...


class PersonsDoor(EngineDoor, Protocol):
    """The engine as people reach it through the daemon as well; every daemon's own station has it."""

    def take_up(self, request: ResumeRequest) -> None:
        """Execute a resume as it was asked for, until it stops. Raises the engine's refusals."""
        ...


@dataclass(slots=True)
class Memory:
    """Caches and marks of this process."""

    instance: str = ""
    tick: int = 0
    outcomes_seen: int = 0
    idle: dict[Key, IdleReason] | None = None
    last_complete: dict[str, datetime] = field(default_factory=dict)
    claimed_at: dict[tuple[str, int], float] = field(default_factory=dict)
    stopping_since: str = ""
    break_off: threading.Event = field(default_factory=threading.Event)
    """Set while a stop ends what is under way: hooks before a run end as well."""
    left: bool = False
    """Whether the process ends without waiting for the tick under way, which does nothing more."""
    answers: dict[tuple[str, str], tuple[object, object]] = field(default_factory=dict)
    """Of boards that tell a revision: by board and question, what it was asked about and what it said."""
    stored: dict[str, tuple[object, object]] = field(default_factory=dict)
    """As ``answers``, of the store at the commit ``stored_at``."""
    stored_at: int | None = None
    told: set[str] = field(default_factory=set)
    swept: dict[str, tuple[float, str]] = field(default_factory=dict)
    """board -> when its cards with a workspace were looked at last (monotonic), and the last of them."""
    unread: dict[tuple[str, str], str] = field(default_factory=dict)
    """(board, what of it) -> the code of the problem with which it was read last."""
    disappeared: dict[str, frozenset[Key]] = field(default_factory=dict)
    waits: dict[tuple[Key, datetime], tuple[float, float]] = field(default_factory=dict)
    clocks: tuple[datetime, float] | None = None
    pulse: Pulse = field(default_factory=Pulse)
    tally: Tally = field(default_factory=Tally)
    since: datetime | None = None
    costs: dict[str, float] = field(default_factory=dict)
    spent_today: float = 0.0
    looked_around: float | None = None
    full_since: dict[str, datetime] = field(default_factory=dict)
    degraded_since: dict[tuple[str, str], datetime] = field(default_factory=dict)
    """(code, board) -> since when something is not as it should be."""
    last_error: Trouble | None = None

    def begin_anew(self) -> None:
        """Forget what was read before: another daemon worked on it meanwhile."""
        self.outcomes_seen = 0
        self.idle = None
        self.answers.clear()
        self.stored.clear()

    def answers_at(self, version: int) -> dict[str, tuple[object, object]]:
        """What the store said at this commit; what it said before is forgotten."""
        if version != self.stored_at:
            self.stored.clear()
            self.stored_at = version
        return self.stored

    def first_time(self, what: str) -> bool:
        """True once per ``what``: for states that are told when they begin."""
        new = what not in self.told
        self.told.add(what)
        return new


class WriteRows(Protocol):
    """The rows of writes to boards; ``dispatcher.board_rows`` implements it."""

    def lose_orphans(self, board: str) -> Collection[object]:
        """Rows of a board whose sender died: withdrawn, or ambiguous; the latter."""
        ...


@dataclass(frozen=True, slots=True)
class Station:
    """Everything a phase needs. ``settings`` are those of one generation; a new generation is a new station."""

    settings: Settings
    boards: Mapping[str, Board]
    store: Store
    store_name: str
    ledger: Ledger
    engine: EngineDoor
    slots: Slots
    workspaces: Workspaces
    run_hook: Callable[[HookSettings, Call], HookEnd]
    unsaved: Callable[[Path], str]
    find_bot: Callable[[str], Path | None]
    clock: Clock
    ids: IdMaker
    owner: Owner
    crash: CrashPoints
    memory: Memory
    leadership: Leadership
    lock_doubt: str = ""
    """Why the free lock of a run proves nothing here, in one sentence; empty where it does."""
    journal: WriteRows | None = None
    """The rows of writes to boards of forges, None where there is no such board."""
    mirrors: Mapping[str, LabelBoard] = field(default_factory=dict)
    """native board -> the board of a forge that it mirrors, which is not dispatched itself."""
    removed: frozenset[str] = frozenset()
    """Boards that the configuration names no more; what they have under way is watched to its end."""

    def board_settings(self, name: str) -> BoardSettings:
        """The settings of a board by its name."""
        return next(board for board in self.settings.boards if board.name == name)

    def workspace_key(self, card: Card, link: Link | None) -> str:
        """The key of the card's folder; the one that was made for it stays, also when its title changes."""
        if link is not None and link.workspace:
            return Path(link.workspace).name
        return key_of(self.place(card))

    def place(self, card: Card) -> Place:
        """The card as its workspace knows it."""
        settings = self.board_settings(card.board)
        address = settings.repo or settings.url or settings.kind
        return Place(card.board, address, card.id, card.number, card.title)

    def retry_settings(self) -> RetrySettings:
        """The ladder of this generation."""
        retry = self.settings.retry
        return RetrySettings(retry.max_attempts, retry.base, retry.cap, retry.sandbox)
