"""Executing a run from the command line: signals, progress, questions on the terminal, auto-resume, the exit code.

Used by ``run`` and ``resume``. The engine executes in this thread; signal handlers only tell it to stop. Implements
interface.md 1 (exit codes) and 3, engine.md 1.7 and 7.9.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Self

from dispatcher.cli.asking import ask, can_ask
from dispatcher.cli.progress import Progress
from dispatcher.cli.run_text import stop_text
from dispatcher.cli.session import Session
from engine.documents import run_document
from engine.states import RunStatus, requires_answers

if TYPE_CHECKING:
    from engine.api import Engine, ResumeRequest
    from engine.documents import RunView
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
    """What the command line says about going on by itself. ``raised``: it carried a ``--max-*`` flag.

    ``request`` is the resume that was asked for; answers that are typed on the terminal go with it.
    """

    auto_resume: int
    raised: bool
    interactive: bool
    timeout: float = 0.0
    request: ResumeRequest | None = None


def execute(session: Session, wishes: Wishes, begin: Callable[[Progress], RunRecord]) -> int:
    """Run ``begin`` and whatever follows from the wishes; print how the run stands; its exit code."""
    from engine.api import AutoResume

    engine = session.wiring().engine
    progress = Progress(session)
    with _Signals(engine) as signals, progress:
        record = _answered(session, engine, wishes, progress, begin(progress))
        if wishes.auto_resume and not signals.ended.is_set():
            signals.between = True
            asked = AutoResume(
                most=wishes.auto_resume,
                raised=wishes.raised,
                timeout=wishes.timeout,
                stop=signals.ended,
                say=session.warn,
            )
            record = _answered(session, engine, wishes, progress, engine.auto_resume(record, asked))
    view = engine.inspect(record.id)
    if session.json:
        session.emit(run_document(view))
    else:
        session.say(stop_text(view) + _branch_text(engine, view))
    return EXIT_CODES.get(view.record.status, 1)


def _branch_text(engine: Engine, view: RunView) -> str:
    """Where the work of a run in a worktree is, as one more line; empty for any other."""
    last = engine.store.timeline.events(view.record.id, view.record.event_seq - 1)
    branch = next((event.data["branch"] for event in last if "branch" in event.data), "")
    return f"\n  its work is on branch {branch}" if branch else ""


def _answered(session: Session, engine: Engine, wishes: Wishes, progress: Progress, record: RunRecord) -> RunRecord:
    """Ask on the terminal, and go on, as long as the run pauses for a person who sits there."""
    from engine.api import ResumeRequest
    from engine.errors import InvalidAnswers

    request = wishes.request or ResumeRequest(record.id, timeout=wishes.timeout)
    while requires_answers(record.status) and wishes.interactive and can_ask():
        progress.clear()
        texts = ask(session, engine.inspect(record.id))
        if texts is None:
            return record
        try:
            record = engine.resume(replace(request, texts=texts, answers=None, progress=progress.node))
        except InvalidAnswers as problem:
            session.warn(f"  {problem.message}")
    return record


class _Signals:
    """Ctrl-C cancels, a second one kills; SIGTERM and SIGHUP interrupt. A wait between two attempts only ends."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._presses = 0
        self._before: dict[signal.Signals, object] = {}
        self.ended = threading.Event()
        """Set once somebody wants the command to end."""
        self.between = False
        """Whether the command may be waiting between two attempts, where nothing has to be stopped."""

    def __enter__(self) -> Self:
        handlers = {signal.SIGINT: self._cancel, signal.SIGTERM: self._interrupt, signal.SIGHUP: self._interrupt}
        self._before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _cancel(self, _number: int, _frame: FrameType | None) -> None:
        self._presses += 1
        if self._presses > 1:
            self._engine.kill_all()
        self._end(self._engine.cancel_all("Ctrl-C"))

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        self._end(self._engine.interrupt_all(signal.Signals(number).name))

    def _end(self, stopped: int) -> None:
        self.ended.set()
        if not stopped and not self.between:
            raise KeyboardInterrupt
