"""What callers ask the store to do with a run, as frozen values: a launch, a claim, a change of status.

Made by the runtime and the dispatcher, carried out by ``runs.py`` and ``boundary.py`` (engine.md 1.3, 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.checkpoint import ArtifactVersion, BranchRow, Head, Interaction, Mark, OutputRow, PendingQuestion
from engine.events import NewEvent
from engine.run import Attachment, BudgetAsk, Owner, RunRecord, SourceFile
from engine.states import RunStatus


@dataclass(frozen=True, slots=True)
class Written:
    """Rows that go with a change: what nodes left behind and what is told about it."""

    outputs: tuple[OutputRow, ...] = ()
    artifacts: tuple[ArtifactVersion, ...] = ()
    branches: tuple[BranchRow, ...] = ()
    events: tuple[NewEvent, ...] = ()
    spend: tuple[tuple[str, float], ...] = ()
    """Pairs of key (the run's id, or run and branch) and cumulative cost in USD, booked on the present UTC day."""
    marks: tuple[Mark, ...] = ()
    attachments: tuple[Attachment, ...] = ()

    def and_then(self, later: Written) -> Written:
        """Both, this one's rows first."""
        return Written(
            self.outputs + later.outputs,
            self.artifacts + later.artifacts,
            self.branches + later.branches,
            self.events + later.events,
            self.spend + later.spend,
            self.marks + later.marks,
            self.attachments + later.attachments,
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """What goes with the exclusive insert of a run: its owner, its first head, the program, the first events."""

    owner: Owner
    head: Head
    sources: tuple[SourceFile, ...] = ()
    written: Written = Written()


@dataclass(frozen=True, slots=True)
class AnswersAccepted:
    """Checked answers of one question, recorded in the claim commit (engine.md 7.5)."""

    interaction_id: str
    node_id: str
    answers: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """What a claim changes besides the status; ``None`` leaves what is stored. ``bundle_path`` goes with the file."""

    answers: AnswersAccepted | None = None
    head: Head | None = None
    written: Written = Written()
    digest: str | None = None
    sources: tuple[SourceFile, ...] | None = None
    file_path: str | None = None
    bundle_path: str = ""
    ask: BudgetAsk | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that was won: the epoch that every later write names, the record and the head as they were claimed.

    ``came_from`` is the status before the claim; ``head`` is None when the run has no checkpoint (engine.md 3.7).
    """

    epoch: int
    record: RunRecord
    head: Head | None
    came_from: str
    pending: PendingQuestion | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of status with all that belongs into its commit.

    ``from_statuses`` must not be empty. ``epoch`` is named by an owner; None means: whoever owns it. ``head`` replaces
    the checkpoint, ``question`` stores an interaction, ``retry_after`` (seconds) is what a remote asked for. An event
    that reports the new status is added when ``written.events`` holds none.
    """

    to: RunStatus
    from_statuses: frozenset[RunStatus]
    epoch: int | None = None
    failure_code: str = ""
    error: str = ""
    end_reason: str = ""
    continuation: str = ""
    retry_after: float = 0.0
    explicit_resume: bool = False
    head: Head | None = None
    question: Interaction | None = None
    written: Written = Written()


class StopKind(StrEnum):
    """What a stop request asks for; a later one in this list wins over an earlier one (engine.md 1.7)."""

    PAUSE = "pause"
    INTERRUPT = "interrupt"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Stop:
    """What the owner of a run looks at while it works: a cheap read."""

    status: str
    request: str = ""
    reason: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Boundary:
    """The answer of a boundary commit. ``stored`` is False when it was refused once and its rows ride with the next.

    ``stop`` is the run's row as the same commit saw it; None when nothing was stored.
    """

    stored: bool
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; empty values do not filter. ``limit`` 0 lists all."""

    statuses: tuple[str, ...] = ()
    workflow: str = ""
    parent_id: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """Records that could be read, newest first, and the refusals of those that could not."""

    records: tuple[RunRecord, ...]
    unreadable: tuple[UnreadableRun, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class UnreadableRun:
    """A run whose row cannot be decoded: its id, and why."""

    id: str
    message: str
