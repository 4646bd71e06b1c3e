"""The sections of ``inspect``: timeline, executions, tools, artifacts, questions, log (engine.md 11.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dispatcher.cli.output import json_text, table
from dispatcher.cli.run_text import detail_text
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from engine.documents import RunView
    from engine.store.store import Store

_TRACE = frozenset({"node_started", "node_finished", "edge_selected", "node_recovery"})
_LOG_LINES = 200


def event_documents(store: Store, run_id: str, since: int = 0) -> list[dict[str, object]]:
    """The timeline as documents, oldest first."""
    from engine.documents import event_document

    return [event_document(event) for event in store.timeline.events(run_id, since)]


def executions(store: Store, run_id: str, node: str, iteration: int | None) -> list[dict[str, object]]:
    """Recorded executions, of one node or of all; ``iteration`` counts from 0. Raises Refused when there is none."""
    rows = store.checkpoints.history(run_id, node)
    if node and not rows:
        raise Refused("bad_input", f"Node {node} of run {run_id} has no recorded execution", "List them: --list-nodes.")
    made: list[dict[str, object]] = [
        {
            "node": each.row.node_id,
            "execution": place,
            "iteration": each.row.iteration,
            "iteration_path": each.row.iteration_path,
            "branch": each.row.branch_path,
            "time": each.time,
            "duration_ms": each.row.duration_ms,
            "dropped": bool(each.dropped_by),
            "output": each.row.output,
        }
        for place, each in enumerate(rows)
    ]
    if iteration is None:
        return made
    if iteration >= len(made):
        raise Refused("bad_input", f"Node {node} was executed {len(made)} times", "Count executions from 0.")
    return [made[iteration]]


def section_text(store: Store, view: RunView, given: Mapping[str, Any]) -> str:
    """What a person asked to see."""
    if given["node"] or given["list_nodes"]:
        return _executions(store, view, given)
    wanted = given["section"] or ("events" if given["events"] else "summary")
    if wanted != "all":
        return SECTIONS[wanted](store, view, given["full"])
    return "\n\n".join(f"## {name}\n{part(store, view, given['full'])}" for name, part in SECTIONS.items())


def _executions(store: Store, view: RunView, given: Mapping[str, Any]) -> str:
    rows = executions(store, view.record.id, given["node"] or "", given["iteration"])
    shown = [
        (each["node"], each["execution"], each["iteration_path"], each["duration_ms"], json_text(each["output"]))
        for each in rows
    ]
    return table(("NODE", "EXECUTION", "ITERATION", "MS", "OUTPUT"), shown)


def _summary(_store: Store, view: RunView, full: bool) -> str:
    return detail_text(view, full=full)


def _events(store: Store, view: RunView, full: bool) -> str:
    return "\n".join(_line(each, full) for each in event_documents(store, view.record.id))


def _trace(store: Store, view: RunView, full: bool) -> str:
    return "\n".join(_line(each, full) for each in _trace_documents(store, view.record.id))


def _tools(store: Store, view: RunView, full: bool) -> str:
    return "\n".join(_line(each, full) for each in _tool_documents(store, view.record.id))


def _artifacts(store: Store, view: RunView, full: bool) -> str:
    rows = store.artifacts.versions(view.record.id)
    return "\n".join(f"{each.name} {each.version} from {each.node_id}: {_cut(each.data, full)}" for each in rows)


def _interactions(store: Store, view: RunView, full: bool) -> str:
    rows = store.interactions.all(view.record.id)
    return "\n".join(
        f"{each.id} ({each.kind}): {_cut(each.questions, full)} -> {_cut(each.answers, full)}" for each in rows
    )


def _log(store: Store, view: RunView, full: bool) -> str:
    lines = _log_lines(store, view.record.id)
    return "\n".join(lines if full else lines[-_LOG_LINES:])


def _log_lines(store: Store, run_id: str) -> list[str]:
    path = Path(store.root) / "runs" / run_id / "run.log"
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def section_documents(store: Store, run_id: str, section: str | None) -> dict[str, object]:
    """What a section adds to the run document, whole; every section for ``all``, nothing for the summary."""
    return {key: read(store, run_id) for name, (key, read) in DOCUMENTS.items() if section in (name, "all")}


def _trace_documents(store: Store, run_id: str) -> list[dict[str, object]]:
    return [each for each in event_documents(store, run_id) if each["type"] in _TRACE]


def _tool_documents(store: Store, run_id: str) -> list[dict[str, object]]:
    return [each for each in event_documents(store, run_id) if str(each["type"]).startswith("tool_")]


def _records(rows: Iterable[DataclassInstance]) -> list[dict[str, object]]:
    return [{each.name: getattr(row, each.name) for each in fields(row)} for row in rows]


SECTIONS: Mapping[str, Callable[[Store, RunView, bool], str]] = MappingProxyType(
    {
        "summary": _summary,
        "events": _events,
        "trace": _trace,
        "tools": _tools,
        "artifacts": _artifacts,
        "interactions": _interactions,
        "log": _log,
    }
)
"""section -> its text."""

DOCUMENTS: Mapping[str, tuple[str, Callable[[Store, str], object]]] = MappingProxyType(
    {
        "events": ("events", event_documents),
        "trace": ("trace", _trace_documents),
        "tools": ("tools", _tool_documents),
        "artifacts": ("artifact_versions", lambda store, run_id: _records(store.artifacts.versions(run_id))),
        "interactions": ("interactions", lambda store, run_id: _records(store.interactions.all(run_id))),
        "log": ("log", _log_lines),
    }
)
"""section -> the key of the run document that holds it, and its reader."""


def _line(event: Mapping[str, object], full: bool) -> str:
    node = f" {event['node_id']}" if event["node_id"] else ""
    return f"{event['seq']:>5} {event['time']} {event['type']}{node} {_cut(event['data'], full)}"


def _cut(value: object, full: bool) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if full or len(text) <= 200 else text[:199] + "…"
