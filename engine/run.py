"""The frozen record of a run as callers see it, and what a launch asks for.

Made by ``store/runs.py`` from its row; nobody edits a record, every change is a verb of the store. Healing of old rows
(engine.md 1.4, last paragraph) has happened before a record is handed out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from engine.errors import InvalidId

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_run_id(run_id: str) -> str:
    """The id itself when it may become part of a path (engine.md 2.4). Raises InvalidId otherwise."""
    if not _RUN_ID.fullmatch(run_id) or ".." in run_id:
        rule = "use 1 to 128 letters, digits, '.', '_' or '-', starting with a letter or digit, without '..'"
        raise InvalidId(f"{run_id[:140]!r} is not a run id", rule)
    return run_id


@dataclass(frozen=True, slots=True)
class BudgetAsk:
    """Caps asked for at launch or resume, merged per field over the stored ones; 0 inherits (engine.md 7.7)."""

    max_cost_usd: float = 0.0
    max_tokens: int = 0
    max_duration: float = 0.0
    max_iterations: int = 0
    max_parallel_branches: int = 0

    def merged_over(self, older: BudgetAsk) -> BudgetAsk:
        """This ask, with the older one's value wherever this says nothing."""
        return BudgetAsk(
            self.max_cost_usd or older.max_cost_usd,
            self.max_tokens or older.max_tokens,
            self.max_duration or older.max_duration,
            self.max_iterations or older.max_iterations,
            self.max_parallel_branches or older.max_parallel_branches,
        )

    @property
    def empty(self) -> bool:
        """Whether it asks for nothing."""
        return self == BudgetAsk()


@dataclass(frozen=True, slots=True)
class Owner:
    """Identity of the process that claimed a run: a pid alone proves nothing (dispatcher.md 1, 9)."""

    instance: str = ""
    host: str = ""
    boot: str = ""
    pid: int = 0
    start_ticks: int = 0


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a launch stores in its exclusive insert; ``inputs`` are the given vars, not the resolved ones."""

    id: str
    name: str
    workflow: str
    file_path: str
    workspace: str
    digest: str
    inputs: Mapping[str, object] = field(default_factory=dict)
    preset: str = ""
    bundle_path: str = ""
    parent_id: str = ""
    ask: BudgetAsk = BudgetAsk()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One stored run. ``status`` is text, since a newer build may have written a value that this one does not know.

    ``outcome_sequence`` is the store sequence taken by the newest outcome or pause (dispatcher.md 1); times are UTC.
    """

    id: str
    name: str
    workflow: str
    status: str
    file_path: str
    workspace: str
    digest: str
    inputs: Mapping[str, object]
    preset: str
    bundle_path: str
    parent_id: str
    failure_code: str
    error: str
    end_reason: str
    continuation: str
    outcome_seq: int
    outcome_sequence: int
    version: int
    event_seq: int
    epoch: int
    owner: Owner
    stop_request: str
    stop_reason: str
    explicit_resume_required: bool
    ask: BudgetAsk
    cost_usd_total: float
    created_at: datetime
    updated_at: datetime
    claimed_at: datetime | None
    queued_at: datetime | None
    finished_at: datetime | None
    last_event_at: datetime | None
    retry_after_at: datetime | None = None
    children: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the executed program; ``main_only`` marks a main file whose parts were too large to keep."""

    path: str
    text: str
    main_only: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A staged file of a run; ``path`` can be opened, ``sha256`` is in hexadecimal, ``size`` in bytes."""

    name: str
    path: str
    filename: str
    mime: str
    size: int
    sha256: str
    origin: str = ""

    def descriptor(self) -> dict[str, object]:
        """The value that an answer or a template holds for it (engine.md 7.4)."""
        return {
            "path": self.path,
            "filename": self.filename,
            "mime": self.mime,
            "size": self.size,
            "sha256": self.sha256,
            "attachment": self.name,
        }


class EffectState(StrEnum):
    """The states of an effect row (engine.md 5.3, connectors.md 9)."""

    INTENDED = "intended"
    SENT = "sent"
    DONE = "done"
    NOT_SENT = "not_sent"
    REFUSED = "refused"
    AMBIGUOUS = "ambiguous"
    ABANDONED = "abandoned"


class SettledBy(StrEnum):
    """By what a row came into its state: the remote's answer, a read that shows it, a proof, an order taken back before
    it was sent, a probe, a person, a resume, a safe repeat."""

    ANSWER = "answer"
    READ_BACK = "read_back"
    PROOF = "proof"
    WITHDRAWN = "withdrawn"
    PROBE = "probe"
    PERSON = "person"
    RESUME = "resume"
    REPEAT = "repeat"
    LOST = "lost"


_E = EffectState
EFFECT_NEXT: Mapping[EffectState, frozenset[EffectState]] = MappingProxyType(
    {
        _E.INTENDED: frozenset({_E.SENT, _E.NOT_SENT}),
        _E.SENT: frozenset({_E.DONE, _E.NOT_SENT, _E.REFUSED, _E.AMBIGUOUS}),
        _E.AMBIGUOUS: frozenset({_E.DONE, _E.NOT_SENT, _E.ABANDONED}),
        _E.DONE: frozenset(),
        _E.NOT_SENT: frozenset(),
        _E.REFUSED: frozenset(),
        _E.ABANDONED: frozenset(),
    }
)
"""state -> what it may become; the one setter of the store looks here."""
IN_DOUBT = frozenset({_E.SENT, _E.AMBIGUOUS})
"""States of a row whose call may have been made without an answer, once its run has no owner."""
UNDER_WAY = frozenset({_E.INTENDED, _E.SENT})
"""States of a row whose sender has not settled it."""
SETTLES = frozenset({_E.DONE, _E.NOT_SENT})
"""States of which a machine may go on (engine.md 4.3, ``if_settled``)."""


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One remote mutation as the engine wrote it down (engine.md 5.3); ``response`` is kept once it is done.

    ``params`` are what was sent, ``effect_class`` is the catalogue's word. ``repeatable``: sending it once more is
    safe. ``stopped_run``: the run stopped because of it. ``dropped_by`` above 0: a rewind went behind it.
    ``settled_at`` is the instant of its present state, ``probes`` how often the forge was asked since, ``asked``
    what it answered each time. A row of the dispatcher has no run: its ``card`` and ``place`` (outcome or park,
    kind, position) say where it belongs. ``pending``: the forge took the order and had not done it. ``settler`` is
    a person's name.
    """

    id: str
    run_id: str
    node_id: str
    branch_path: str
    iteration_path: str
    attempt: int
    connection: str
    operation: str
    fingerprint: str
    marker: str
    state: str
    created_at: datetime
    effect_class: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    settled_by: str = ""
    stopped_run: bool = False
    repeatable: bool = False
    dropped_by: int = 0
    probes: int = 0
    response: Mapping[str, object] = field(default_factory=dict)
    note: str = ""
    settled_at: datetime | None = None
    probed_at: datetime | None = None
    sent_at: datetime | None = None
    card: str = ""
    place: str = ""
    http_status: int = 0
    pending: bool = False
    wire: Mapping[str, object] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    settler: str = ""

    @property
    def doubtful(self) -> bool:
        """Whether only the forge or a person can say what became of it."""
        return self.state in IN_DOUBT and not self.repeatable
