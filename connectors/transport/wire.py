"""What left and how far it came: one ``Exchange`` per request, filled by the client's trace and by the socket itself.

``phase`` follows the trace of the origin request alone; a proxy's CONNECT is kept apart (connectors.md 11). ``handed``
is counted where bytes are given to the socket, so the trace is not the only one to say that nothing left. Used by
``client`` and ``network``; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from connectors.answer import Phase, WireRecord
from connectors.deadline import Deadline
from connectors.errand import Hearing

_PHASES: Mapping[str, Phase] = {
    "connect_tcp.started": Phase.CONNECTING,
    "connect_tcp.complete": Phase.CONNECTED,
    "start_tls.started": Phase.TLS,
    "start_tls.complete": Phase.CONNECTED,
    "send_request_headers.started": Phase.HEAD_BEGUN,
    "send_request_headers.complete": Phase.HEAD_SENT,
    "send_request_body.complete": Phase.BODY_SENT,
    "receive_response_headers.complete": Phase.ANSWER_HEAD,
}


class Exchange:
    """One request under way on one thread."""

    def __init__(self, deadline: Deadline, hearing: Hearing, started_at: datetime) -> None:
        self.deadline = deadline
        self.plain = False
        self._hearing = hearing
        self._started_at = started_at
        self._begun = deadline.clock.monotonic()
        self._phase = Phase.NONE
        self._proxy_phase = Phase.NONE
        self._status = 0
        self._head_failed = False
        self._handed = 0
        self._connects = False

    @property
    def phase(self) -> Phase:
        """How far the origin request came."""
        return self._phase

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """The client's callback: ``http11.send_request_headers.started`` and the like."""
        name = event.split(".", 1)[1]
        if name == "send_request_headers.started":
            self._connects = info["request"].method == b"CONNECT"
        phase = _PHASES.get(name)
        if self._connects:
            self._proxy_phase = phase or self._proxy_phase
            self._connects = name != "receive_response_headers.complete"
            return
        if name == "send_request_headers.failed":
            self._head_failed = True
        if phase is None:
            return
        self._phase = phase
        if phase is Phase.BODY_SENT:
            self._hearing.handed_over()
        elif phase is Phase.ANSWER_HEAD:
            self._status = info["return_value"][1]
            self._hearing.answered(self._status)

    def handing(self, count: int) -> None:
        """The socket is about to be given so many bytes; those of a CONNECT are none of the origin's."""
        if not self._connects:
            self._handed += count

    def ended(self) -> None:
        """The last byte of the answer was read."""
        self._phase = Phase.ANSWER_END

    def record(self) -> WireRecord:
        """What is known by now."""
        return WireRecord(
            phase=self._phase,
            status=self._status,
            head_failed=self._head_failed,
            handed=self._handed,
            proxy_phase=self._proxy_phase,
            started_at=self._started_at,
            seconds=self.deadline.clock.monotonic() - self._begun,
        )


UNDER_WAY: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange of this thread; the sockets below ask it for their deadline."""
