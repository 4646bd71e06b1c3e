"""The sockets of a fake forge: a port on loopback, one thread per connection, and faults that need a raw socket.

A second port serves the control interface alone and never has a fault. Both speak HTTP/1.1; the forge's port speaks
TLS when certificates are given.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable

from connectors.fake_forge.control import control
from connectors.fake_forge.conversation import Conversation
from connectors.fake_forge.desk import Desk
from connectors.fake_forge.exchange import Answer, Request
from connectors.fake_forge.lost import hold
from connectors.fake_forge.script import Facts, Stage
from connectors.fake_forge.stream import Garbled, Head, Stream, bytes_of, linger
from connectors.fake_forge.tls import Certificates

CONTROL = "/_fake/"
HOST = "127.0.0.1"


class Port:
    """A bound port that listens, refuses, or lets connections hang; it keeps its number in every state."""

    def __init__(self, number: int, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._state = ""
        self._guard = threading.Lock()
        self._fillers: list[socket.socket] = []
        self._open: set[socket.socket] = set()
        self._socket = self._bound(number)
        self.number: int = self._socket.getsockname()[1]
        self.turn("listen")

    @staticmethod
    def _bound(number: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, number))
        return made

    def turn(self, state: str) -> None:
        """``listen``, ``refuse``, ``hang_on_connect`` or ``closed``."""
        with self._guard:
            if state == self._state:
                return
            if self._state in ("listen", "hang_on_connect"):
                self._leave()
                if state != "closed":
                    self._socket = self._bound(self.number)
            self._state = state
            if state == "listen":
                self._socket.listen(128)
                threading.Thread(target=self._accept, args=(self._socket,), name="fake-forge", daemon=True).start()
            elif state == "hang_on_connect":
                self._fill()
            elif state == "closed":
                self._socket.close()

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for each in self._fillers:
            each.close()
        self._fillers = []

    def _fill(self) -> None:
        """A backlog of nothing, filled by ourselves: the next peer's connection is never answered."""
        self._socket.listen(0)
        for _ in range(4):
            filler = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            filler.setblocking(False)
            filler.connect_ex((HOST, self.number))
            self._fillers.append(filler)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with self._guard:
                self._open.add(connection)
            threading.Thread(target=self._run, args=(connection,), name="fake-forge-peer", daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError, Garbled):
                self._serve(connection)
        finally:
            with self._guard:
                self._open.discard(connection)
            with contextlib.suppress(OSError):
                connection.close()

    def end(self) -> None:
        """Close the port and every connection."""
        self.turn("closed")
        with self._guard:
            left = list(self._open)
        for each in left:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Server:
    """The two ports over one desk."""

    def __init__(self, desk: Desk, number: int = 0, certificates: Certificates | None = None) -> None:
        self._desk = desk
        self._certificates = certificates
        self._stopped = threading.Event()
        self._arrived = 0
        self._conversation = Conversation(desk, self._stopped, self._note_arrival)
        self._control = Port(0, self._serve_control)
        self._port = Port(number, self._serve)
        scheme, host = ("https", "localhost") if certificates else ("http", HOST)
        self.url = desk.address = f"{scheme}://{host}:{self._port.number}"
        self.control_url = f"http://{HOST}:{self._control.number}"
        self.apply()

    @property
    def port(self) -> int:
        """The forge's port."""
        return self._port.number

    def apply(self) -> None:
        """Let the port be as the script wants it now."""
        with self._desk.lock:
            state = self._desk.script.listening(self._arrived) or "listen"
        self._port.turn(state)

    def forget(self) -> None:
        """A new script: requests are counted from here."""
        self._arrived = 0
        self.apply()

    def stop(self) -> None:
        """End both ports and what hangs on them."""
        self._stopped.set()
        self._port.end()
        self._control.end()
        self._desk.deliveries.stop()

    def _serve_control(self, connection: socket.socket) -> None:
        stream = Stream(connection)
        while (head := stream.read_head()) is not None:
            body = stream.read_body(head)
            if body is None:
                return
            stream.write(bytes_of(self._controlled(head, body)))

    def _controlled(self, head: Head, body: bytes) -> Answer:
        answer = control(self._desk, Request.of(head.method, head.target, head.headers, body))
        if head.method == "POST" and head.target in (CONTROL + "script", CONTROL + "reset"):
            self.forget()
        return answer

    def _serve(self, connection: socket.socket) -> None:
        with self._desk.lock:
            rule = self._desk.script.pick({Stage.CONNECT}, Facts())
        fault = rule.fault if rule else ""
        if fault == "reset_on_connect":
            linger(connection)
            return
        if fault in ("tls_reset", "tls_hang"):
            self._spoil_handshake(connection, fault)
            return
        if self._certificates is not None:
            connection = self._certificates.context(fault).wrap_socket(connection, server_side=True)
        stream = Stream(connection)
        if fault == "close_before_read":
            stream.finish()
            return
        self._talk(stream)
        stream.close()

    def _spoil_handshake(self, connection: socket.socket, fault: str) -> None:
        connection.recv(65536)
        if fault == "tls_reset":
            linger(connection)
            return
        hold(Stream(connection), self._stopped)

    def _talk(self, stream: Stream) -> None:
        while not self._stopped.is_set():
            try:
                head = stream.read_head()
            except ssl.SSLError:
                return
            if head is None or not self._exchange(stream, head):
                return

    def _exchange(self, stream: Stream, head: Head) -> bool:
        """One request and its answer; False when the connection is over."""
        if head.target.startswith(CONTROL):
            body = stream.read_body(head)
            if body is not None:
                stream.write(bytes_of(self._controlled(head, body)))
            return body is not None
        return self._conversation.exchange(stream, head)

    def _note_arrival(self) -> None:
        with self._desk.lock:
            self._arrived += 1
        self.apply()
