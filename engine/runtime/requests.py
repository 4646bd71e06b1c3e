"""What a caller asks an engine for: a launch, a resume. Frozen, made by the command line, the dispatcher, the web."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.run import BudgetAsk
from engine.runtime.stop import StopCell
from engine.store.resources import Lent


def _nobody() -> None:
    """Nobody wants to know."""


def unseen(_node: str, _elapsed_seconds: float, _cost_usd: float) -> None:
    """Nobody watches."""


Seen = Callable[[str, float, float], None]
"""Told when a node starts: its name, active seconds and USD of the run so far."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A fresh run of ``file``.

    ``vars`` are texts, coerced to their types; ``typed_vars`` are JSON values; texts win. ``run_id`` None lets the
    engine make one. ``timeout`` in seconds bounds this attempt, 0 is no bound. ``workspace`` is where nodes work.
    ``claimed`` is called once, when the run is running and ours; ``within`` stops it with the run that it belongs to,
    which lends it the resources ``lent``.
    """

    file: Path
    workspace: Path
    vars: Mapping[str, str] = field(default_factory=dict)
    typed_vars: Mapping[str, object] = field(default_factory=dict)
    preset: str = ""
    attachments: Mapping[str, Path] = field(default_factory=dict)
    recipe: Path | None = None
    run_id: str | None = None
    name: str = ""
    ask: BudgetAsk = field(default_factory=BudgetAsk)
    timeout: float = 0.0
    parent_id: str = ""
    within: StopCell | None = None
    lent: Mapping[str, Lent] = field(default_factory=dict)
    claimed: Callable[[], None] = _nobody
    lock_fd: int = -1
    """The run's lock, where this process inherited it from the one that wanted the run; -1 to take it."""
    progress: Seen = unseen


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """Back to ``node``, or with ``auto`` to the earliest node that an edit affects (engine.md 8).

    ``scope`` is ``produced``, ``full`` or ``none``, empty for the default; ``keep_files`` is ``none``. ``file`` names
    the source when it moved.
    """

    run_id: str
    node: str = ""
    auto: bool = False
    scope: str = ""
    keep_files: bool = False
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """The next attempt of a stored run.

    ``texts`` are answers as people type them (coerced, ``@path`` stages a file), ``answers`` are JSON values; texts
    win.
    ``file`` names the source when it moved. ``force`` accepts a changed source, ``force_stale`` takes over a run whose
    owner is dead. ``attended`` says that a person asks for it, ``by`` who that is where it is known. ``claimed`` is
    called once, when the run is ours.
    ``only`` is the one outcome (``RunRecord.outcome_sequence``) behind which the run may be claimed: what was decided
    about it holds for no later one. -1 for any.
    """

    run_id: str
    file: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, object] | None = None
    force: bool = False
    force_stale: bool = False
    ask: BudgetAsk = field(default_factory=BudgetAsk)
    timeout: float = 0.0
    attended: bool = True
    by: str = ""
    only: int = -1
    within: StopCell | None = None
    lent: Mapping[str, Lent] = field(default_factory=dict)
    claimed: Callable[[], None] = _nobody
    lock_fd: int = -1
    """The run's lock, where this process inherited it from the one that wanted the run; -1 to take it."""
    progress: Seen = unseen

    @property
    def answering(self) -> bool:
        """Whether the request carries answers, an empty map included."""
        return bool(self.texts) or self.answers is not None
