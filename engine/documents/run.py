"""The run document, its short form for lists, and the line of an event (interface.md 3).

Called by the command line and the web side with what ``api.inspect`` read. Pure: it reads nothing and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from engine.checkpoint import ArtifactVersion, Head, Spent
from engine.events import Event
from engine.run import RunRecord
from engine.states import carries_pending_question


@dataclass(frozen=True, slots=True)
class RunView:
    """Everything that one reading of a run gives; ``head`` is None when no checkpoint is stored."""

    record: RunRecord
    head: Head | None = None
    outputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    artifacts: Mapping[str, ArtifactVersion] = field(default_factory=dict)


def instant(moment: datetime | None) -> str:
    """RFC 3339, UTC, with ``Z``; empty for none."""
    return moment.isoformat().replace("+00:00", "Z") if moment else ""


def summary_document(record: RunRecord) -> dict[str, object]:
    """A run in a list: who it is and how it stands, without outputs."""
    return {
        "run_id": record.id,
        "name": record.name,
        "workflow": record.workflow,
        "status": record.status,
        "failure_code": record.failure_code,
        "error": record.error,
        "end_reason": record.end_reason,
        "parent_id": record.parent_id,
        "workspace": record.workspace,
        "created_at": instant(record.created_at),
        "updated_at": instant(record.updated_at),
        "finished_at": instant(record.finished_at),
        "last_event_at": instant(record.last_event_at),
    }


def run_document(view: RunView) -> dict[str, object]:
    """The run document: the list form with outputs, artifacts, checkpoint, pending question and budget."""
    document = summary_document(view.record)
    times = {key: document.pop(key) for key in ("created_at", "updated_at", "finished_at", "last_event_at")}
    document["outputs"] = dict(view.outputs)
    document["artifacts"] = {
        name: {"version": artifact.version, "data": artifact.data} for name, artifact in view.artifacts.items()
    }
    document["checkpoint"] = _checkpoint(view.head)
    document["pending"] = _pending(view)
    document["budget"] = _budget(view.head.spent if view.head else Spent())
    return document | times


def event_document(event: Event) -> dict[str, object]:
    """One line of ``pointsman events``."""
    return {
        "seq": event.seq,
        "time": instant(event.time),
        "type": event.type,
        "run_id": event.run_id,
        "node_id": event.node_id,
        "branch_id": event.branch_id,
        "data": dict(event.data),
    }


def _checkpoint(head: Head | None) -> dict[str, object] | None:
    return {"node_id": head.node_id, "completed": head.completed} if head else None


def _pending(view: RunView) -> dict[str, object] | None:
    question = view.head.pending if view.head else None
    if question is None or not carries_pending_question(view.record.status):
        return None
    return {
        "interaction_id": question.interaction_id,
        "node_id": question.node_id,
        "kind": question.kind,
        "questions": dict(question.questions),
        "fields": [dict(each) for each in question.fields],
        "instructions": question.instructions,
        "min_answers": question.min_answers,
    }


def _budget(spent: Spent) -> dict[str, object]:
    return {
        "tokens": spent.tokens,
        "cost_usd": spent.cost_usd,
        "iterations": spent.iterations,
        "elapsed_seconds": round(spent.elapsed_ns / 1_000_000_000, 3),
    }
