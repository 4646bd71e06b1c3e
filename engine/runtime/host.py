"""What an engine lends to every attempt: the store, time, ids, settings, the table of nodes, who executes what.

Made once by ``api.Engine``; thread-safe. Attempts come and go, the host stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from engine.dsl.graph import NodeKind
from engine.nodes.base import Execute
from engine.nodes.kinds import NODE_KINDS
from engine.ports import Clock, IdMaker
from engine.run import Owner, RunRecord
from engine.runtime.kept_programs import KeptPrograms
from engine.runtime.requests import LaunchRequest, ResumeRequest
from engine.runtime.settings import EngineSettings
from engine.runtime.stop import StopCause, StopCell
from engine.runtime.watch import Watcher
from engine.store.store import Store


class Executing:
    """The runs that execute in this process, with their stop cells."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: dict[str, StopCell] = {}
        self._draining: StopCause | None = None

    @contextmanager
    def enter(self, run_id: str, cell: StopCell) -> Iterator[None]:
        """Count the run as executing for the length of the block."""
        with self._lock:
            self._cells[run_id] = cell
            draining = self._draining
        if draining is not None:
            cell.drain(draining)
        try:
            yield
        finally:
            with self._lock:
                self._cells.pop(run_id, None)

    def ids(self) -> tuple[str, ...]:
        """The runs that execute here now."""
        with self._lock:
            return tuple(self._cells)

    def cell(self, run_id: str) -> StopCell | None:
        """The stop cell of a run that executes here."""
        with self._lock:
            return self._cells.get(run_id)

    def stop_all(self, cause: StopCause) -> int:
        """Stop every run that executes here; how many there are."""
        with self._lock:
            cells = tuple(self._cells.values())
        for cell in cells:
            cell.stop(cause)
        return len(cells)

    def drain_all(self, cause: StopCause) -> int:
        """Stop every run that executes here at its next node boundary, those that come yet too; how many there are."""
        with self._lock:
            self._draining = cause
            cells = tuple(self._cells.values())
        for cell in cells:
            cell.drain(cause)
        return len(cells)

    def kill_all(self) -> None:
        """Give the processes of every run here no more time."""
        with self._lock:
            cells = tuple(self._cells.values())
        for cell in cells:
            cell.kill()


@dataclass(frozen=True, slots=True)
class Doors:
    """How a node starts, continues and takes over a run of its own; handed in, since runs are made of nodes."""

    launch: Callable[[Host, LaunchRequest], RunRecord]
    resume: Callable[[Host, ResumeRequest], RunRecord]
    promote: Callable[[Host, str, float], object]


@dataclass(frozen=True, slots=True)
class Host:
    """Everything that outlives an attempt. ``owner`` is the identity of this process."""

    store: Store
    clock: Clock
    ids: IdMaker
    settings: EngineSettings
    owner: Owner
    watcher: Watcher
    doors: Doors
    executing: Executing = field(default_factory=Executing)
    nodes: Mapping[NodeKind, Execute | None] = field(default_factory=lambda: NODE_KINDS)
    programs: KeptPrograms = field(default_factory=KeptPrograms)
