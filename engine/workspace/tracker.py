"""The boundaries of one attempt: which mark a moment gets, and whether it needs a walk over the files.

Called by ``runtime/marks.py`` before and after nodes of the main line. A boundary where nothing can have changed is an
alias and costs no walk; the ``pre`` of a node that writes no files waits for the next walk and becomes its alias. A
workspace that cannot be recorded is refused once, with its reason, and costs nothing from then on (engine.md 8.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.checkpoint import Mark, MarkFile
from engine.errors import StoreError, WorkspaceUnrecorded
from engine.workspace.chain import Boundary, label, since_restored
from engine.workspace.record import Record
from engine.workspace.scan import Limits

UNRECORDED = "unrecorded"
"""``Mark.ref`` of a boundary at which recording ended: the chain is broken there."""
MANY = 500
"""So many changed files and more are kept as one list in the pool, so that a boundary commit stays small."""


@dataclass(slots=True)
class Tracker:
    """The marks of an attempt. ``stored`` gives those of earlier attempts; ``refuse`` is told why recording ended."""

    root: Path
    store: Path
    limits: Limits
    stored: Callable[[], Sequence[Mark]]
    refuse: Callable[[str], None]
    refused: str = ""
    _record: Record | None = None
    _seq: int = 0
    _newest: str = ""
    _labels: set[str] = field(default_factory=set)
    _waiting: dict[str, str] = field(default_factory=dict)
    _current: bool = False
    _listed: bool = False

    def before(self, node: str, iteration: str, *, writes: bool) -> tuple[Mark, ...]:
        """A node starts: its ``pre``, or ``resume`` when it has one. Without ``writes`` it waits for the next walk."""
        if self.refused:
            return ()
        if not writes:
            self._waiting[node] = iteration
            return ()
        if not self._open():
            return ()
        kind = Boundary.RESUME if label(Boundary.PRE, node, iteration) in self._labels else Boundary.PRE
        if kind is Boundary.RESUME and self._current and self._newest == label(kind, node, iteration):
            return ()
        return self._alias(kind, node, iteration) if self._current else self._capture(kind, node, iteration)

    def after(self, kind: Boundary, node: str, iteration: str, *, changed: bool) -> tuple[Mark, ...]:
        """A node ended in this way; without ``changed`` it cannot have touched a file, and an alias does."""
        if self.refused or not self._open():
            return ()
        if not changed and self._current:
            return self._alias(kind, node, iteration)
        return self._capture(kind, node, iteration)

    def continued(self, node: str, iteration: str) -> tuple[Mark, ...]:
        """A resume goes on at ``node``: what changed while the run was stopped ends here."""
        if self.refused or not self._open() or not self._seq:
            return ()
        return self._capture(Boundary.RESUME, node, iteration)

    def lose_sight(self) -> None:
        """From here on the previous boundary is unknown; the next ``pre`` is a capture."""
        self._current = False

    def close(self) -> None:
        """The attempt is over."""
        if self._record is not None:
            self._record.close()
            self._record = None

    def _open(self) -> bool:
        if self._record is not None:
            return True
        record = Record(self.root, self.store, self.limits)
        try:
            record.open()
        except WorkspaceUnrecorded as problem:
            self._give_up(problem.message)
            return False
        try:
            marks = self.stored()
        except StoreError as problem:
            record.close()
            self._give_up(problem.message)
            return False
        self._seq = marks[-1].seq if marks else 0
        self._labels = {mark.label for mark in since_restored(marks)}
        self._record = record
        return True

    def _alias(self, kind: Boundary, node: str, iteration: str) -> tuple[Mark, ...]:
        return (self._mark(label(kind, node, iteration), node),)

    def _capture(self, kind: Boundary, node: str, iteration: str) -> tuple[Mark, ...]:
        """A walk; the nodes that waited for one get their ``pre`` from it first."""
        assert self._record is not None
        try:
            files = self._record.look()
            whole = not self._listed or len(files) >= MANY
            ref = self._record.pool.put_list(self._record.files.values()) if whole else ""
        except (WorkspaceUnrecorded, OSError) as problem:
            self._give_up(str(problem))
            return (self._mark(label(kind, node, iteration), node, UNRECORDED),) if self._seq else ()
        wanted = [(label(Boundary.PRE, name, at), name) for name, at in self._waiting.items()]
        wanted = [each for each in wanted if each[0] not in self._labels]
        self._waiting.clear()
        wanted.append((label(kind, node, iteration), node))
        (text, name), *others = dict(wanted).items()
        self._current = self._listed = True
        return (self._mark(text, name, ref, () if ref else files), *(self._mark(*each) for each in others))

    def _give_up(self, why: str) -> None:
        """Record nothing more in this attempt; where marks stand already, one more says that the chain ends here."""
        self.refused = why
        self.refuse(why)
        self.close()

    def _mark(self, text: str, node: str, ref: str = "", files: tuple[MarkFile, ...] = ()) -> Mark:
        made = Mark(self._seq + 1, text, node, self._seq, ref, files)
        self._seq += 1
        self._newest = text
        self._labels.add(text)
        return made
