"""The store as the engine and its hosts see it: one object with one part per subject.

Made in ``dispatcher/wiring.py`` from an open database. Thread-safe; holds no state of a run.
"""

from __future__ import annotations

from pathlib import Path

from engine.ports import Clock
from engine.store.artifacts import Artifacts, Sources
from engine.store.attachments import Attachments
from engine.store.boundary import BoundaryWriter
from engine.store.checkpoints import Checkpoints
from engine.store.database import Database
from engine.store.effects import Effects
from engine.store.leases import Leases
from engine.store.marks import Marks
from engine.store.questions import Interactions
from engine.store.rewinds import Rewinds
from engine.store.runs import Runs
from engine.store.spend import Spend
from engine.store.timeline import Timeline


class Store:
    """All verbs over one database; ``root`` is the store's folder, where ``runs/<id>/`` lies.

    ``leases`` say who owns what in a shared store; None takes their usual times.
    """

    def __init__(self, database: Database, clock: Clock, root: Path, leases: Leases | None = None) -> None:
        self.database = database
        self.root = root
        self._clock = clock
        self.leases = leases or Leases(database)
        self.runs = Runs(database, clock, root, self.leases)
        self.checkpoints = Checkpoints(database)
        self.artifacts = Artifacts(database)
        self.sources = Sources(database)
        self.interactions = Interactions(database, clock)
        self.timeline = Timeline(database)
        self.attachments = Attachments(database, root)
        self.effects = Effects(database, clock)
        self.spend = Spend(database)
        self.marks = Marks(database, clock)
        self.rewinds = Rewinds(database, clock)

    def boundary(self, run_id: str, epoch: int) -> BoundaryWriter:
        """The hot path of the attempt that claimed the run with this epoch."""
        return BoundaryWriter(self.database, self._clock, run_id, epoch)
