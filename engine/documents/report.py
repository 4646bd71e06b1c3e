"""The report of a run: Markdown with its facts, error, artifacts and timeline (engine.md 11.2).

Called by ``pointsman report`` and by the web side. Pure; every grace and every skipped retry is shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from engine.documents.run import RunView, instant
from engine.events import Event, EventType

_QUIET = frozenset({EventType.EDGE_SELECTED})
_LONGEST = 200


def report_text(view: RunView, events: Iterable[Event]) -> str:
    """The whole report; ``events`` are the run's timeline, oldest first."""
    listed = tuple(events)
    parts = [f"# Run {view.record.id}", _facts(view, listed)]
    if view.record.error:
        parts.append(f"## Error\n\n```\n{view.record.error}\n```")
    if view.artifacts:
        parts.append(_artifacts(view))
    parts.append("## Timeline\n\n" + "\n".join(_line(event) for event in listed if event.type not in _QUIET))
    return "\n\n".join(parts) + "\n"


def _facts(view: RunView, events: tuple[Event, ...]) -> str:
    record, head = view.record, view.head
    counts = Counter(event.type for event in events)
    loops = sum(1 for event in events if event.type == EventType.EDGE_SELECTED and event.data.get("loop"))
    cached = sum(int(str(event.data.get("cache_read_tokens", 0))) for event in events)
    rows = [
        ("workflow", record.workflow),
        ("status", record.status),
        ("failure code", record.failure_code),
        ("checkpoint", f"{head.node_id}{' (completed)' if head.completed else ''}" if head else "none"),
        ("created", instant(record.created_at)),
        ("ended", instant(record.finished_at)),
        ("duration", f"{head.spent.elapsed_ns / 1e9:.1f} s" if head else ""),
        ("tokens", str(head.spent.tokens) if head else ""),
        ("cost", f"{head.spent.cost_usd:.4f} USD" if head else ""),
        ("model calls", str(counts["llm_step_finished"])),
        ("node executions", str(counts[EventType.NODE_FINISHED])),
        ("loop edges", str(loops)),
        ("cache", f"{cached} tokens read"),
        ("resumes", str(counts[EventType.RUN_RESUMED])),
    ]
    lines = [f"| {name} | {value} |" for name, value in rows if value]
    return "| fact | value |\n|---|---|\n" + "\n".join(lines)


def _artifacts(view: RunView) -> str:
    lines = [
        f"- **{name}** version {artifact.version}, from {artifact.node_id}: `{_short(artifact.data)}`"
        for name, artifact in sorted(view.artifacts.items())
    ]
    return "## Artifacts\n\n" + "\n".join(lines)


def _line(event: Event) -> str:
    node = f" **{event.node_id}**" if event.node_id else ""
    data = f" `{_short(event.data)}`" if event.data else ""
    return f"- {event.seq}. {instant(event.time)} {event.type}{node}{data}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=dict).replace("`", "'").replace("\n", " ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
