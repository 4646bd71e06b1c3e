"""How a dispatcher process spends its life: one tick, until nothing is left to do, or until it is told to stop.

Called by ``cli/dispatch``, which catches the signals. The main thread waits for messages only; ticks of the daemon run
in the thread of the scheduler (dispatcher.md 4, 24, 30, 32).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dispatcher import log
from dispatcher.daemon.daemon import FRESH_FOR, Daemon
from dispatcher.daemon.inbox import APART, Message
from dispatcher.refusals import Refused
from dispatcher.slots import Work
from dispatcher.station import INTERRUPT_SHUTDOWN
from dispatcher.tick import TickReport
from engine.errors import EngineError

_log = log.get(__name__)
LOOK = 0.25
"""Seconds between two looks of the main thread."""
SOON = 0.05
"""Seconds between two looks for a signal while a tick of a bounded run goes on."""
NEWS, NEWS_SHARED = 0.02, 0.1
"""Seconds between two looks whether somebody changed the store: a counter of a file, or a query to a server."""
KILL_GRACE = 8.0
"""Seconds for which interrupted runs are waited for: their groups are killed after five."""
SETTLE_GRACE = 5.0
"""Seconds in which what ended is settled, once a stop has ended everything."""
EXTEND_EVERY = 5.0


@dataclass(frozen=True, slots=True)
class Done:
    """What a bounded run of the dispatcher did, and the exit code it deserves."""

    reports: Sequence[TickReport]
    exit_code: int = 0


def once(daemon: Daemon) -> Done:
    """One tick, wait for the runs that it started, one more so that they settle."""
    reports: list[TickReport] = []
    if _ticked(daemon, reports, None) or not _wait_for_runs(daemon):
        stop(daemon)
        _settle_last(daemon)
    else:
        _ticked(daemon, reports, None, pick=False)
    return Done(reports)


def _wait_for_runs(daemon: Daemon) -> bool:
    """Wait until nothing executes; False when a stop was asked for."""
    while daemon.slots.here():
        if daemon.inbox.get(LOOK) is Message.STOP:
            return False
    return True


def until_idle(daemon: Daemon, timeout: float) -> Done:
    """Tick until nothing runs and no card is actionable; exit 1 when ``timeout`` (seconds, 0 for none) ends first."""
    reports: list[TickReport] = []
    end = daemon.clock.monotonic() + timeout if timeout else None
    while True:
        at_work = daemon.slots.executing()  # what ends during a tick is settled by the next one
        told = _ticked(daemon, reports, end)
        begun = daemon.clock.monotonic()
        if not told:
            at_rest = not at_work and not daemon.slots.executing() and not _unsettled(reports[-1])
            if at_rest and not reports[-1].actionable:
                return Done(reports)
        late = end is not None and begun >= end
        if told or late or _pause(daemon, begun, end) is Message.STOP:
            stop(daemon)
            _settle_last(daemon)
            return Done(reports, 1 if late else 0)


def _ticked(daemon: Daemon, reports: list[TickReport], end: float | None, *, pick: bool = True) -> bool:
    """One more tick, beside this thread, which hears a signal meanwhile; whether that, or ``end``, came first.

    Raises as the tick does.
    """
    ended, woken = threading.Event(), False
    failed: list[Refused | EngineError] = []

    def work() -> None:
        try:
            reports.append(daemon.tick(pick=pick))
        except (Refused, EngineError) as error:
            failed.append(error)
        finally:
            ended.set()

    before = len(reports)
    threading.Thread(target=work, name="tick", daemon=True).start()
    while not ended.wait(SOON):
        message = daemon.inbox.get(0)
        if message is Message.STOP or (end is not None and daemon.clock.monotonic() >= end):
            return True
        woken |= message is Message.WAKE
    if woken:
        daemon.inbox.wake()
    if failed or len(reports) == before:
        raise failed[0] if failed else Refused("engine_error", "The tick broke off.", "The log says by what.")
    return False


def _unsettled(report: TickReport) -> bool:
    """Whether this tick changed something that the next one may act on."""
    return bool(set(report.counts) - {"hold"})


def _pause(daemon: Daemon, begun: float, end: float | None) -> Message | None:
    """Wait for the next tick: its interval, a retry that is due, a run that ended; at least 100 ms after the last."""
    interval = daemon.generations.settings.tick.interval
    if daemon.report is not None and _unsettled(daemon.report):
        interval = 0.0
    due = daemon.next_due()
    waits = [interval]
    if due is not None:
        waits.append((due - daemon.clock.now()).total_seconds())
    if end is not None:
        waits.append(end - begun)
    message = daemon.inbox.get(max(APART, min(waits)))
    while message is Message.WAKE and daemon.clock.monotonic() - begun < APART:
        message = daemon.inbox.get(APART - (daemon.clock.monotonic() - begun)) or Message.WAKE
        if daemon.clock.monotonic() - begun >= APART:
            break
    return message


def await_folder(daemon: Daemon) -> bool:
    """Look for the folder that the store lies in until it is there; False when a stop was asked for first."""
    told = ""
    while missing := daemon.missing_folder():
        text = f"waiting for {missing}, the folder of the store, to be made or mounted"
        if missing != told:
            _log.warning("store.degraded", error=text)
            told = missing
        daemon.notifier.status(text)
        daemon.notifier.extend(2 * EXTEND_EVERY)
        if daemon.inbox.get(min(daemon.generations.settings.tick.interval, EXTEND_EVERY)) is Message.STOP:
            daemon.stopping()
            return False
    return True


def open_store(daemon: Daemon) -> None:
    """Open the daemon; while that takes time (a migration by somebody else), systemd is told. Raises as ``open``."""
    opened = threading.Event()

    def tell() -> None:
        while not opened.is_set():
            daemon.notifier.status("waiting for the store to open")
            daemon.notifier.extend(2 * EXTEND_EVERY)
            opened.wait(EXTEND_EVERY)

    teller = threading.Thread(target=tell, name="start-up", daemon=True)
    if daemon.notifier.heard:
        teller.start()
    try:
        daemon.open()
    finally:
        opened.set()
        if daemon.notifier.heard:
            teller.join()


def forever(daemon: Daemon) -> int:
    """Tick until a signal says stop; the exit code."""
    from dispatcher.daemon.clockwork import Clockwork

    broken: list[Refused] = []

    def tick() -> None:
        try:
            daemon.tick()
            due = daemon.next_due()
        except Refused as refused:
            broken.append(refused)
            daemon.inbox.put(Message.STOP)
            return
        if due is not None:
            clockwork.at(due)
        clockwork.set_interval(daemon.generations.settings.tick.interval)

    clockwork = Clockwork(daemon.clock, daemon.generations.settings.tick.interval, tick, daemon.broke)
    daemon.wake, daemon.next_at = clockwork.wake, clockwork.next_at
    daemon.beat()
    daemon.generations.open()
    clockwork.start()
    with _noticing(daemon):
        attend(daemon)
    clockwork.stop()
    daemon.generations.close()
    stop(daemon)
    if broken:
        raise broken[0]
    _log.info("dispatcher.stopped", settled=_settle_last(daemon))
    return 0


def _settle_last(daemon: Daemon) -> bool:
    """What can be settled within ``SETTLE_GRACE`` is; what a forge or the store holds up, the next process settles."""
    end, settled = daemon.clock.monotonic() + SETTLE_GRACE, daemon.settle_last()
    while not settled.is_set() and (left := end - daemon.clock.monotonic()) > 0:
        daemon.beat()
        if daemon.inbox.get(min(LOOK, left)) is Message.STOP:
            break
    if not settled.is_set():
        daemon.leave()
    return settled.is_set()


@contextmanager
def _noticing(daemon: Daemon) -> Iterator[None]:
    """Look at the store beside the main thread, which must hear a signal also while a database does not answer."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(NEWS_SHARED if daemon.wiring.store_shared else NEWS):
            daemon.notice()

    threading.Thread(target=look, name="store-news", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def attend(daemon: Daemon) -> None:
    """Wait for messages; tell systemd how it goes while progress is fresh."""
    ready, pinged = False, daemon.clock.monotonic()
    daemon.notifier.status("waiting for the first tick to end")
    while True:
        message = daemon.inbox.get(LOOK)
        daemon.beat()
        if message is Message.STOP:
            return
        if message is Message.RELOAD:
            daemon.reload()
        daemon.look()
        if not ready and daemon.last_complete is not None:
            ready = True
            daemon.notifier.ready(daemon.status())
            _log.info("dispatcher.ready", listens=daemon.listens)
        now = daemon.clock.monotonic()
        if not ready and now - pinged >= EXTEND_EVERY:
            pinged = now
            daemon.notifier.extend(2 * EXTEND_EVERY)
        if ready and daemon.notifier.watchdog_seconds and now - pinged >= daemon.notifier.watchdog_seconds / 2:
            pinged = now
            if now - daemon.progress <= _fresh(daemon):
                daemon.notifier.watchdog()


def _fresh(daemon: Daemon) -> float:
    tick = daemon.generations.settings.tick
    return max(3 * tick.interval, 2 * tick.board_deadline, FRESH_FOR)


def stop(daemon: Daemon) -> None:
    """Nothing starts any more; runs get the grace to reach a boundary, then they are interrupted; their groups die.

    Runs in processes of their own go on without the daemon, and the next one finds them (engine.md 12.3).
    """
    daemon.stopping()
    if left := len(daemon.slots.executing()) - len(_here(daemon)):
        _log.info("dispatcher.runs_left", runs=left)
    engine = daemon.wiring.engine
    engine.drain_all(INTERRUPT_SHUTDOWN)
    if not _drained(daemon, daemon.generations.settings.shutdown.grace):
        daemon.interrupt()
        if not _drained(daemon, KILL_GRACE):
            engine.kill_all()
            _drained(daemon, 1.0)


def _here(daemon: Daemon) -> Sequence[Work]:
    """What ends with this process: threads that execute a run, not those that wait for the process of one."""
    if not daemon.station.engine.isolated():
        return daemon.slots.here()
    executing = daemon.wiring.engine.executing()
    return [work for work in daemon.slots.here() if work.run_id in executing]


def _drained(daemon: Daemon, seconds: float) -> bool:
    """Whether everything ended within ``seconds``; a further stop signal ends the waiting."""
    end = daemon.clock.monotonic() + seconds
    extended = 0.0
    while _here(daemon):
        daemon.beat()
        now = daemon.clock.monotonic()
        if now >= end:
            return False
        if now - extended >= EXTEND_EVERY:
            extended = now
            daemon.notifier.extend(2 * EXTEND_EVERY)
        if daemon.inbox.get(min(LOOK, end - now)) is Message.STOP:
            return False
    return True
