"""How a run stands, in words: after ``run`` and ``resume``, in ``inspect``, and in the list (interface.md 3)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dispatcher.cli.output import rfc3339, table
from engine.states import can_be_rewound, can_person_resume

if TYPE_CHECKING:
    from engine.documents import RunView
    from engine.run import RunRecord

_SHORT = 200


def stop_text(view: RunView) -> str:
    """What happened, and what a person can do next."""
    record, head = view.record, view.head
    lines = [f"Run {record.id} ({record.workflow}): {record.status}{_code(record)}"]
    if record.error:
        lines.append(f"  {record.error}")
    if head is not None and head.pending is not None:
        lines += _question(view)
    elif head is not None and can_person_resume(record.status):
        lines.append(f"  at {head.node_id}; go on with: pointsman resume --run-id {record.id}")
    elif head is not None and can_be_rewound(record.status):
        lines.append(f"  for good; back to an earlier node with: pointsman rewind --run-id {record.id} --node NAME")
    return "\n".join(lines)


def detail_text(view: RunView, *, full: bool) -> str:
    """One run: who it is, how it stands, where it would go on, its outputs."""
    record, head = view.record, view.head
    rows = [
        ("run", record.id),
        ("name", record.name),
        ("workflow", record.workflow),
        ("status", record.status + _code(record)),
        ("file", record.file_path),
        ("workspace", record.workspace),
        ("created", rfc3339(record.created_at)),
        ("ended", rfc3339(record.finished_at) if record.finished_at else ""),
        ("error", record.error),
        ("checkpoint", f"{head.node_id}{' (completed)' if head.completed else ''}" if head else "none"),
    ]
    lines = [f"{name + ':':12} {value}" for name, value in rows if value]
    if head is not None and head.pending is not None:
        lines += _question(view)
    if view.outputs:
        lines.append("outputs:")
        lines += [f"  {node}: {_shown(output, full=full)}" for node, output in view.outputs.items()]
    return "\n".join(lines)


def list_text(records: Iterable[RunRecord], *, filtered: bool = False) -> str:
    """Runs as a table, newest first; ``filtered`` says that there may be others."""
    rows = [(r.name, r.id, r.status, r.workflow, rfc3339(r.created_at)) for r in records]
    none = "No run fits that." if filtered else "There are no runs yet."
    return table(("NAME", "ID", "STATUS", "WORKFLOW", "CREATED"), rows) if rows else none


def _code(record: RunRecord) -> str:
    return f" ({record.failure_code})" if record.failure_code else ""


def _question(view: RunView) -> list[str]:
    pending = view.head.pending if view.head else None
    if pending is None:
        return []
    lines = [f"asks at {pending.node_id} ({pending.interaction_id}):"]
    lines += [f"  {name}: {_shown(value, full=False)}" for name, value in pending.questions.items()]
    fields = ", ".join(f"{each['name']} ({each['type']})" for each in pending.fields) or "any answer"
    lines.append(f"  answer {fields} with: pointsman resume --run-id {view.record.id} --answer NAME=VALUE")
    return lines


def _shown(value: object, *, full: bool) -> str:
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return text if full or len(text) <= _SHORT else text[: _SHORT - 1] + "…"
