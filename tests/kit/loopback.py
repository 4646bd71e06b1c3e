"""A fake forge without sockets: the client's own bytes, handed over in memory, so that nothing depends on threads.

A ``Loopback`` takes the place of the sockets below the real transport: addresses are checked, HTTP is written and read,
deadlines hold, and every fault that a connection can have below HTTP happens here. Time that a peer is silent passes on
the test's clock. One thread only.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import httpcore

from connectors.fake_forge.conversation import Conversation
from connectors.fake_forge.desk import Desk
from connectors.fake_forge.script import Facts, Stage
from connectors.fake_forge.stream import Stream, linger
from engine.ports import Clock

PORT = 8099


def nobody() -> None:
    """Nothing happens."""


class Forge:
    """What all connections to one fake forge share. Stands where ``running.FakeForge`` expects its server."""

    def __init__(self, desk: Desk, clock: Clock) -> None:
        self.desk, self.clock = desk, clock
        self.url = self.control_url = desk.address = f"http://127.0.0.1:{PORT}"
        self.arrived = 0
        self.conversation = Conversation(desk, threading.Event(), self._arrived)

    def _arrived(self) -> None:
        self.arrived += 1

    def forget(self) -> None:
        """A new script: requests are counted from here."""
        self.arrived = 0


class Loopback(httpcore.NetworkBackend):
    """The network of one process. ``around`` is called before a request arrives and when it was answered."""

    def __init__(self, forge: Forge, around: Callable[[], None] = nobody) -> None:
        self.forge, self.around = forge, around
        self.busy = 0
        self._lines: list[Line] = []

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any) -> Line:
        """A connection, unless the script refuses it or lets it hang."""
        desk = self.forge.desk
        state = desk.script.listening(self.forge.arrived)
        if state == "refuse":
            raise httpcore.ConnectError("connection refused")
        if state:
            self.forge.clock.wait(threading.Event(), timeout or 0.0)
            raise httpcore.ConnectTimeout("timed out")
        rule = desk.script.pick({Stage.CONNECT}, Facts())
        line = Line(self, rule.fault if rule else "")
        self._lines.append(line)
        return line

    def hang_up(self) -> None:
        """Every connection that is kept ends, as after a while of silence."""
        for line in self._lines:
            line.ended = True
        self._lines.clear()


class Line(httpcore.NetworkStream):
    """One connection: the client's stream, and the socket of the forge's side."""

    def __init__(self, loopback: Loopback, fault: str) -> None:
        self._loopback, self._fault = loopback, fault
        self._asked, self._answer = bytearray(), bytearray()
        self._stream = Stream(self)  # type: ignore[arg-type]
        self._starved = self._silent = self._broken = False
        self.ended = False

    # the client's side

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Into the forge's hands, read or not."""
        self._asked += buffer

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What the forge says; it works when it is waited for."""
        if not self._answer and not self.ended:
            self._serve()
        if self._answer:
            found = bytes(self._answer[:max_bytes])
            del self._answer[:max_bytes]
            return found
        if self._broken:
            raise httpcore.ReadError("connection reset by peer")
        if self.ended:
            return b""
        self._loopback.forge.clock.wait(threading.Event(), timeout or 0.0)
        raise httpcore.ReadTimeout("timed out")

    def get_extra_info(self, info: str) -> Any:
        """Whether something, an end for example, waits to be read."""
        return (bool(self._answer) or self.ended) if info == "is_readable" else None

    def _serve(self) -> None:
        loopback = self._loopback
        loopback.busy += 1
        try:
            loopback.around()
            if not self._silent:
                self._exchange()
            loopback.around()
        finally:
            loopback.busy -= 1

    def _exchange(self) -> None:
        if self._fault:
            if self._fault == "reset_on_connect":
                linger(self)  # type: ignore[arg-type]
            self.ended = True
        elif self._asked:
            head = self._stream.read_head()
            if head is None or not self._loopback.forge.conversation.exchange(self._stream, head):
                self._stream.close()

    # the forge's side, as its ``Stream`` uses a socket

    def recv(self, count: int) -> bytes:
        """What the client wrote."""
        found = bytes(self._asked[:count])
        del self._asked[:count]
        self._starved = not found
        return found

    def sendall(self, data: bytes) -> None:
        """What the client reads."""
        self._answer += data

    def setsockopt(self, _level: int, option: int, _value: bytes) -> None:
        """Only a reset is asked for."""
        self._broken = option == socket.SO_LINGER

    def shutdown(self, _how: int) -> None:
        """No more answers."""
        self.ended = True

    def close(self) -> None:
        """The end; a forge that waited for more than came says nothing, and the client waits."""
        if self._starved and not self._answer and not self.ended:
            self._silent = True
        else:
            self.ended = True
