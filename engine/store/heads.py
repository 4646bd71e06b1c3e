"""The head as stored values and back: small, of constant size, and read with the defaults of an older writer.

Called by ``writes.py`` and ``checkpoints.py``. Empty fields are not stored; what is missing reads as zero or empty
(engine.md 3.1). Counters read back as integers even when an older writer stored ``2.0`` (engine.md 2.4). All that
comes out is a fresh object (engine.md 3.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from engine.checkpoint import Head, PendingQuestion, Spent
from engine.store.rows import Row

_COLUMNS = ("node_id", "completed", "pending")
_BODY = tuple(field.name for field in fields(Head) if field.name not in _COLUMNS and field.name != "spent")
_WHOLE = ("loop_counters", "round_robin_counters", "loop_still", "artifact_versions")


def head_values(head: Head) -> dict[str, Any]:
    """The columns ``node_id``, ``completed``, ``pending`` and ``body``."""
    body = {name: value for name in _BODY if (value := getattr(head, name))}
    spent = head.spent
    body["spent"] = [spent.iterations, spent.tokens, spent.cost_usd, spent.elapsed_ns]
    pending = head.pending
    return {
        "node_id": head.node_id,
        "completed": head.completed,
        "pending": None if pending is None else _question_values(pending),
        "body": body,
    }


def read_head(run_id: str, values: Mapping[Any, Any]) -> Head:
    """The head of a stored row. Raises RecordUnreadable naming the column."""
    row = Row("checkpoint", run_id, values)
    body = row.mapping("body")
    try:
        return _head(row, body)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        row.refuse("body", "a head")


def _head(row: Row, body: dict[str, Any]) -> Head:
    pending = row.maybe_mapping("pending")
    known = {name: body[name] for name in _BODY if name in body}
    for name in _WHOLE:
        if name in known:
            known[name] = {key: _whole(value) for key, value in known[name].items()}
    if "recovery_counts" in known:
        counts = known["recovery_counts"]
        known["recovery_counts"] = {
            node: {code: _whole(count) for code, count in by_code.items()} for node, by_code in counts.items()
        }
    if "selected_incoming" in known:
        taken = known["selected_incoming"]
        known["selected_incoming"] = {node: tuple(map(_whole, edges)) for node, edges in taken.items()}
    if "warned_axes" in known:
        known["warned_axes"] = tuple(known["warned_axes"])
    return Head(
        node_id=row.text("node_id"),
        completed=row.truth("completed"),
        pending=None if pending is None else _question(pending),
        spent=_spent(body.get("spent") or [0, 0, 0.0, 0]),
        **known,
    )


def _whole(value: float) -> int:
    return int(value)


def _spent(values: list[float]) -> Spent:
    iterations, tokens, cost, elapsed = values
    return Spent(int(iterations), int(tokens), float(cost), int(elapsed))


def _question_values(pending: PendingQuestion) -> dict[str, Any]:
    return {
        "interaction_id": pending.interaction_id,
        "node_id": pending.node_id,
        "kind": pending.kind,
        "questions": pending.questions,
        "fields": list(pending.fields),
        "instructions": pending.instructions,
        "min_answers": pending.min_answers,
    }


def _question(values: dict[str, Any]) -> PendingQuestion:
    return PendingQuestion(
        str(values["interaction_id"]),
        str(values["node_id"]),
        str(values["kind"]),
        dict(values.get("questions") or {}),
        tuple(values.get("fields") or ()),
        str(values.get("instructions") or ""),
        _whole(values.get("min_answers") or 0),
    )
