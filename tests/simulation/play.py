"""Playing a history: the product's tick, gates, ledger and policy over a real store in memory, a board and a script.

One ``Stage`` per process keeps what is dear (an open store, settings); one ``Play`` is one history. A history replays
exactly: nothing in it reads the real clock, a real process or a random number of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zlib import crc32

from config.load import load
from config.settings import HookSettings, Settings
from connectors.base import Board
from connectors.fake_forge.seed import COLUMNS, TOKEN
from connectors.native.defaults import DEFAULT_COLUMNS
from dispatcher import tick
from dispatcher.hooks import Call, HookEnd
from dispatcher.leading import Leadership
from dispatcher.ledger import Ledger, daemon_rows
from dispatcher.ledger.records import DesiredState, Snapshot
from dispatcher.reasons import Reason
from dispatcher.station import Memory, Station
from dispatcher.workspaces import Mark
from engine.run import Owner
from engine.store.store import Store
from tests.kit.ids import CountingIds
from tests.simulation import people
from tests.simulation.forge import FORGES
from tests.simulation.grounds import Ground, NativeGround
from tests.simulation.history import Happening, History, Step
from tests.simulation.machine import Door, Machine
from tests.simulation.parts import MemoryWorkspaces, ScriptedSlots, SimulatedKeeper, SimulatedLeases, WaitingClock
from tests.simulation.seams import (
    Crashed,
    Deed,
    Fault,
    Seams,
    SimulatedCrashPoints,
    SimulatedDatabase,
)
from tests.simulation.watch import Broken, Watch

BASE = "boards: [{name: native, kind: native, bot: bots/work.bot, vars: {title: '{{card.title}}'}}]\n"
VARIANTS = (
    "retry: {max_attempts: 3, base: 10s, cap: 300s}\nruns: {orphan_grace: 5s, stall_timeout: 60s}\n",
    (
        "retry: {max_attempts: 2, base: 1s, cap: 5s}\nruns: {orphan_grace: 2s, stall_timeout: 600s}\n"
        "concurrency: {max: 1}\nhooks: {before_run: {script: 'true'}, after_run: {script: 'true'}}\n"
    ),
    (
        "retry: {max_attempts: 5, base: 10s, cap: 60s}\nconcurrency: {max: 2, wip: {review: 2}}\n"
        "runs: {orphan_grace: 20s, stall_timeout: 0s}\ncolumns: {completed: done}\n"
        "hooks: {after_run: {script: 'true'}}\n"
    ),
    "retry: {max_attempts: 3, base: 10s, cap: 300s}\nruns: {orphan_grace: 5s, stall_timeout: 60s}\n",
)
"""The configurations that histories run under; in the last one two daemons share the store by leases."""
SHARED = len(VARIANTS) - 1
SETTLES = 30.0
"""Seconds after which a claim on a forge has settled, and is far from its end."""
DESERTED = 2
"""So many ticks in a row must write nothing."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a variant of the product may replace (``mutants``)."""

    door: Callable[[Machine, Owner, float], Door] = Door
    ledger: Callable[[SimulatedDatabase], Ledger] = Ledger
    slots: Callable[[Door], ScriptedSlots] = ScriptedSlots
    ground: Callable[[Play], Ground] | None = None
    """None: the one of the history's board."""


NATIVE = "native"
FORGE = """boards:
  - name: web
    kind: {kind}
    url: "http://127.0.0.1:8099"
    repo: octo/demo
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    vars: {{title: '{{{{card.title}}}}'}}
    comments: [parked, gave_up, failed, finished]
    columns: {{{columns}, done: {{closed: true}}}}
    shared: {shared}
claims: {{arbitration: {arbitration}}}
"""
BY_COMMENT, BY_REF = 1, 2
"""The variants in which other installations may work on a forge's board, by how claims are arbitrated."""
BOARDS: Mapping[str, Callable[[Play], Ground]] = {NATIVE: NativeGround, **FORGES}
"""What a history may be played on."""


def configuration(board: str, variant: int) -> str:
    """The part of the configuration that names the board."""
    if board == NATIVE:
        return BASE
    labels = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
    by_ref = variant == BY_REF and board == "github"
    shared = variant == BY_COMMENT or by_ref
    how = "ref" if by_ref else "comment"
    return FORGE.format(kind=board, columns=labels, shared=str(shared).lower(), arbitration=how)


class Stage:
    """One open store, used for one history after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bots").mkdir(exist_ok=True)
        (folder / "bots" / "work.bot").write_text("")
        self.settings: dict[str, list[Settings]] = {board: [] for board in BOARDS}
        for board, loaded in self.settings.items():
            for number, text in enumerate(VARIANTS):
                file = folder / f"{board}-{number}.yaml"
                file.write_text(configuration(board, number) + text)
                loaded.append(load(file, {"TOKEN": TOKEN}))
        self.database = SimulatedDatabase.open(f"sqlite:///{folder / 'store' / 'p.db'}", synchronous="OFF")
        with self.database.exclusive() as raw:
            names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            raw.execute("PRAGMA wal_autocheckpoint=0")
        self._tables = [name for name in names if name not in ("alembic_version", "store_counter")]

    def clean(self) -> None:
        """Forget the history before."""
        wiped = "".join(f"DELETE FROM {name};" for name in self._tables)
        with self.database.exclusive() as raw:
            raw.executescript(f"BEGIN; {wiped} UPDATE store_counter SET value = 0; COMMIT;")
            raw.execute("PRAGMA wal_checkpoint(RESTART)")


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """A folder for stages, in memory where the system has a place for that."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="sim-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage in memory."""
    with folder_in_memory() as folder:
        made = Stage(folder)
        try:
            yield made
        finally:
            made.database.close()


@dataclass
class Dispatcher:
    """One daemon process: everything of it is lost when it dies."""

    owner: Owner
    station: Station
    slots: ScriptedSlots
    memory: Memory
    board: Board
    keeper: SimulatedKeeper
    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = self.station.settings

    @property
    def leads(self) -> bool:
        """Whether the board is this daemon's."""
        return not self.station.leadership.shared or f"board:{self.board.name}" in self.keeper.mine


class Play:
    """One history on a stage."""

    def __init__(self, on: Stage, history: History, parts: Parts = Parts()) -> None:
        on.clean()
        self.on, self.history, self.parts = on, history, parts
        self.database = on.database
        self.settings = on.settings[history.board][history.variant]
        self.clock = WaitingClock(self._waited)
        self.seams = Seams()
        self.watch = Watch()
        self.marks: dict[str, Mark] = {}
        self.database.seams = self.seams
        self.seams.elsewhere = self.database.elsewhere
        self.store = Store(self.database, self.clock, on.folder)
        self.ids = CountingIds()
        self.machine = Machine(self.store, self.clock, self.seams, self.watch, history.seed)
        self.ground = self.machine.ground = (parts.ground or BOARDS[history.board])(self)
        self.machine.eligible = frozenset(column.name for column in DEFAULT_COLUMNS if column.eligible)
        self.machine.bound = 3 * self.settings.retry.max_attempts + 6
        self.machine.ended, self.machine.died = self._ended, self._bury
        self.watch.machine = self.machine
        self.shared = history.variant == SHARED
        self.daemons: list[Dispatcher | None] = [None, None]
        self.ticks = 0
        self._mode = tick.Mode(mark=self.seams.phase)

    def run(self) -> None:
        """The steps, then rest. Raises ``Broken``."""
        try:
            for step in self.history.steps:
                self.watch.note(step.told())
                self._step(step)
            with self.seams.paused():
                self._rest()
        finally:
            self.ground.close_all()

    def snapshot(self) -> Snapshot:
        """Everything under way."""
        return Ledger(self.database).snapshot()

    def _waited(self, since: float) -> None:
        """A tick or a call waited: meanwhile the threads of every process went on."""
        seconds = self.clock.monotonic() - since
        self._beat(seconds)
        with self.seams.paused():
            for daemon in filter(None, self.daemons):
                daemon.keeper.renew_all(self.database, since, self.clock.monotonic())

    # -- one step ------------------------------------------------------------------------------------------------------
    def _step(self, step: Step) -> None:
        self.seams.arm({each.at: self._deed(each, step) for each in step.happenings if each.at >= 0})
        self.ground.step()
        self._pass(step.gap)
        for each in step.happenings:
            if each.at < 0:
                with self.seams.paused():
                    self._before(each, step)
        self._tick(step.daemon)

    def _pass(self, seconds: float) -> None:
        """Time goes by and processes run."""
        self._beat(seconds)
        since = self.clock.monotonic()
        self.clock.advance(seconds)
        with self.seams.paused():
            for daemon in filter(None, self.daemons):
                daemon.keeper.renew_all(self.database, since, self.clock.monotonic())
        self.machine.advance()

    def _beat(self, seconds: float) -> None:
        now = self.clock.monotonic()
        for daemon in filter(None, self.daemons):
            if daemon.memory.pulse._last is not None:
                daemon.memory.pulse.beat(now)
                daemon.memory.pulse._last = now + seconds  # thousands of beats in between would say the same

    def _deed(self, each: Happening, step: Step) -> Fault | Deed:
        if each.what == "board":
            return self.ground.fault(each.number)
        return {"crash": Fault.CRASH, "refuse": Fault.REFUSE}.get(each.what) or partial(self._before, each, step)

    def _before(self, each: Happening, step: Step) -> None:
        """A deed of the world."""
        if each.what == "person":
            people.careful(self, each.number)
        elif each.what == "crash":
            self._die(step.daemon, each.number)
        elif each.what == "other":
            if self.daemons[1 - step.daemon] is not None:
                self._tick(1 - step.daemon, nested=True)
        elif each.what == "threads":
            self._threads()
        elif each.what == "pass":
            self._pass((0.5, 6.0, 70.0)[each.number % 3])
        elif each.what == "step":
            self.clock.step((-7200.0, -30.0, 40.0, 10800.0)[each.number % 4])
        elif each.what == "suspend":
            self._suspend(7200.0)
        elif each.what == "freeze":
            self._freeze(step.daemon)
        elif each.what == "partial":
            self.ground.hide()

    def _suspend(self, seconds: float) -> None:
        for daemon in filter(None, self.daemons):
            daemon.memory.pulse.beat(self.clock.monotonic())
        self.clock.advance(seconds)
        for each in self.machine.live.values():
            each.lost += seconds
            each.ends += seconds
        self.watch.note("    the machine slept for two hours")

    def _freeze(self, index: int) -> None:
        """SIGSTOP for two leases, at any moment; the other daemon may take over meanwhile."""
        daemon = self.daemons[index]
        if daemon is None or not self.shared:
            return
        daemon.keeper.stopped_until = self.clock.monotonic() + 120.0
        self.watch.note(f"    daemon {index} is stopped for two minutes")
        for _ in range(3):
            self._pass(45.0)
            self._tick(1 - index, nested=True)

    def _threads(self) -> None:
        for index, daemon in enumerate(self.daemons):
            if daemon is not None:
                try:
                    daemon.slots.run_threads()
                except Crashed:
                    self._die(index, index)

    # -- daemons -------------------------------------------------------------------------------------------------------
    def _daemon(self, index: int) -> Dispatcher:
        found = self.daemons[index]
        if found is None:
            found = self.daemons[index] = self._start()
            self.watch.note(f"    daemon {index} starts as {found.owner.instance}")
        return found

    def _start(self) -> Dispatcher:
        owner = self.machine.process("d")
        door = self.parts.door(self.machine, owner, self.settings.runs.stall_timeout)
        slots, memory = self.parts.slots(door), Memory(instance=owner.instance)
        bot = self.on.folder / "bots" / "work.bot"
        board = self.ground.board(owner.instance)
        keeper = SimulatedKeeper(SimulatedLeases(self.database, self.clock, self.shared), owner)
        station = Station(
            settings=self.settings,
            boards={self.ground.name: board},
            store=self.store,
            store_name="sim",
            ledger=self.parts.ledger(self.database),
            engine=door,
            slots=slots,
            workspaces=MemoryWorkspaces(self.on.folder / "workspaces", self.ids, self.marks),
            run_hook=self._hook,
            unsaved=lambda _path: "",
            find_bot=lambda _name: bot,
            clock=self.clock,
            ids=self.ids,
            owner=owner,
            crash=SimulatedCrashPoints(self.seams),
            memory=memory,
            leadership=Leadership(keeper, self.database, memory.tally),
            journal=self.ground.journal(owner.instance),
        )
        return Dispatcher(owner, station, slots, memory, board, keeper)

    def _hook(self, _settings: HookSettings, call: Call) -> HookEnd:
        if call.status:
            record = self.store.runs.get(call.run_id)
            self.watch.hooked(call.run_id, record.epoch, self.seams.faults)
            return HookEnd(ok=True)
        fails = crc32(f"{call.run_id} {call.attempt}".encode()) % 11 == 0
        return HookEnd(ok=not fails, why="exit 1" if fails else "")

    def _die(self, index: int, number: int) -> None:
        dead = self.daemons[index]
        self.seams.dying = False
        if dead is not None:
            self.machine.kill(dead.owner.instance, (0.0, 0.0, 30.0, 900.0)[number % 4])
            self.ground.died(dead.owner.instance)
            self.watch.note(f"    daemon {index} is killed")
            self.seams.faults += 1
        self.daemons[index] = None

    def _bury(self, process: str) -> None:
        """A process died over a call of a run of its own."""
        for index, daemon in enumerate(self.daemons):
            if daemon is not None and daemon.owner.instance == process:
                self._die(index, self.ticks)
                return
        self.machine.kill(process)
        self.ground.died(process)
        self.watch.note(f"    {process} is killed")
        self.seams.faults += 1

    def _ended(self, process: str, run_id: str) -> None:
        for daemon in filter(None, self.daemons):
            if daemon.owner.instance == process:
                daemon.slots.ended(run_id)

    def _tick(self, index: int, *, nested: bool = False) -> None:
        daemon = self._daemon(index)
        if self.clock.monotonic() < daemon.keeper.stopped_until:
            return
        try:
            report = tick.run(daemon.station, self._mode)
            if not nested:
                daemon.slots.run_threads()
        except Crashed:
            self._die(index, self.ticks)
            return
        self.ticks += 1
        self.watch.decided(report)
        self.watch.ticked(daemon, report)
        self.ground.ticked()

    # -- rest ----------------------------------------------------------------------------------------------------------
    def _rest(self) -> None:
        """No more faults: people want it running, one daemon lives, and time goes by until nothing changes.

        Over a forge it is a new one: what a full disk kept from being written is settled when a daemon starts.
        """
        self.watch.note("rest")
        self.machine.calm()
        self.ground.settle()
        if self.ground.remote and self.daemons[0] is not None:
            self._die(0, 0)
        if self.daemons[1] is not None:
            self._die(1, 0)
        with self.database.write_alone() as connection:
            daemon_rows.want(connection, DesiredState("running", "a person", self.clock.now()))
            daemon_rows.close_breakers(connection, "board")
        daemon, still = self._daemon(0), 0
        for gap in self.ground.calm:
            self._pass(gap)
            before = self.ground.changes()
            self._tick(0)
            self._threads()
            if any(each.code == Reason.CLAIMED_ELSEWHERE for each in (daemon.memory.idle or {}).values()):
                self._pass(SETTLES)  # a claim of ours waits for a tick before its lease ends, as any daemon makes it
                self._tick(0)
                self._threads()
            unchanged = before == self.ground.changes() and not self.machine.live and gap == self.ground.calm[-1]
            still = still + 1 if unchanged else 0
            if still >= DESERTED:
                self.watch.at_rest(daemon, daemon.station.ledger.snapshot())
                return
        raise Broken(
            "the system comes to rest",
            f"it still writes after {sum(self.ground.calm):.0f} s; live {sorted(self.machine.live)}",
        )
