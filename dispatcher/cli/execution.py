"""Executing a run from the command line: signals, progress, questions on the terminal, auto-resume, the exit code.

Used by ``run`` and ``resume``. The engine executes in this thread; signal handlers only tell it to stop. Implements
interface.md 1 (exit codes) and 3, engine.md 1.7 and 7.9.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

from dispatcher.cli.asking import ask, can_ask
from dispatcher.cli.progress import Progress
from dispatcher.cli.run_text import stop_text
from dispatcher.cli.session import Session
from engine.documents import run_document
from engine.states import RunStatus, requires_answers

if TYPE_CHECKING:
    from engine.api import Engine
    from engine.run import RunRecord

EXIT_CODES: Mapping[str, int] = MappingProxyType(
    {
        RunStatus.FINISHED: 0,
        RunStatus.FAILED: 1,
        RunStatus.FAILED_RESUMABLE: 3,
        RunStatus.PAUSED_WAITING_HUMAN: 4,
        RunStatus.PAUSED_OPERATOR: 4,
        RunStatus.CANCELLED: 130,
        RunStatus.RUNNING: 5,
        RunStatus.QUEUED: 5,
    }
)
"""Where a run stands when the command ends -> exit code, total over the statuses."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about going on by itself. ``raised``: it carried a ``--max-*`` flag."""

    auto_resume: int
    raised: bool
    interactive: bool
    timeout: float = 0.0


def execute(session: Session, wishes: Wishes, begin: Callable[[Progress], RunRecord]) -> int:
    """Run ``begin`` and whatever follows from the wishes; print how the run stands; its exit code."""
    from engine.api import AutoResume

    engine = session.wiring().engine
    ended = threading.Event()
    progress = Progress(session)
    with _signals(engine, ended), progress:
        record = _answered(session, engine, wishes, progress, begin(progress))
        if wishes.auto_resume and not ended.is_set():
            asked = AutoResume(
                most=wishes.auto_resume, raised=wishes.raised, timeout=wishes.timeout, stop=ended, say=session.warn
            )
            record = _answered(session, engine, wishes, progress, engine.auto_resume(record, asked))
    view = engine.inspect(record.id)
    if session.json:
        session.emit(run_document(view))
    else:
        session.say(stop_text(view))
    return EXIT_CODES.get(view.record.status, 1)


def _answered(session: Session, engine: Engine, wishes: Wishes, progress: Progress, record: RunRecord) -> RunRecord:
    """Ask on the terminal, and go on, as long as the run pauses for a person who sits there."""
    from engine.api import ResumeRequest

    while requires_answers(record.status) and wishes.interactive and can_ask():
        progress.clear()
        texts = ask(session, engine.inspect(record.id))
        if texts is None:
            return record
        request = ResumeRequest(record.id, texts=texts, timeout=wishes.timeout, progress=progress.node)
        record = engine.resume(request)
    return record


@contextmanager
def _signals(engine: Engine, ended: threading.Event) -> Iterator[None]:
    """Ctrl-C cancels, a second one kills; SIGTERM and SIGHUP interrupt. A wait between two attempts ends too."""
    presses = 0

    def on_interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        waiting = ended.is_set()
        ended.set()
        if presses > 1:
            engine.kill_all()
        if not engine.cancel_all("Ctrl-C") and waiting:
            raise KeyboardInterrupt

    def on_terminate(number: int, _frame: FrameType | None) -> None:
        ended.set()
        engine.interrupt_all(signal.Signals(number).name)

    handlers = {signal.SIGINT: on_interrupt, signal.SIGTERM: on_terminate, signal.SIGHUP: on_terminate}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
