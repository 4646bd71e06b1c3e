"""What is said over one connection: a request is read, performed or spoilt by the script, and answered.

Called by ``server`` for each request of a socket; whatever has the few methods of a socket that ``Stream`` uses can be
talked over. Knows no ports.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from connectors.fake_forge.desk import Desk, Visit
from connectors.fake_forge.exchange import Request
from connectors.fake_forge.lost import LOST, Loss
from connectors.fake_forge.script import Stage
from connectors.fake_forge.stream import Head, Stream, bytes_of


@dataclass(frozen=True, slots=True)
class Conversation:
    """How one forge talks. ``arrived`` is told each request; ``stopped`` is set when the forge shuts down."""

    desk: Desk
    stopped: threading.Event
    arrived: Callable[[], None]

    def exchange(self, stream: Stream, head: Head) -> bool:
        """One request whose head was read, and its answer; False when the connection is over."""
        visit = self.desk.visit(Request.of(head.method, head.target, head.headers))
        self.arrived()
        if visit.stage is Stage.UPLOAD and visit.rule is not None:
            self._break_upload(stream, visit)
            return False
        body = stream.read_body(head)
        if body is None:
            return False
        visit = replace(visit, request=replace(visit.request, body=body))
        answer = self.desk.answer(visit)
        if visit.stage is Stage.AFTER and visit.rule is not None:
            loss = Loss(stream, answer, visit.rule.given, self.stopped)
            return LOST[visit.rule.fault](loss) and not head.last
        stream.write(bytes_of(answer))
        return not head.last

    def _break_upload(self, stream: Stream, visit: Visit) -> None:
        """Read a part of the body, then reset or read no more."""
        rule = visit.rule
        assert rule is not None
        stream.read_some(min(int(rule.given.get("bytes", 1)), int(visit.request.headers.get("content-length", "0"))))
        if rule.fault == "reset_mid_upload":
            stream.reset()
            return
        self.stopped.wait()
        stream.close()
