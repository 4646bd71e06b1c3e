"""When the next tick runs: one APScheduler interval job, and wake-ups that bring it forward (dispatcher.md 26, 30).

The scheduler is only the clock. A wake-up while a tick runs brings the next one, not a second one at once; ticks are at
least 100 ms apart. Durable times (retries, scheduled starts) live in the ledger; the nearest of them is told to ``at``.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from dispatcher import log
from dispatcher.daemon.inbox import APART
from engine.ports import Clock

_JOB = "tick"
_log = log.get(__name__)


class _Apart(DebugExecutor):  # type: ignore[misc]
    """Ticks in one thread that the end of the process does not wait for, whatever they hang in."""

    def start(self, scheduler: Any, alias: str) -> None:
        """Called by the scheduler."""
        super().start(scheduler, alias)
        self._due: queue.SimpleQueue[tuple[Any, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="ticks", daemon=True).start()

    def shutdown(self, wait: bool = True) -> None:
        """End the thread behind the tick under way."""
        self._due.put(None)

    def _do_submit_job(self, job: Any, run_times: Any) -> None:
        self._due.put((job, run_times))

    def _work(self) -> None:
        while (due := self._due.get()) is not None:
            super()._do_submit_job(*due)


class Clockwork:
    """The clock of one daemon. Thread-safe."""

    def __init__(
        self, clock: Clock, interval: float, tick: Callable[[], None], failed: Callable[[str], None] = lambda _: None
    ) -> None:
        self._clock = clock
        self._interval = interval
        self._tick = tick
        self._lock = threading.Lock()
        self._ticking = False
        self._again = False
        self._ended = datetime.min.replace(tzinfo=UTC)
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a skipped firing is what coalescing is for
        self._scheduler = BackgroundScheduler(timezone=UTC, executors={"default": _Apart()})
        self._scheduler.add_listener(self._failed, EVENT_JOB_ERROR | EVENT_JOB_MISSED)
        self._tell_failed = failed

    def start(self) -> None:
        """Begin with a tick at once."""
        self._scheduler.add_job(
            self._fire,
            "interval",
            seconds=self._interval,
            id=_JOB,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
            next_run_time=self._clock.now(),
        )
        self._scheduler.start()

    def wake(self) -> None:
        """Bring the next tick forward; any number of these before it is one."""
        with self._lock:
            if self._ticking:
                self._again = True
                return
            self._bring_forward(max(self._clock.now(), self._ended + timedelta(seconds=APART)))

    def at(self, instant: datetime) -> None:
        """Something is due then: the next tick runs no later."""
        with self._lock:
            self._bring_forward(max(instant, self._ended + timedelta(seconds=APART)))

    def set_interval(self, seconds: float) -> None:
        """Another interval from now on."""
        if seconds != self._interval:
            self._interval = seconds
            self._scheduler.reschedule_job(_JOB, trigger="interval", seconds=seconds)

    def next_at(self) -> datetime | None:
        """When the next tick runs."""
        job = self._scheduler.get_job(_JOB)
        return job.next_run_time if job is not None else None

    def stop(self) -> None:
        """No further tick; one under way is not waited for."""
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            self._scheduler.shutdown(wait=False)

    def _bring_forward(self, instant: datetime) -> None:
        job = self._scheduler.get_job(_JOB)
        if job is not None and (job.next_run_time is None or instant < job.next_run_time):
            self._scheduler.modify_job(_JOB, next_run_time=instant)

    def _fire(self) -> None:
        with self._lock:
            self._ticking, self._again = True, False
        try:
            self._tick()
        finally:
            with self._lock:
                self._ticking = False
                self._ended = self._clock.now()
                if self._again:
                    self._bring_forward(self._ended + timedelta(seconds=APART))

    def _failed(self, event: JobExecutionEvent) -> None:
        """A tick ended by what nobody expected: told in the log, and to whoever answers for the daemon's health."""
        exception = getattr(event, "exception", None)
        _log.error("dispatcher.tick_failed", error=repr(exception) if exception else "the tick was missed")
        if exception:
            self._tell_failed(repr(exception))
