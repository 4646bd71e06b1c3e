"""How a running attempt is told to stop, and what it was told.

One ``StopCell`` per attempt, shared by the thread that works, by signal handlers and by the watcher of the run's row.
The cause is set before the stop is signalled; nobody guesses it from an exception afterwards. Implements engine.md 1.7.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.signs import Signs
from engine.states import RunStatus
from engine.store.changes import Stop
from engine.store.changes import StopKind as Request


class StopKind(StrEnum):
    """Who stops the run."""

    CANCEL = "cancel"
    """A person: the run ends cancelled."""
    INTERRUPT = "interrupt"
    """A machine: drain, SIGTERM, stall, an outside move of the card."""
    SIBLING = "sibling"
    """A branch beside this one failed, and the join waits for all of them."""
    LOST = "lost"
    """Somebody else owns the run now; nothing more is written."""


@dataclass(frozen=True, slots=True)
class StopCause:
    """Why. ``recorded`` says that the store already holds the stop, as a cancel from elsewhere does."""

    kind: StopKind
    reason: str
    recorded: bool = False


class StopCell:
    """A stop that has perhaps been asked for.

    ``event`` is set once a node in flight has to end. A pause ends no node and leaves it unset. ``signs`` are the signs
    of life of the attempt, with the process groups that ``kill`` ends at once.
    """

    def __init__(self, signs: Signs, parent: StopCell | None = None) -> None:
        self.event = threading.Event()
        self.signs = signs
        self.root: StopCell = parent.root if parent else self
        self._children: list[StopCell] = []
        self._adopted: list[StopCell] = []
        self._lock = threading.Lock()
        self._cause: StopCause | None = None
        self._pause = False

    @property
    def cause(self) -> StopCause | None:
        """The first cause given, or None."""
        return self._cause

    @property
    def pause_requested(self) -> bool:
        """Whether the next boundary should pause the run."""
        return self._pause

    def stop(self, cause: StopCause) -> bool:
        """Ask the attempt to stop; True when this was the first cause."""
        with self._lock:
            first = self._cause is None
            if first:
                self._cause = cause
            children, adopted = tuple(self._children), tuple(self._adopted)
        self.event.set()
        for child in children:
            child.stop(cause)
        for child in adopted:
            child.stop(_for_child(cause))
        return first

    def child(self) -> StopCell:
        """A cell that stops with this one, and may be stopped alone: that of one fan-out's branches."""
        made = StopCell(self.signs, self)
        with self._lock:
            self._children.append(made)
            cause = self._cause
        if cause is not None:
            made.stop(cause)
        return made

    def adopt(self, child: StopCell) -> None:
        """Stop the attempt of another run with this one. That run's own row does not know of it yet."""
        with self._lock:
            self._adopted.append(child)
            cause = self._cause
        if cause is not None:
            child.stop(_for_child(cause))

    def release(self, child: StopCell) -> None:
        """Forget a child whose fan-out is over."""
        with self._lock:
            self._children.remove(child)

    def drain(self, cause: StopCause) -> None:
        """Ask the attempt to stop at its next node boundary; a node in flight goes on."""
        with self._lock:
            if self._cause is None:
                self._cause = cause

    def pause(self) -> None:
        """Ask for a pause at the next node boundary."""
        self._pause = True

    def kill(self) -> None:
        """Give processes of the node no more time."""
        self.signs.kill()

    def is_set(self) -> bool:
        """Whether a node in flight has to end."""
        return self.event.is_set()


def _for_child(cause: StopCause) -> StopCause:
    """A parent's stop as its child run is told: a person's cancel, or an interruption."""
    kind = StopKind.CANCEL if cause.kind is StopKind.CANCEL else StopKind.INTERRUPT
    return StopCause(kind, f"the parent run stopped: {cause.reason}")


def heed(cell: StopCell, seen: Stop, epoch: int) -> None:
    """Turn what the run's row says into a stop of the attempt that claimed it with ``epoch``."""
    if seen.epoch != epoch:
        cell.stop(StopCause(StopKind.LOST, "another owner claimed the run"))
    elif seen.status == RunStatus.CANCELLED:
        cell.stop(StopCause(StopKind.CANCEL, seen.reason or "cancelled from elsewhere", recorded=True))
    elif seen.request == Request.CANCEL:
        cell.stop(StopCause(StopKind.CANCEL, seen.reason or "cancelled"))
    elif seen.request == Request.INTERRUPT:
        cell.stop(StopCause(StopKind.INTERRUPT, seen.reason or "interrupted from elsewhere"))
    elif seen.request == Request.PAUSE:
        cell.pause()
