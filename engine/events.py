"""The timeline of a run: event types and the frozen record of one entry.

Written by ``store`` in the transaction of the change that an event reports; read by ``inspect``, ``events``, ``report``
and the web side. Nothing rebuilds execution state from events (engine.md 0.2, 11.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class EventType(StrEnum):
    """Types that this engine writes; readers show any other text as it is."""

    RUN_STARTED = "run_started"
    RUN_PAUSED = "run_paused"
    RUN_RESUMED = "run_resumed"
    RUN_FINISHED = "run_finished"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"
    RUN_INTERRUPTED = "run_interrupted"
    RUN_AUTO_RESUMED = "run_auto_resumed"
    RUN_RETRY_SCHEDULED = "run_retry_scheduled"
    RUN_RETRY_SKIPPED = "run_retry_skipped"
    RUN_REWOUND = "run_rewound"
    NODE_STARTED = "node_started"
    NODE_FINISHED = "node_finished"
    NODE_RECOVERY = "node_recovery"
    EDGE_SELECTED = "edge_selected"
    JOIN_READY = "join_ready"
    BRANCH_STARTED = "branch_started"
    BRANCH_FINISHED = "branch_finished"
    BRANCH_ABANDONED = "branch_abandoned"
    BUDGET_WARNING = "budget_warning"
    BUDGET_EXCEEDED = "budget_exceeded"
    BUDGET_EXIT_GRACE = "budget_exit_grace"
    LIVENESS_STALL = "liveness_stall"
    ARTIFACT_WRITTEN = "artifact_written"
    HUMAN_INPUT_REQUESTED = "human_input_requested"
    HUMAN_ANSWERS_RECORDED = "human_answers_recorded"
    INTERACTION_ANSWERED = "interaction_answered"
    EFFECT_SENT = "effect_sent"
    EFFECT_SETTLED = "effect_settled"
    WORKTREE_BRANCH_FAILED = "worktree_branch_failed"
    RUN_ATTACHMENT_PUBLISHED = "run_attachment_published"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event before it has a place: the store gives ``seq`` and time. ``data`` holds JSON values only."""

    type: EventType
    node_id: str = ""
    branch_id: str = ""
    data: Mapping[str, object] = field(default_factory=dict)
    active_ms: int = 0
    log_offset: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """A stored event; ``seq`` counts from 1 without gap within its run, ``time`` is UTC."""

    run_id: str
    seq: int
    time: datetime
    type: str
    node_id: str
    branch_id: str
    data: Mapping[str, object]
    active_ms: int = 0
    log_offset: int = 0
