"""One attempt and its lines of control: who works on which run, with what.

Made by ``launch`` and ``resume``, read by everything below them. An attempt is one claim of a run by this process; a
line is the main path of the run or one branch of a fan-out (engine.md 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from engine.checkpoint import Head
from engine.dsl.graph import Graph, NodeKind
from engine.nodes.base import Execute, RunFolders
from engine.nodes.kinds import NODE_KINDS
from engine.ports import Clock, IdMaker
from engine.runtime.budget import Caps, GracePolicy
from engine.runtime.children import Children
from engine.runtime.host import Host
from engine.runtime.loops import LoopMap
from engine.runtime.requests import Seen, unseen
from engine.runtime.runlog import RunLog
from engine.runtime.scopes import Scopes
from engine.runtime.settings import EngineSettings
from engine.runtime.signals import Signals
from engine.runtime.state import RunState
from engine.runtime.stop import StopCell
from engine.runtime.turns import Turns
from engine.store.changes import Boundary, Written
from engine.store.resources import Lent
from engine.store.store import Store
from engine.workspace.tracker import Tracker


@dataclass(frozen=True, slots=True)
class Attempt:
    """What stays the same from the claim to the release of the lock.

    ``deadline`` is the monotonic second at which ``--timeout`` passes, None without one; ``lock_fd`` is inherited by
    every process of the run; ``environment`` is what tools see; ``nodes`` says which function executes which kind;
    ``tracker`` records boundaries of the workspace, None where no node writes files or the setting is off. ``again``
    are the remote calls in doubt that this resume decided to send again, ``told`` says that a person who knew of such
    calls asked for it, ``by`` who that is (engine.md 5.5). ``signals`` are the events of the run, ``lent`` the
    resources that a parent's subbot node holds for this run.
    """

    run_id: str
    epoch: int
    graph: Graph
    caps: Caps
    store: Store
    clock: Clock
    ids: IdMaker
    settings: EngineSettings
    stop: StopCell
    folders: RunFolders
    runlog: RunLog
    loops: LoopMap
    grace: GracePolicy
    host: Host
    children: Children
    nodes: Mapping[NodeKind, Execute | None] = field(default_factory=lambda: NODE_KINDS)
    lock_fd: int = -1
    deadline: float | None = None
    progress: Seen = unseen
    environment: Mapping[str, str] = field(default_factory=dict)
    tracker: Tracker | None = None
    again: frozenset[str] = frozenset()
    told: bool = False
    by: str = ""
    signals: Signals = field(default_factory=Signals)
    lent: Mapping[str, Lent] = field(default_factory=dict)


class Keeper(Protocol):
    """Where a line's boundaries go: the store's writer, or a branch's place among its siblings."""

    def commit(self, head: Head, written: Written = ...) -> Boundary:
        """Store a head and rows in one commit. Raises StoreError, OwnershipLost."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    """One line of control: its state, what it may read, where it writes, its branch path (empty for the main line).

    ``turns`` are those of the fan-out that the branch belongs to.
    """

    attempt: Attempt
    state: RunState
    scopes: Scopes
    keeper: Keeper
    branch: str = ""
    turns: Turns | None = None
