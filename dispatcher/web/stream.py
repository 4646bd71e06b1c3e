"""A run's timeline as server-sent events: what is stored first, then what comes, until the run has ended.

The one place of the web side that waits. It polls the store between two events, holds no transaction and no thread
while it waits, and ends when the daemon stops or the reader is gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from dispatcher.web.backstage import Backstage
from engine.documents import event_document
from engine.events import Event
from engine.states import is_ended

POLL_SECONDS = 0.25
KEEP_ALIVE_SECONDS = 15.0
_PAGE = 500


def event_stream(behind: Backstage, run_id: str, since: int) -> StreamingResponse:
    """The stream of events above ``since``; ``Last-Event-ID`` of a later request goes on behind the last one."""
    return StreamingResponse(_events(behind, run_id, since), media_type="text/event-stream")


async def _events(behind: Backstage, run_id: str, since: int) -> AsyncIterator[str]:
    silent = 0.0
    while not behind.stopping.is_set():
        status, page = await run_in_threadpool(_look, behind, run_id, since)
        for event in page:
            since = event.seq
            yield _lines(event)
        if page:
            silent = 0.0
            continue
        if is_ended(status):
            yield "event: end\ndata: {}\n\n"
            return
        if silent >= KEEP_ALIVE_SECONDS:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS


def _look(behind: Backstage, run_id: str, since: int) -> tuple[str, list[Event]]:
    """The status first: an event that is written between the two reads comes with the next look."""
    store = behind.wiring.store
    status = store.runs.status_of([run_id]).get(run_id, "")
    return status, list(store.timeline.events(run_id, since, _PAGE))


def _lines(event: Event) -> str:
    data = json.dumps(event_document(event), ensure_ascii=True, separators=(",", ":"))
    return f"id: {event.seq}\nevent: {event.type}\ndata: {data}\n\n"
