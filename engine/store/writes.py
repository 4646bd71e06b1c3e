"""The rows that ride in a commit, written with prepared statements on the driver's cursor: the hot path.

Called by ``runs.py`` and ``boundary.py`` inside a transaction that they opened. The number of statements depends on the
rows of this step alone, never on the length of the run (engine.md 2.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, update

from engine.checkpoint import Head, Interaction, Mark
from engine.events import NewEvent
from engine.run import Attachment, SourceFile
from engine.store.changes import Stop, Written
from engine.store.cursors import Cursor
from engine.store.heads import head_values
from engine.store.names import table
from engine.store.prepared import Prepared, PreparedRead, inserting, inserting_new, upserting

SOURCE_LIMIT = 1024 * 1024
"""Characters of all source files together; above it only the main file is kept, marked."""

_RUN = table("run")
_CHECKPOINT = table("checkpoint")
_ADVANCE = (
    update(_RUN)
    .where(_RUN.c.id == bindparam("the_run"))
    .values(
        event_seq=_RUN.c.event_seq + bindparam("event_count"),
        output_seq=_RUN.c.output_seq + bindparam("output_count"),
        cost_usd_total=_RUN.c.cost_usd_total + bindparam("cost"),
        updated_at=bindparam("at"),
        last_event_at=bindparam("at"),
    )
)
_SEEN = (
    _RUN.c.event_seq,
    _RUN.c.output_seq,
    _RUN.c.status,
    _RUN.c.stop_request,
    _RUN.c.stop_reason,
    _RUN.c.epoch,
)
_EPOCH = PreparedRead([_RUN.c.epoch], _RUN.c.id == bindparam("the_run"))
ADVANCE = Prepared(_ADVANCE.returning(*_SEEN))
ADVANCE_OWNED = Prepared(_ADVANCE.where(_RUN.c.epoch == bindparam("the_epoch")).returning(*_SEEN))

_PUT_HEAD = upserting(_CHECKPOINT)
_DROP_PENDING = Prepared(
    update(_CHECKPOINT)
    .where(_CHECKPOINT.c.run_id == bindparam("the_run"), _CHECKPOINT.c.pending.is_not(None))
    .values(pending=None)
)
_ADD_OUTPUT = inserting(table("node_output"))
_PUT_ARTIFACT = upserting(table("artifact"))
_PUT_BRANCH = upserting(table("branch"))
_ADD_EVENT = inserting(table("event"))
_SPEND = table("spend_day")
_PUT_SPEND = upserting(_SPEND, largest="cost_usd")
_ADD_MARK = inserting(table("workspace_mark"))
_ADD_MARK_FILE = inserting(table("workspace_file"))
_PUT_ATTACHMENT = upserting(table("attachment"))
_PUT_QUESTION = upserting(table("interaction"))
_SOURCE = table("run_source")
_ADD_SOURCE = inserting(_SOURCE)
_KEEP_TEXT = inserting_new(table("source_text"))
_DROP_SOURCES = Prepared(delete(_SOURCE).where(_SOURCE.c.run_id == bindparam("the_run")))


@dataclass(frozen=True, slots=True)
class Timed:
    """Rows with the instant at which they became due; a refused commit keeps it for the next."""

    at: datetime
    rows: Written


@dataclass(frozen=True, slots=True)
class Advanced:
    """A run row after its counters moved: the numbers of the last event and output, and what the owner looks at."""

    event_seq: int
    output_seq: int
    stop: Stop


def counted(batches: Sequence[Timed]) -> dict[str, float]:
    """By how much the rows of ``batches`` move the counters of their run."""
    every = [batch.rows for batch in batches]
    return {
        "event_count": sum(len(rows.events) for rows in every),
        "output_count": sum(len(rows.outputs) for rows in every),
        "cost": sum(output.cost_usd for rows in every for output in rows.outputs),
    }


def advance(cursor: Cursor, run_id: str, batches: Sequence[Timed], at: datetime, epoch: int | None) -> Advanced | None:
    """Move the counters of the run by the rows of ``batches``; None when the row or its epoch is another."""
    values = {"the_run": run_id, "the_epoch": epoch, "at": at, **counted(batches)}
    statement = ADVANCE if epoch is None else ADVANCE_OWNED
    found = statement.run(cursor, values).fetchone()
    if found is None:
        return None
    event_seq, output_seq, status, request, reason, owned = found
    return Advanced(event_seq, output_seq, Stop(status, request, reason, owned))


def owner_epoch(cursor: Cursor, run_id: str) -> int | None:
    """The epoch of the run's row, None when there is no row."""
    found = _EPOCH.one(cursor, {"the_run": run_id})
    return None if found is None else int(found["epoch"])


def write_rows(cursor: Cursor, run_id: str, batches: Sequence[Timed], after: Advanced) -> None:
    """Insert the rows of ``batches``, whose numbers end at those of ``after``."""
    event_seq = after.event_seq - sum(len(batch.rows.events) for batch in batches)
    output_seq = after.output_seq - sum(len(batch.rows.outputs) for batch in batches)
    for batch in batches:
        _write_outputs(cursor, run_id, batch, output_seq)
        _write_events(cursor, run_id, batch, event_seq)
        _write_others(cursor, run_id, batch)
        event_seq += len(batch.rows.events)
        output_seq += len(batch.rows.outputs)


def _write_outputs(cursor: Cursor, run_id: str, batch: Timed, after: int) -> None:
    for seq, output in enumerate(batch.rows.outputs, after + 1):
        values = {
            "run_id": run_id,
            "seq": seq,
            "branch_path": output.branch_path,
            "node_id": output.node_id,
            "iteration_path": output.iteration_path,
            "iteration": output.iteration,
            "dropped_by": 0,
            "tokens": output.tokens,
            "cost_usd": output.cost_usd,
            "duration_ms": output.duration_ms,
            "time": batch.at,
            "output": output.output,
        }
        _ADD_OUTPUT.run(cursor, values)


def _write_events(cursor: Cursor, run_id: str, batch: Timed, after: int) -> None:
    rows = [_event_values(run_id, seq, batch.at, event) for seq, event in enumerate(batch.rows.events, after + 1)]
    if rows:
        _ADD_EVENT.run_many(cursor, rows)


def _event_values(run_id: str, seq: int, at: datetime, event: NewEvent) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "seq": seq,
        "time": at,
        "type": event.type,
        "node_id": event.node_id,
        "branch_id": event.branch_id,
        "tenant": "",
        "active_ms": event.active_ms,
        "log_offset": event.log_offset,
        "data": event.data,
    }


def _write_others(cursor: Cursor, run_id: str, batch: Timed) -> None:
    for artifact in batch.rows.artifacts:
        values = {
            "run_id": run_id,
            "name": artifact.name,
            "node_id": artifact.node_id,
            "version": artifact.version,
            "digest": artifact.digest,
            "labels": list(artifact.labels),
            "time": batch.at,
            "data": artifact.data,
        }
        _PUT_ARTIFACT.run(cursor, values)
    for branch in batch.rows.branches:
        place = {"run_id": run_id, "invocation_key": branch.invocation_key, "branch_id": branch.branch_id}
        standing = {"node_id": branch.node_id, "completed": branch.completed, "done": branch.done}
        _PUT_BRANCH.run(cursor, {**place, **standing, "state": branch.state})
    for key, cost in batch.rows.spend:
        day = batch.at.date().isoformat()
        _PUT_SPEND.run(cursor, {"day": day, "key": key, "run_id": run_id, "cost_usd": cost})
    for attachment in batch.rows.attachments:
        put_attachment(cursor, run_id, attachment)
    if batch.rows.marks:
        write_marks(cursor, run_id, batch.rows.marks, batch.at)


def write_marks(cursor: Cursor, run_id: str, marks: Sequence[Mark], at: datetime) -> None:
    """Insert boundaries of the workspace with the files that each changed."""
    for mark in marks:
        place = {"run_id": run_id, "seq": mark.seq}
        named = {"label": mark.label, "node_id": mark.node_id, "parent": mark.parent, "ref": mark.ref, "time": at}
        _ADD_MARK.run(cursor, {**place, **named})
        rows = [{**place, "path": f.path, "mode": f.mode, "hash": f.hash, "skipped": f.skipped} for f in mark.files]
        if rows:
            _ADD_MARK_FILE.run_many(cursor, rows)


def put_head(cursor: Cursor, run_id: str, head: Head, at: datetime) -> None:
    """Replace the checkpoint of the run."""
    _PUT_HEAD.run(cursor, {"run_id": run_id, "updated_at": at, **head_values(head)})


def drop_pending(cursor: Cursor, run_id: str) -> None:
    """Remove the pending question from the checkpoint; the rest stays (engine.md 1.4, 9)."""
    _DROP_PENDING.run(cursor, {"the_run": run_id})


def put_attachment(cursor: Cursor, run_id: str, stored: Attachment) -> None:
    """Record a copy that was made in the run's folder; its path is kept relative to the store's."""
    folder = f"runs/{run_id}/attachments/"
    values = {"run_id": run_id, "name": stored.name, "path": folder + stored.path.rpartition(folder)[2]}
    told = {"filename": stored.filename, "mime": stored.mime, "size": stored.size}
    _PUT_ATTACHMENT.run(cursor, {**values, **told, "sha256": stored.sha256, "origin": stored.origin})


def put_question(cursor: Cursor, question: Interaction) -> None:
    """Store a question, or replace the same one."""
    _PUT_QUESTION.run(cursor, question_values(question))


def question_values(question: Interaction) -> Mapping[str, Any]:
    """The columns of a question."""
    return {
        "run_id": question.run_id,
        "node_id": question.node_id,
        "id": question.id,
        "kind": question.kind,
        "asked_at": question.asked_at,
        "answered_at": question.answered_at,
        "retired_at": question.retired_at,
        "questions": question.questions,
        "fields": list(question.fields),
        "answers": question.answers,
        "turns": list(question.turns),
    }


def put_sources(cursor: Cursor, run_id: str, sources: tuple[SourceFile, ...]) -> None:
    """Store the program's files, main first; above ``SOURCE_LIMIT`` the main file alone, marked.

    A text is kept once, however many runs name it (language.md 15).
    """
    _DROP_SOURCES.run(cursor, {"the_run": run_id})
    kept = sources
    if sum(len(source.text) for source in sources) > SOURCE_LIMIT:
        kept = (SourceFile(sources[0].path, sources[0].text, main_only=True),)
    for position, source in enumerate(kept):
        digest = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
        _KEEP_TEXT.run(cursor, {"digest": digest, "source": source.text})
        values = {"run_id": run_id, "position": position, "path": source.path}
        _ADD_SOURCE.run(cursor, {**values, "main_only": source.main_only, "digest": digest})
