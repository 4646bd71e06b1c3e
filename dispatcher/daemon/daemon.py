"""The daemon: one instance, one station per generation, ticks, and what people and the web ask of it.

Made by ``cli/dispatch``; driven by ``loops``. It holds the instance locks from before the store is opened until the
process ends, and keeps no decision: everything that decides lies in the store (dispatcher.md 2, 23 to 25, 31).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dispatcher import __version__, log
from dispatcher.building import Kept, build
from dispatcher.candidate import Desired
from dispatcher.cleaning import finish_removals
from dispatcher.crashpoints import CrashPoints
from dispatcher.daemon.counting import count
from dispatcher.daemon.generations import Generations
from dispatcher.daemon.inbox import Inbox
from dispatcher.instance import InstanceLocks
from dispatcher.ledger.records import OWED
from dispatcher.metrics import Metrics
from dispatcher.notify import Notifier
from dispatcher.pickup import want
from dispatcher.refusals import Refused
from dispatcher.slots import Slots, Work
from dispatcher.state import instant, last_read
from dispatcher.station import INTERRUPT_LEASE_LOST, INTERRUPT_SHUTDOWN, Memory, Station
from dispatcher.tick import Mode, TickReport, run
from engine.errors import EngineError, StoreError
from engine.store.owners import owner_here
from engine.store.sqlite import path_of

if TYPE_CHECKING:
    from dispatcher.station import PersonsDoor
    from dispatcher.wiring import Wiring
    from engine.api import ResumeRequest

_log = log.get(__name__)
_DESIRED = {
    Desired.RUNNING: "dispatcher.resumed",
    Desired.PAUSED: "dispatcher.paused",
    Desired.DRAINING: "dispatcher.draining",
}
FRESH_FOR = 60.0
"""Seconds for which a complete tick keeps the daemon ready, when three intervals are shorter."""


class Daemon:
    """One dispatcher process. Ticks run in one thread at a time; the other methods may be called from any."""

    def __init__(self, wiring: Wiring, environment: Mapping[str, str], inbox: Inbox) -> None:
        self.wiring = wiring
        self.clock = wiring.clock
        self.inbox = inbox
        self.generations = Generations(wiring.settings, environment, self.clock)
        self.notifier = Notifier(environment, self.clock)
        self.metrics = Metrics(__version__)
        self.wake: Callable[[], None] = self.inbox.wake
        self.next_at: Callable[[], datetime | None] = lambda: None
        self.listens = ""
        """Where the page is, when there is a listener."""
        self.since = self.clock.now()
        self.progress = self.clock.monotonic()
        self.report: TickReport | None = None
        self.last_complete: float | None = None
        self._memory = Memory(instance=wiring.ids.new(), since=self.since)
        wiring.instance, wiring.tally = self._memory.instance, self._memory.tally
        owner = owner_here(self._memory.instance)
        root = wiring.settings.workspace.root
        shared = wiring.store_name if wiring.store_shared else ""
        self._locks = InstanceLocks(wiring.store_dir, root, owner, instant(self.since) or "", shared)
        self._kept = Kept(self._memory, Slots(self._ended), CrashPoints.of(environment), environment)
        wiring.passed = self._kept.crash.passed
        self._station: Station | None = None
        self._ticking = threading.Lock()
        self._seen: tuple[int | None, int] = (None, -1)
        self._file = None if wiring.store_shared else path_of(wiring.store_url)
        self._opened: tuple[int, int] | None = None
        self._desired = ""
        self._broken = self._phase = ""

    @property
    def slots(self) -> Slots:
        """The threads in which runs execute."""
        return self._kept.slots

    @property
    def station(self) -> Station:
        """The hands of the present generation; only after ``open``."""
        assert self._station is not None
        return self._station

    def missing_folder(self) -> str:
        """The folder that the store's own lies in, when it is not there: it is never made (dispatcher.md 31)."""
        parent = self.wiring.store_dir.parent
        return "" if parent.is_dir() else str(parent)

    def beat(self) -> None:
        """The process runs: called several times a second by who waits for messages."""
        self._memory.pulse.beat(self.clock.monotonic())

    def notice(self) -> bool:
        """Look whether an outcome, a pause or a move was stored since the last look, by whichever process.

        The next tick is brought forward then. Costs a counter of the database when nothing was written at all.
        """
        database = self.wiring.database
        try:
            version = database.version()
            if version is not None and version == self._seen[0]:
                return False
            before, self._seen = self._seen, (version, database.sequence())
        except StoreError:
            return False  # the next tick finds it, and says so
        news = before[1] not in (-1, self._seen[1])
        if news:
            self.wake()
        return news

    def open(self) -> None:
        """Take the instance locks, then open and migrate the store. Raises ``Refused``, ``StoreError``."""
        if missing := self.missing_folder():
            hint = "Make it, or mount it, and start again."
            raise Refused("store_unreachable", f"The folder {missing} of the store is not there", hint)
        self._locks.acquire()
        threading.excepthook = _thread_failed
        self.wiring.watches = True
        self._station = build(self.wiring, self.generations.settings, self._kept)
        self._opened = _identity(self._file) if self._file is not None else None
        self._station.workspaces.check_root(self.wiring.store_dir)
        finish_removals(self._station.workspaces)
        _log.info("dispatcher.started", instance=self._memory.instance, version=__version__)

    def open_dry(self) -> None:
        """Only look: no lock, and the store as it is."""
        self._station = build(self.wiring, self.generations.settings, self._kept)

    def close(self) -> None:
        """Give leases and locks back; where a tick hangs still, they end with the process."""
        if self._memory.left:
            return
        if self._station is not None:
            self._station.leadership.give_up()
        self._locks.release()

    def settle_last(self) -> threading.Event:
        """Settle what ended, in a thread of its own, when the tick under way is over; set when that is done."""
        done = threading.Event()
        self._memory.break_off.clear()

        def work() -> None:
            try:
                with self._ticking:
                    run(self.station, Mode(pick=False, last=True, mark=self._mark))
            finally:
                done.set()
                self.inbox.wake()

        threading.Thread(target=work, name="last tick", daemon=True).start()
        return done

    def interrupt(self) -> None:
        """End every run that executes here, and every hook before one, as a stop does."""
        self._memory.break_off.set()
        self.wiring.engine.interrupt_all(INTERRUPT_SHUTDOWN)

    def leave(self) -> None:
        """The process ends now: the tick under way does nothing more."""
        self._memory.left = True

    def tick(self, *, pick: bool = True, dry: bool = False) -> TickReport:
        """One tick of the newest generation. Raises ``Refused`` when another process took the instance lock."""
        with self._ticking:
            if not dry:
                self._check_instance()
            self._renew()
            report = run(self.station, Mode(dry=dry, pick=pick, mark=self._mark))
        self._take(report)
        return report

    def _renew(self) -> None:
        """Take over what the file says by now, and let go of removed boards whose work has ended."""
        self._told(self.generations.look())
        settings = self.generations.take()
        if self.generations.removed:
            settings = self.generations.retire(self._boards_at_work()) or settings
        if settings is not None:
            self.wiring.take(settings)
            self._station = build(self.wiring, settings, self._kept, self.generations.removed)

    def _boards_at_work(self) -> frozenset[str]:
        snapshot = self.wiring.ledger.snapshot()
        begun = (key for key, intent in snapshot.intents.items() if intent.point != OWED)
        keys = {*snapshot.active(), *begun, *(work.key for work in self.slots.executing())}
        return frozenset(board for board, _ in keys)

    def _check_instance(self) -> None:
        if self._file is not None and _identity(self._file) != self._opened:
            self.wiring.engine.interrupt_all(INTERRUPT_LEASE_LOST)
            text = f"The store {self._file} was removed or replaced while the daemon ran"
            raise Refused("store_unreachable", text, "Put it back, or start again with what is there now.")
        if not self._locks.keep():
            _log.error("dispatcher.instance_lock_lost")
            self.wiring.engine.interrupt_all(INTERRUPT_LEASE_LOST)
            raise Refused(
                "instance_held", "Another dispatcher took the lock of this store", "Only one may run per store."
            )

    def _take(self, report: TickReport) -> None:
        self.report, self._broken, self._phase = report, "", ""
        count(self.metrics, report, self.clock.now().timestamp())
        self.metrics.take(self._memory.tally)
        self.metrics.set("pointsman_config_generation", self.generations.number)
        if report.complete:
            self.last_complete = self.clock.monotonic()
        self.notifier.status(self.status())
        desired = report.state.get("desired")
        if isinstance(desired, dict):
            self._tell_desired(str(desired["state"]), desired["by"])

    def broke(self, error: str) -> None:
        """A tick ended by what nobody expected: the daemon is not ready, and says why, until one comes to its end."""
        self._broken, self._phase = f"the last tick broke off: {error}", ""
        self.metrics.count("pointsman_ticks_total", result="failed")
        self.notifier.status(self.status())

    def _mark(self, phase: str) -> None:
        self.progress = self.clock.monotonic()
        self._phase = phase or self._phase

    def _ended(self) -> None:
        self.wake()

    def status(self) -> str:
        """One line for systemd and for people: slots, parked, held, when every board was read last, what is wrong."""
        state = self.report.state if self.report else {}
        parked, held = len(_list(state, "parked")), len(_list(state, "held"))
        used, most = len(self.slots.executing()), self.generations.settings.concurrency.max
        text = f"{used}/{most} running, {parked} parked, {held} held, {last_read(state)}"
        error = self._broken or self.generations.error or (self.report.error if self.report else "")
        wrong = error or next((str(each["text"]) for each in _list(state, "degraded") if isinstance(each, dict)), "")
        return f"{text}; {wrong}" if wrong else text

    def next_due(self) -> datetime | None:
        """The nearest retry, of a run or of a move, for whoever sets the clock."""
        snapshot, now = self.wiring.ledger.snapshot(), self.clock.now()
        due = [retry.not_before for retry in snapshot.retries.values()]
        due += [move.next_at for move in snapshot.pending.values()]
        return min((each for each in due if each > now), default=None)

    def stopping(self) -> None:
        """From now on nothing starts."""
        if not self._memory.stopping_since:
            self._memory.stopping_since = instant(self.clock.now()) or "now"
            _log.info("dispatcher.stopping")
            self.notifier.stopping("stopping")

    # -- what the web side asks (web/backstage.py, DaemonDoor) ---------------------------------------------------------
    def state(self) -> Mapping[str, object]:
        """The document of ``GET /api/dispatcher``."""
        report, generations = self.report, self.generations
        base: Mapping[str, object] = report.state if report else {}
        known = base.get("tick")
        tick = dict(known) if isinstance(known, dict) else {}
        if report is not None:
            tick |= {
                "seconds": round(report.seconds, 4),
                "complete": report.complete,
                "next_at": instant(self.next_at()),
            }
        tick |= {"phase": self._phase or None}
        config = {
            "generation": generations.number,
            "loaded_at": instant(generations.loaded_at),
            "error": generations.error or None,
            "restart_required": list(generations.restart_required),
            "watch": generations.watch,
        }
        own = {"version": __version__, "since": instant(self.since), "config": config, "tick": tick}
        slots = {"used": 0, "max": generations.settings.concurrency.max, "over": 0, "overdue": 0}
        return {"slots": slots, **base, **own, "ready": not self.not_ready(), "instance": self._memory.instance}

    def not_ready(self) -> Sequence[str]:
        """Why the daemon is not ready; nothing when it is."""
        reasons = []
        limit = max(3 * self.generations.settings.tick.interval, FRESH_FOR)
        if self._memory.stopping_since:
            reasons.append("the daemon is stopping")
        if self._broken:
            reasons.append(self._broken)
        if self.last_complete is None:
            reasons.append("no tick has completed yet")
        elif self.clock.monotonic() - self.last_complete > limit:
            reasons.append(f"no tick completed within {limit:g} s")
        if self.report is not None and any(
            _code(each) == "store_degraded" for each in _list(self.report.state, "degraded")
        ):
            reasons.append("the store takes no writes")
        slots = self.slots.executing()
        most = self.generations.settings.concurrency.max
        if len(slots) >= most and all(self.slots.overdue(work.key) for work in slots):
            reasons.append("every slot is used by a run that was told to stop and did not")
        return reasons

    def refresh(self, source: str) -> None:
        """Bring the next tick forward."""
        self.metrics.count("pointsman_wakes_total", source=source, result="coalesced")
        self.wake()

    def desire(self, state: str, by: str) -> None:
        """Store what people ask for."""
        want(self.wiring.ledger, Desired(state), by, self.clock.now())
        self._tell_desired(state, by)

    def _tell_desired(self, state: str, by: object) -> None:
        """Say it once when it changes, whoever stored it."""
        before, self._desired = self._desired, state
        if before != state and Desired(state) in _DESIRED and (before or Desired(state) is not Desired.RUNNING):
            _log.info(_DESIRED[Desired(state)], by=by)

    def reload(self) -> bool:
        """Read the configuration again; whether there is a next generation."""
        self.notifier.reloading()
        good = self.generations.reload()
        self._told(good)
        self.notifier.reloaded(self.status())
        self.wake()
        return good

    def look(self) -> None:
        """Read the configuration again when its file was changed and left alone since; never waits."""
        if self.generations.stirred() and self._told(self.generations.look()):
            self.wake()

    def _told(self, good: bool | None) -> bool:
        """Count what came of a look at the file; whether it was read."""
        if good is not None:
            self.metrics.count("pointsman_config_reloads_total", result="ok" if good else "refused")
        return good is not None

    def execute(self, run_id: str, work: Callable[[], None]) -> bool:
        """Execute a person's resume in a slot's thread, also when all are used. Raises ``Refused`` while stopping."""
        if self._memory.stopping_since:
            raise Refused("refused", "The daemon is stopping", "Start it again, or resume on the command line.")
        link = self.wiring.ledger.links_of_runs([run_id]).get(run_id)
        key = link.key if link is not None else ("", run_id)
        used = Work(key, run_id, "", link.bot if link else "", since=self.clock.monotonic())
        return self.slots.submit(used, work)

    def take_up(self, request: ResumeRequest) -> None:
        """Execute a person's resume until it stops: in this thread, or in a process of its own."""
        cast("PersonsDoor", self.station.engine).take_up(request)


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file it is; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _list(state: Mapping[str, object], name: str) -> Sequence[object]:
    found = state.get(name)
    return found if isinstance(found, list) else []


def _code(each: object) -> str:
    return str(each.get("code")) if isinstance(each, dict) else ""


def _thread_failed(args: threading.ExceptHookArgs) -> None:
    """A thread of a run ended by what nobody expected: one line, and the next tick finds what it left."""
    told = args.exc_value.message if isinstance(args.exc_value, (EngineError, StoreError)) else repr(args.exc_value)
    name = args.thread.name if args.thread else ""
    _log.error(
        "dispatcher.tick_failed", thread=name, error=told, exc_info=(args.exc_type, args.exc_value, args.exc_traceback)
    )
