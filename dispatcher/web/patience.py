"""How long a connection may keep the daemon waiting, and how many there may be.

The listener lives in the dispatcher's process: a client that opens connections and says nothing must not use up its
file descriptors. Only silence and trickling are cut off; an answer under way, a stream too, takes as long as it takes.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from dispatcher.refusals import Refused
from dispatcher.web.answers import JSON, refusal_answer

HEAD_SECONDS = 15.0
"""How long the head of a request may take to come."""
BODY_SECONDS, BODY_RATE = 30.0, 1024.0
"""How long a body may take whatever its length, and how many bytes of it buy one more second."""
MOST = 256
"""Connections at once."""
LOOK_EVERY = 5.0
"""Seconds between two looks at a connection."""


def late(seconds: float, received: int, *, body: bool) -> bool:
    """Whether what is waited for since ``seconds``, and of which ``received`` bytes came, is waited for no longer."""
    return seconds > (BODY_SECONDS + received / BODY_RATE if body else HEAD_SECONDS)


class Patient(H11Protocol):
    """One connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._since, self._received, self._body = self.loop.time(), 0, False
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; when there are too many, the one that has said nothing for longest makes room."""
        super().connection_made(transport)
        if len(self.connections) > MOST and not self._room():
            self._send_away(Refused("store_busy", f"There are {MOST} connections already.", "Close some, ask again."))
            return
        self._since = self.loop.time()
        self._look = self.loop.call_later(LOOK_EVERY, self._check)

    def _room(self) -> bool:
        """End the connection that is waited for since longest, when any is; one that came just now is no candidate."""
        now = self.loop.time()
        waiting = [
            each
            for each in self.connections
            if isinstance(each, Patient) and each is not self and each.waits_since() < now - LOOK_EVERY
        ]
        if not waiting:
            return False
        min(waiting, key=Patient.waits_since).transport.abort()
        return True

    def waits_since(self) -> float:
        """Since when a request is waited for, in the loop's time; endless while one is being answered."""
        return math.inf if self._answering() and not self._body else self._since

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop looking."""
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; a head or a body that began now has its time from now on."""
        self._received += len(data)
        super().data_received(data)
        self._note()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP."""
        self._send_away(Refused("usage", "The request is not HTTP as it should be.", "Send HTTP/1.1, with a Host."))

    def _answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return cycle is not None and not cycle.response_complete

    def _note(self) -> None:
        body = self._answering() and self.cycle.more_body
        if body != self._body:
            self._since, self._received, self._body = self.loop.time(), 0, body

    def _check(self) -> None:
        self._look = self.loop.call_later(LOOK_EVERY, self._check)
        self._note()
        if self._answering() and not self._body:
            self._since = self.loop.time()
        elif late(self.loop.time() - self._since, self._received, body=self._body):
            self.transport.abort()

    def _send_away(self, refused: Refused) -> None:
        answer = refusal_answer(refused)
        lines = [f"HTTP/1.1 {answer.status_code} Refused", f"content-type: {JSON}", "connection: close"]
        head = "\r\n".join([*lines, f"content-length: {len(answer.body)}", "", ""]).encode()
        self.transport.write(head + bytes(answer.body))
        self.transport.close()
