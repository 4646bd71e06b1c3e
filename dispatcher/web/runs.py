"""``/api/runs``: run documents, their events, and what people do with runs (interface.md 6).

A resume is admitted by the engine before anything starts; then it executes in a slot of the daemon, and the answer
comes when the run is claimed, so that a crash behind the answer loses nothing (dispatcher.md 25).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from config.durations import parse_duration
from dispatcher import log
from dispatcher.refusals import Refused
from dispatcher.web import answered
from dispatcher.web.answers import Document, next_page
from dispatcher.web.backstage import Backstage, Behind
from dispatcher.web.contract import refusals
from dispatcher.web.control import By
from dispatcher.web.models import Budget, CancelRun, EventPage, Nothing, ResumeRun, RewindRun, RunPage
from dispatcher.web.stream import event_stream
from dispatcher.web.uploads import placed
from engine.api import ResumeRequest, RewindRequest
from engine.documents import event_document, run_document, summary_document
from engine.errors import EngineError
from engine.run import BudgetAsk
from engine.states import RunStatus, known, requires_answers
from engine.store.changes import RunFilter

router = APIRouter(prefix="/api/runs", tags=["runs"], default_response_class=Document)
READ, CHANGE = refusals(404, 410), refusals(404, 409, 410)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string", "description": "one event per id"}}}},
    204: {"description": "the run has ended, and nothing is behind Last-Event-ID: ask no more"},
}

_log = log.get(__name__)

SLOT_SECONDS, LOOK = 5.0, 0.05
"""How long an earlier attempt of the run may take to end behind its stop, and between two looks."""
CLAIM_SECONDS = 30.0
"""How long an admitted resume may take to be claimed before the answer says that it was not."""
NO_BASELINE = "no_baseline"
"""Why a list of commits is not available: the run has no commit to compare with."""
Seen = Annotated[
    str, Header(alias="Last-Event-ID", pattern=r"^\d{0,18}$", description="go on behind this event of the stream")
]
_AS_IT_IS, _NO_REASON = ResumeRun(), CancelRun()
"""What an empty body says."""


@router.get("", response_model=answered.Runs)
def list_runs(request: Request, behind: Behind, wanted: Annotated[RunPage, Query()]) -> Document:
    """All runs that pass the filters, newest first, without outputs; with a limit, ``Link`` names the next page."""
    asked = wanted.offset + wanted.limit if wanted.limit else 0
    listing = behind.wiring.store.runs.list(RunFilter(tuple(wanted.status), wanted.workflow, limit=asked))
    strange = next((status for status in wanted.status if not known(status)), None)
    if strange is not None and not listing.records:  # a run of another version may have one that we do not know
        raise Refused("bad_input", f'No run has a status "{strange}".', f"The statuses are: {', '.join(RunStatus)}.")
    records = listing.records[wanted.offset :]
    document: dict[str, object] = {"runs": [summary_document(record) for record in records]}
    if listing.unreadable:
        document["unreadable"] = [{"run_id": each.id, "error": each.message} for each in listing.unreadable]
    shown = len(records) + len(listing.unreadable)
    return Document(document, headers=next_page(request, wanted.limit, wanted.offset, shown))


@router.get("/{run_id}", response_model=answered.Run, responses=READ)
def show_run(behind: Behind, run_id: str) -> Document:
    """The run document: 404 for one that never was, 410 for a deleted one."""
    return Document(run_document(behind.wiring.engine.inspect(run_id)))


@router.get("/{run_id}/events", response_model=answered.Timeline, responses={**READ, **STREAM})
def run_events(
    request: Request, behind: Behind, run_id: str, wanted: Annotated[EventPage, Query()], last_event_id: Seen = ""
) -> Response:
    """The timeline above ``since``: a page of JSON, or with ``Accept: text/event-stream`` a stream to the run's end."""
    behind.wiring.store.runs.get(run_id)
    if "text/event-stream" in request.headers.get("accept", ""):
        since = int(last_event_id) if last_event_id else wanted.since
        return event_stream(behind, run_id, since, again=bool(last_event_id))
    events = behind.wiring.store.timeline.events(run_id, wanted.since, wanted.limit)
    found = [event_document(event) for event in events]
    return Document({"events": found, "more": len(found) == wanted.limit})


@router.post("/{run_id}/resume", status_code=202, response_model=answered.RunSummary, responses=CHANGE)
def resume_run(behind: Behind, run_id: str, body: ResumeRun = _AS_IT_IS, x_user: By = "http") -> Document:
    """Admit a resume (404, 409, 422 leave the run as it was), then execute it; 202 once the run is claimed."""
    record = behind.wiring.store.runs.get(run_id)
    answers = body.answers if body.answers or requires_answers(record.status) else None
    claimed = threading.Event()
    with placed(body.files, _fields(behind, run_id) if body.files else {}) as texts:
        request = ResumeRequest(
            run_id=run_id,
            file=Path(body.source) if body.source else None,
            texts=texts,
            answers=answers,
            force=body.force,
            ask=_ask(body.budget),
            by=x_user,
            claimed=claimed.set,
        )
        behind.wiring.engine.admit_resume(request)
        _execute(behind, request, claimed)
    return Document(summary_document(behind.wiring.store.runs.get(run_id)), 202)


@router.post("/{run_id}/cancel", response_model=answered.RunSummary, responses=CHANGE)
def cancel_run(behind: Behind, run_id: str, body: CancelRun = _NO_REASON) -> Document:
    """Cancel a run; its status is written when this answers."""
    record = behind.wiring.engine.cancel(run_id, body.reason)
    behind.door.refresh("http")
    return Document(summary_document(record))


@router.post("/{run_id}/pause", status_code=202, response_model=answered.RunSummary, responses=CHANGE)
def pause_run(behind: Behind, run_id: str, _body: Nothing | None = None) -> Document:
    """Ask a running run to pause at its next node boundary."""
    behind.wiring.engine.pause(run_id)
    return Document(summary_document(behind.wiring.store.runs.get(run_id)), 202)


@router.post("/{run_id}/rewind", response_model=answered.RewoundRun, responses=CHANGE)
def rewind_run(behind: Behind, run_id: str, body: RewindRun) -> Document:
    """Move a stopped run back to a node; 404, 409 and 422 leave it as it was, unless the answer says otherwise."""
    if bool(body.node) == body.auto:
        raise Refused("bad_input", "A rewind needs either node or auto.", 'Send {"node": "…"} or {"auto": true}.')
    file = Path(body.file) if body.file else None
    request = RewindRequest(run_id, body.node, body.auto, body.restore_scope, body.keep_files, file)
    rewound = behind.wiring.engine.rewind(request)
    behind.door.refresh("http")
    document = summary_document(rewound.record)
    return Document({**document, "rewound": dict(rewound.data), "changes": dict(rewound.changes)})


@router.get("/{run_id}/commits", response_model=answered.Commits, responses=CHANGE)
def run_commits(behind: Behind, run_id: str) -> Document:
    """What a run of ``worktree: auto`` committed, oldest first; not available where it worked in a plain folder."""
    found = behind.wiring.engine.commits(run_id)
    if found is None:
        return Document({"run_id": run_id, "available": False, "reason": NO_BASELINE, "commits": []})
    return Document({"run_id": run_id, "available": True, "reason": "", **asdict(found)})


def _fields(behind: Backstage, run_id: str) -> Mapping[str, str]:
    """The fields of the run's open question, name -> type."""
    head = behind.wiring.store.checkpoints.head(run_id)
    asked = head.pending.fields if head is not None and head.pending is not None else ()
    return {str(field.get("name")): str(field.get("type")) for field in asked}


def _execute(behind: Backstage, request: ResumeRequest, claimed: threading.Event) -> None:
    """Execute the resume in a slot and come back when it is claimed; its refusal, if it loses a race, is raised."""
    lost: list[EngineError] = []

    def work() -> None:
        try:
            behind.door.take_up(request)
        except EngineError as error:
            if claimed.is_set():
                _log.warning("run.attempt_lost", run_id=request.run_id, error=error.message)
            else:
                lost.append(error)
        finally:
            claimed.set()

    _given_a_slot(behind, request, work)
    if not behind.wiring.clock.wait(claimed, CLAIM_SECONDS):
        raise Refused("lock_held", f"Run {request.run_id} could not be claimed in time.", "Look at it, then try again.")
    if lost:
        raise lost[0]


def _given_a_slot(behind: Backstage, request: ResumeRequest, work: Callable[[], None]) -> None:
    """Begin the work; where the card's slot is still used by the attempt that just stopped, when that is gone."""
    clock = behind.wiring.clock
    end = clock.monotonic() + SLOT_SECONDS
    while not behind.door.execute(request.run_id, work):
        if clock.monotonic() >= end:
            raise Refused("already_running", f"Run {request.run_id} is being started already.", "Wait for it.")
        clock.wait(threading.Event(), LOOK)
        behind.wiring.engine.admit_resume(request)


def _ask(budget: Budget) -> BudgetAsk:
    try:
        duration = parse_duration(budget.max_duration) if budget.max_duration else 0.0
    except ValueError as error:
        raise Refused("bad_input", f"budget.max_duration: {error}.", "Write it like 90s or 1h30m.") from error
    return BudgetAsk(
        budget.max_cost_usd, budget.max_tokens, duration, budget.max_iterations, budget.max_parallel_branches
    )
