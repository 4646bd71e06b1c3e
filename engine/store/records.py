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


def read_run(values: Mapping[Any, Any]) -> RunRecord:
    """The record of a stored row. Raises RecordUnreadable naming the column."""
    row = Row("run", str(values["id"]), values)
    status = row.text("status")
    code = row.text("failure_code")
    finished = row.maybe_instant("finished_at")
    return RunRecord(
        id=row.text("id"),
        name=row.text("name") or friendly_name(row.text("file_path"), row.text("id")),
        workflow=row.text("workflow"),
        status=status,
        file_path=row.text("file_path"),
        workspace=row.text("workspace"),
        digest=row.text("digest"),
        inputs=row.mapping("inputs"),
        preset=row.text("preset"),
        bundle_path=row.text("bundle_path"),
        parent_id=row.text("parent_id"),
        failure_code=code if carries_failure_code(status) else "",
        error=row.text("error"),
        end_reason=row.text("end_reason"),
        continuation=row.text("continuation"),
        outcome_seq=row.integer("outcome_seq"),
        outcome_sequence=row.integer("outcome_sequence"),
        version=row.integer("version"),
        event_seq=row.integer("event_seq"),
        epoch=row.integer("epoch"),
        owner=_owner(row),
        stop_request=row.text("stop_request"),
        stop_reason=row.text("stop_reason"),
        explicit_resume_required=row.truth("explicit_resume_required"),
        ask=_ask(row),
        cost_usd_total=row.number("cost_usd_total"),
        created_at=row.instant("created_at"),
        updated_at=row.instant("updated_at"),
        claimed_at=row.maybe_instant("claimed_at"),
        queued_at=row.maybe_instant("queued_at"),
        finished_at=finished if is_ended(status) else None,
        last_event_at=row.maybe_instant("last_event_at"),
        retry_after_at=row.maybe_instant("retry_after_at"),
        children=row.mapping("children"),
    )


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
