"""The tables of the engine (engine.md 2.1). Column names are the contract; every change is a migration beside it.

The statements of this folder are built from ``names.py``, which loads faster. Tests prove that these classes,
``names.py`` and ``migrations/`` describe the same schema. No foreign keys and no relationships: deleting a run names
its tables one by one, in ``removal.py``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, Text, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from engine.store.columns import Flag, Json, UtcTime
from engine.store.names import OPEN

NUMBERED = "outcome_sequence > 0"


class EngineTable(SQLModel, registry=registry()):
    """The base of the engine's tables; its metadata is the engine's alone."""


class Run(EngineTable, table=True):
    """One run."""

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_open", "status", "claimed_at", sqlite_where=text(OPEN), postgresql_where=text(OPEN)),
        Index("ix_run_created", "created_at", "id"),
        Index("ix_run_outcome", "outcome_sequence", sqlite_where=text(NUMBERED), postgresql_where=text(NUMBERED)),
    )
    id: str = Field(primary_key=True)
    name: str = ""
    workflow: str = ""
    file_path: str = Field(default="", sa_type=Text)
    bundle_path: str = Field(default="", sa_type=Text)
    workspace: str = Field(default="", sa_type=Text)
    digest: str = ""
    preset: str = ""
    parent_id: str = ""
    inputs: dict[str, Any] = Field(sa_type=Json)
    status: str
    failure_code: str = ""
    error: str = Field(default="", sa_type=Text)
    end_reason: str = ""
    continuation: str = ""
    retry_at: datetime | None = Field(default=None, sa_type=UtcTime)
    retry_after_at: datetime | None = Field(default=None, sa_type=UtcTime)
    outcome_seq: int = 0
    outcome_sequence: int = 0
    skip_noted: int = -1
    version: int = 0
    event_seq: int = 0
    output_seq: int = 0
    epoch: int = 0
    owner: dict[str, Any] = Field(sa_type=Json)
    stop_request: str = ""
    stop_reason: str = Field(default="", sa_type=Text)
    explicit_resume_required: bool = Field(default=False, sa_type=Flag)
    ask: dict[str, Any] = Field(sa_type=Json)
    raises: dict[str, Any] | None = Field(default=None, sa_type=Json)
    permissions: dict[str, Any] | None = Field(default=None, sa_type=Json)
    rules: dict[str, Any] | None = Field(default=None, sa_type=Json)
    children: dict[str, Any] | None = Field(default=None, sa_type=Json)
    cost_usd_total: float = 0.0
    created_at: datetime = Field(sa_type=UtcTime)
    updated_at: datetime = Field(sa_type=UtcTime)
    queued_at: datetime | None = Field(default=None, sa_type=UtcTime)
    claimed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_event_at: datetime | None = Field(default=None, sa_type=UtcTime)


_CLUSTERED: dict[str, bool] = {"sqlite_with_rowid": False}


class RunSource(EngineTable, table=True):
    """A source file of the executed program; position 0 is the main file. Its text is kept once for all runs."""

    __tablename__ = "run_source"
    __table_args__ = (Index("ix_run_source_digest", "digest"), _CLUSTERED)
    run_id: str = Field(primary_key=True)
    position: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    path: str = Field(sa_type=Text)
    main_only: bool = Field(default=False, sa_type=Flag)
    digest: str


class SourceText(EngineTable, table=True):
    """A text of some run's program, by the SHA-256 of its bytes."""

    __tablename__ = "source_text"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    digest: str = Field(primary_key=True)
    source: str = Field(sa_type=Text)


class Checkpoint(EngineTable, table=True):
    """The head of a run; ``body`` holds what is not a column."""

    __tablename__ = "checkpoint"
    run_id: str = Field(primary_key=True)
    node_id: str
    completed: bool = Field(default=False, sa_type=Flag)
    pending: dict[str, Any] | None = Field(default=None, sa_type=Json)
    updated_at: datetime = Field(sa_type=UtcTime)
    body: dict[str, Any] = Field(sa_type=Json)


class NodeOutput(EngineTable, table=True):
    """A recorded execution of a node; the newest that no rewind dropped is the node's output."""

    __tablename__ = "node_output"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    branch_path: str = ""
    node_id: str
    iteration_path: str = ""
    iteration: int = 0
    dropped_by: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    duration_ms: int = 0
    time: datetime = Field(sa_type=UtcTime)
    output: dict[str, Any] = Field(sa_type=Json)


class Branch(EngineTable, table=True):
    """A fan-out branch and where it stands."""

    __tablename__ = "branch"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    invocation_key: str = Field(primary_key=True)
    branch_id: str = Field(primary_key=True)
    node_id: str = ""
    completed: bool = Field(default=False, sa_type=Flag)
    done: bool = Field(default=False, sa_type=Flag)
    state: dict[str, Any] = Field(sa_type=Json)


class Artifact(EngineTable, table=True):
    """A published version."""

    __tablename__ = "artifact"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    node_id: str = Field(primary_key=True)
    version: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    digest: str = ""
    labels: list[str] = Field(sa_type=Json)
    time: datetime = Field(sa_type=UtcTime)
    data: Any = Field(default=None, sa_type=Json, nullable=True)


class InteractionRow(EngineTable, table=True):
    """A question and its answers."""

    __tablename__ = "interaction"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    node_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    kind: str
    asked_at: datetime = Field(sa_type=UtcTime)
    answered_at: datetime | None = Field(default=None, sa_type=UtcTime)
    retired_at: datetime | None = Field(default=None, sa_type=UtcTime)
    questions: dict[str, Any] = Field(sa_type=Json)
    fields: list[Any] = Field(sa_type=Json)
    answers: dict[str, Any] | None = Field(default=None, sa_type=Json)
    turns: list[Any] = Field(sa_type=Json)


class AttachmentRow(EngineTable, table=True):
    """A staged file; ``path`` is relative to the store's folder."""

    __tablename__ = "attachment"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    path: str = Field(sa_type=Text)
    filename: str = Field(default="", sa_type=Text)
    mime: str = ""
    size: int = 0
    sha256: str = ""
    origin: str = ""


class AgentSession(EngineTable, table=True):
    """A kept agent session."""

    __tablename__ = "session"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    slot: str = Field(primary_key=True)
    backend: str = ""
    fingerprint: str = ""
    state: dict[str, Any] = Field(sa_type=Json)


class EventRow(EngineTable, table=True):
    """A timeline entry."""

    __tablename__ = "event"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    time: datetime = Field(sa_type=UtcTime)
    type: str
    node_id: str = ""
    branch_id: str = ""
    tenant: str = ""
    active_ms: int = 0
    log_offset: int = 0
    data: dict[str, Any] = Field(sa_type=Json)


class Effect(EngineTable, table=True):
    """A remote mutation (engine.md 5.3)."""

    __tablename__ = "effect"
    __table_args__ = (
        Index("ix_effect_run", "run_id", "node_id"),
        Index("ix_effect_state", "state"),
        Index("ix_effect_card", "card", "place"),
    )
    id: str = Field(primary_key=True)
    run_id: str
    node_id: str = ""
    branch_path: str = ""
    iteration_path: str = ""
    attempt: int = 0
    connection: str = ""
    operation: str = ""
    effect_class: str = ""
    fingerprint: str = ""
    marker: str = ""
    state: str
    settled_by: str = ""
    stopped_run: bool = Field(default=False, sa_type=Flag)
    repeatable: bool = Field(default=False, sa_type=Flag)
    dropped_by: int = 0
    probes: int = 0
    note: str = Field(default="", sa_type=Text)
    created_at: datetime = Field(sa_type=UtcTime)
    settled_at: datetime | None = Field(default=None, sa_type=UtcTime)
    probed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    params: dict[str, Any] | None = Field(default=None, sa_type=Json)
    response: dict[str, Any] | None = Field(default=None, sa_type=Json)
    sent_at: datetime | None = Field(default=None, sa_type=UtcTime)
    card: str = ""
    place: str = ""
    http_status: int = 0
    pending: bool = Field(default=False, sa_type=Flag)
    wire: dict[str, Any] | None = Field(default=None, sa_type=Json)
    asked: list[str] | None = Field(default=None, sa_type=Json)
    settler: str = ""


class SpendDay(EngineTable, table=True):
    """What a run, or a branch of one, has cost so far, as known on one UTC day."""

    __tablename__ = "spend_day"
    __table_args__ = (Index("ix_spend_key", "key", "day"), _CLUSTERED)
    day: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    run_id: str = ""
    cost_usd: float = 0.0


class WorkspaceMark(EngineTable, table=True):
    """A boundary of the workspace (engine.md 8.5)."""

    __tablename__ = "workspace_mark"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    label: str
    node_id: str = ""
    parent: int = 0
    ref: str = ""
    time: datetime = Field(sa_type=UtcTime)


class WorkspaceFile(EngineTable, table=True):
    """A file of a boundary of the workspace."""

    __tablename__ = "workspace_file"
    __table_args__: ClassVar[dict[str, bool]] = _CLUSTERED
    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    path: str = Field(primary_key=True)
    mode: int = 0
    hash: str = ""
    skipped: str = ""


class Tombstone(EngineTable, table=True):
    """A deleted run; its id is spent."""

    __tablename__ = "tombstone"
    run_id: str = Field(primary_key=True)
    deleted_at: datetime = Field(sa_type=UtcTime)


class Lease(EngineTable, table=True):
    """The owner of something in a shared store; ``expires_at`` is by the store's clock."""

    __tablename__ = "lease"
    resource: str = Field(primary_key=True)
    holder: str = ""
    epoch: int = 0
    expires_at: datetime | None = Field(default=None, sa_type=UtcTime)


class StoreCounter(EngineTable, table=True):
    """A counter of the whole store; ``sequence`` is the one of dispatcher.md 1."""

    __tablename__ = "store_counter"
    name: str = Field(primary_key=True)
    value: int = 0


TABLES = EngineTable.metadata.tables
