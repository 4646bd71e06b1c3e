"""The run row as the frozen record that callers see, healed while it is read (engine.md 1.4, last paragraph).

Called by ``runs.py``. Healing happens in memory only; nothing is written back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

from engine.run import BudgetAsk, NewRun, Owner, RunRecord
from engine.states import carries_failure_code, is_ended
from engine.store.rows import Row

_TEXTS = ("id", "name", "workflow", "status", "file_path", "workspace", "digest", "preset", "bundle_path", "parent_id")
_STATE_TEXTS = ("failure_code", "error", "end_reason", "continuation", "stop_request", "stop_reason")
_NUMBERS = ("outcome_seq", "outcome_sequence", "version", "event_seq", "epoch")
_TIMES = ("created_at", "updated_at")
_MAYBE_TIMES = ("claimed_at", "queued_at", "finished_at", "last_event_at", "retry_after_at")


def read_run(values: Mapping[Any, Any]) -> RunRecord:
    """The record of a stored row. Raises RecordUnreadable naming the column."""
    row = Row("run", str(values["id"]), values)
    found: dict[str, Any] = {name: row.text(name) for name in (*_TEXTS, *_STATE_TEXTS)}
    found |= {name: row.integer(name) for name in _NUMBERS}
    found |= {name: row.instant(name) for name in _TIMES}
    found |= {name: row.maybe_instant(name) for name in _MAYBE_TIMES}
    found |= {name: row.mapping(name) for name in ("inputs", "children")}
    return RunRecord(
        **_healed(found),
        owner=_owner(row),
        ask=_ask(row),
        explicit_resume_required=row.truth("explicit_resume_required"),
        cost_usd_total=row.number("cost_usd_total"),
    )


def _healed(found: dict[str, Any]) -> dict[str, Any]:
    """Without what the status cannot carry, and with a name."""
    status = found["status"]
    found["name"] = found["name"] or friendly_name(found["file_path"], found["id"])
    found["failure_code"] = found["failure_code"] if carries_failure_code(status) else ""
    found["finished_at"] = found["finished_at"] if is_ended(status) else None
    return found


def friendly_name(file_path: str, run_id: str) -> str:
    """A name for a run that has none: the file's stem and the end of the id."""
    return f"{PurePath(file_path).stem or 'run'}-{run_id[-6:]}"


def new_run_values(new: NewRun) -> dict[str, Any]:
    """The columns that a launch states."""
    return {
        "id": new.id,
        "name": new.name,
        "workflow": new.workflow,
        "file_path": new.file_path,
        "bundle_path": new.bundle_path,
        "workspace": new.workspace,
        "digest": new.digest,
        "preset": new.preset,
        "parent_id": new.parent_id,
        "inputs": dict(new.inputs),
        "ask": plain(new.ask),
    }


def plain(record: BudgetAsk | Owner) -> dict[str, Any]:
    """The fields of a small record that say something."""
    return {field.name: value for field in fields(record) if (value := getattr(record, field.name))}


def _owner(row: Row) -> Owner:
    found = row.mapping("owner")
    try:
        return Owner(**found)
    except TypeError:
        row.refuse("owner", "an owner")


def _ask(row: Row) -> BudgetAsk:
    found = row.mapping("ask")
    try:
        return BudgetAsk(**found)
    except TypeError:
        row.refuse("ask", "a budget")
