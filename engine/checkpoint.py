"""The head of a run: where a resume starts and what it knows then (engine.md 3.1).

Written by ``store`` inside the boundary commit; read by ``runtime/resume.py``. It is small and of constant size:
outputs are rows of their own. It is the only authority on execution state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Spent:
    """Consumed budget; ``elapsed_ns`` is active time by the monotonic clock."""

    iterations: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    elapsed_ns: int = 0


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """Enough to ask again when the interaction row is lost (engine.md 3.1)."""

    interaction_id: str
    node_id: str
    kind: str
    questions: Mapping[str, object]
    fields: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The checkpoint row. ``completed`` says that the anchor's output is stored and its edge not yet taken.

    ``selected_incoming`` maps a node to the indexes of the edges taken into its present visit. The loop maps hold the
    crossings and the two rotating copies of each loop. All mappings are JSON values and never shared with a running
    engine (engine.md 3.6).
    """

    node_id: str
    completed: bool = False
    pending: PendingQuestion | None = None
    loop_counters: Mapping[str, int] = field(default_factory=dict)
    round_robin_counters: Mapping[str, int] = field(default_factory=dict)
    loop_previous_output: Mapping[str, object] = field(default_factory=dict)
    loop_current_output: Mapping[str, object] = field(default_factory=dict)
    loop_still: Mapping[str, int] = field(default_factory=dict)
    loop_budget_marks: Mapping[str, object] = field(default_factory=dict)
    artifact_versions: Mapping[str, int] = field(default_factory=dict)
    artifact_revisions: Mapping[str, object] = field(default_factory=dict)
    selected_incoming: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    recovery_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    recovery_pause: bool = False
    recovery_code: str = ""
    warned_axes: tuple[str, ...] = ()
    spent: Spent = Spent()
    parallel: Mapping[str, object] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
