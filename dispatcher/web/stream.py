"""A run's timeline as server-sent events: what is stored first, then what comes, until the run has ended.

The one place of the web side that waits. It looks between two events whether anything was stored, holds no transaction
and no thread while it waits, and ends when the daemon stops or the reader is gone. A slow reader is waited for: no more
than a page of events is held for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from dispatcher.refusals import Refused
from dispatcher.web.backstage import Backstage
from dispatcher.web.news import MOST
from engine.documents import event_document
from engine.events import Event
from engine.states import is_ended

POLL_SECONDS = 0.25
KEEP_ALIVE_SECONDS = 15.0
_PAGE = 500
_UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Proxies of the nginx kind pass each event on as it comes."""
_NEVER: int | None = -1
"""No version of the store."""


def event_stream(behind: Backstage, run_id: str, since: int, *, again: bool) -> Response:
    """The stream of events above ``since``; ``Last-Event-ID`` of a later request goes on behind the last one.

    A browser that comes again after the end is told so by 204: it asks no more. Raises ``Refused`` when there are too
    many streams.
    """
    if again:
        status, page = _look(behind, run_id, since)
        if is_ended(status) and not page:
            return Response(status_code=204)
    if not behind.news.has_room():
        raise Refused("store_busy", f"There are {MOST} streams already.", "Close some, or read the events by pages.")
    return StreamingResponse(_events(behind, run_id, since), media_type="text/event-stream", headers=_UNBUFFERED)


async def _events(behind: Backstage, run_id: str, since: int) -> AsyncIterator[str]:
    silent, seen = 0.0, _NEVER
    with behind.news.reading():
        while not behind.stopping.is_set():
            version = await behind.news.version(behind.wiring.database)
            if version is None or version != seen:
                status, page = await run_in_threadpool(_look, behind, run_id, since)
                for event in page:
                    since = event.seq
                    yield _lines(event)
                if page:
                    silent = 0.0
                    continue
                if is_ended(status) or not status:
                    yield "event: end\ndata: {}\n\n"
                    return
                seen = version
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
