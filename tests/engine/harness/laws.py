"""What must hold of a run in the end, whatever struck it on the way; a broken law raises AssertionError."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from engine.checkpoint import visible
from engine.events import Event
from engine.states import RunStatus
from engine.store.database import Database
from engine.store.store import Store

ENDS = {"run_finished": RunStatus.FINISHED, "run_failed": RunStatus.FAILED}
STOPS = ("run_paused", "run_failed", "run_cancelled")


@dataclass(frozen=True)
class Told:
    """One run as the store tells it, in a form that two runs can be compared by."""

    status: str
    code: str
    error: str
    outputs: Mapping[str, Any]
    artifacts: Mapping[str, Any]
    rows: Counter[str]
    """Every recorded execution: node, branch, iteration, output."""
    lines: Counter[str]
    """The lines of the tools whose execution is recorded."""
    child: Told | None


def told(store: Store, run_id: str) -> Told:
    """Read a run, and the child run that it took over last."""
    record, head = store.runs.get(run_id), store.checkpoints.head(run_id)
    stored = store.checkpoints.outputs(run_id)
    versions = [(each.name, each.node_id, each.version, each.data) for each in store.artifacts.versions(run_id)]
    rows = _recorded(store.database, run_id)
    return Told(
        record.status,
        record.failure_code,
        record.error,
        visible(stored, head) if head else {},
        {f"{name} {version}": [node, data] for name, node, version, data in sorted(versions, key=str)},
        Counter(json.dumps(row) for row in rows),
        Counter(str(output["line"]) for *_, output in rows if "line" in output),
        next((told(store, each.id) for each in store.runs.list().records if each.parent_id == run_id), None),
    )


def _recorded(database: Database, run_id: str) -> list[list[Any]]:
    query = (
        "SELECT node_id, branch_path, iteration_path, output FROM node_output WHERE run_id = :run AND dropped_by = 0"
    )
    with database.read() as connection:
        return [[*place, json.loads(output)] for *place, output in connection.execute(text(query), {"run": run_id})]


def lines_of(seen: Told | None) -> Counter[str]:
    """The lines of all recorded tools, the child's included."""
    return Counter[str]() if seen is None else seen.lines + lines_of(seen.child)


def same_end(ours: Told, undisturbed: Told) -> None:
    """Status, code, text, outputs, artifacts and every recorded execution are those of an undisturbed run."""
    for name in Told.__dataclass_fields__:
        mine, other = getattr(ours, name), getattr(undisturbed, name)
        if name == "child" and mine is not None and other is not None:
            same_end(mine, other)
        else:
            assert mine == other, f"{name}: {mine!r} and not {other!r}"


def nothing_lost(after: Told, before: Told | None) -> None:
    """Every execution that was recorded is recorded still."""
    if before is not None:
        assert before.rows <= after.rows, f"lost: {before.rows - after.rows}"


def no_finished_node_repeated(
    trace: Iterable[str], undisturbed: Iterable[str], left: Iterable[str], seen: Told | None
) -> None:
    """Tools ran as often as undisturbed, apart from those that had left a line but were not recorded at the fault."""
    repeated = Counter(trace) - Counter(undisturbed)
    in_flight = Counter(left) - lines_of(seen)
    assert repeated <= in_flight, f"ran again: {dict(repeated - in_flight)}, in flight were: {dict(in_flight)}"
    missing = Counter(undisturbed) - Counter(trace)
    assert not missing, f"never ran: {dict(missing)}"


def timeline_holds(events: list[Event], seen: Told) -> None:
    """The timeline is whole, in order, and says what the rows say."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "a gap or a repeat of seq"
    assert events[0].type == "run_started"
    assert [event.type for event in events].count("run_started") == 1
    finished = Counter(
        json.dumps([event.node_id, event.branch_id, event.data["output"]], default=dict)
        for event in events
        if event.type == "node_finished"
    )
    rows = Counter[str]()
    for key, count in seen.rows.items():
        node, path, _, output = json.loads(key)
        rows[json.dumps([node, path.rpartition("/")[2], output])] += count
    assert finished == rows, f"the timeline and the rows differ: {finished - rows} against {rows - finished}"
    started: Counter[tuple[str, str]] = Counter()
    stopped = False
    for event in events:
        assert not stopped or event.type in (
            *STOPS,
            "run_resumed",
            "human_answers_recorded",
            "node_finished",
            "run_retry_skipped",
        ), f"{event.type} of {event.node_id} after the run had stopped"
        if event.type == "node_started":
            started[event.node_id, event.branch_id] += 1
        if event.type == "node_finished":
            assert started[event.node_id, event.branch_id], f"{event.node_id} finished and never started"
        stopped = event.type in STOPS if event.type != "run_resumed" else False
    _branches_pair(events)
    assert ENDS[events[-1].type] == seen.status, f"the last event is {events[-1].type}, the status {seen.status}"


def _branches_pair(events: list[Event]) -> None:
    open_branches: set[str] = set()
    for event in events:
        if event.type == "branch_started":
            assert event.branch_id not in open_branches, f"{event.branch_id} started twice"
            open_branches.add(event.branch_id)
        elif event.type == "branch_finished":
            assert event.branch_id in open_branches, f"{event.branch_id} finished and never started"
            open_branches.remove(event.branch_id)
        elif event.type == "join_ready" and not event.branch_id:
            assert not open_branches, f"a join while {open_branches} are on their way"


def store_is_sound(database: Database) -> None:
    """SQLite's own check, and every reference between rows."""
    with database.read() as connection:
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        assert not connection.execute(text("PRAGMA foreign_key_check")).all()
