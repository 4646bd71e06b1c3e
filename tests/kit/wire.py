"""A raw-socket peer whose count of received bytes is the truth, and transports that talk to it.

A script gets each connection and does with it what a broken, slow or hostile forge does. Nothing of HTTP is done for
it. TLS is that of an authority made for the test.
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import trustme

from connectors.errand import Errand, Purpose
from connectors.limiter.decisions import Pace
from connectors.limiter.limiter import Limiter
from connectors.limiter.state import MemoryLimiterStore
from connectors.secrets import Redactor, Secret
from connectors.transport.client import Parts, TokenCredential, Transport
from connectors.transport.exchanging import Setting, Target
from engine.ports import Clock, SystemClock

TOKEN = "token-of-the-wire-tests"
MUTATION = Errand(Purpose.ACTION, effect_id="e1", deadline=5.0)
READ = Errand(Purpose.LIST, deadline=5.0)
PATIENCE = 10.0


class Peered:
    """One accepted connection as a script sees it."""

    def __init__(self, raw: socket.socket, peer: Peer) -> None:
        self.socket: socket.socket | ssl.SSLSocket = raw
        self._peer = peer
        self._buffer = b""

    def tls(self, context: ssl.SSLContext) -> None:
        """Do the server's side of a handshake; a failed one ends the script."""
        try:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        except (OSError, ssl.SSLError):
            raise Over from None

    def _receive(self) -> bytes:
        try:
            data = self.socket.recv(65536)
        except (OSError, ssl.SSLError):
            raise Over from None
        if not data:
            raise Over
        self._peer.got += len(data)
        return data

    def head(self) -> bytes:
        """One request head, read to its end."""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        self._peer.heads.append(head)
        return head

    def request(self) -> tuple[bytes, bytes]:
        """One request, read to its end: head and body."""
        head = self.head()
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        while len(self._buffer) < length:
            self._buffer += self._receive()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        self._peer.requests.append((head, body))
        return head, body

    def send(self, data: bytes) -> None:
        """Whatever bytes; a peer that is gone ends the script."""
        try:
            self.socket.sendall(data)
        except OSError:
            raise Over from None

    def answer(self, status: int, body: bytes = b"{}", headers: Mapping[str, str] | None = None) -> None:
        """A well-formed answer."""
        told = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        self.send(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body)

    def reset(self) -> None:
        """Close with a reset."""
        raw = self.socket
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.socket.close(raw)
        raise Over

    def end(self) -> None:
        """Close in the usual way, without a word of TLS."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        raise Over

    def plain_send(self, data: bytes) -> None:
        """Bytes below TLS: a record that is none."""
        raw = socket.socket(fileno=self.socket.fileno())
        try:
            raw.sendall(data)
        finally:
            raw.detach()

    def hang(self) -> None:
        """Say nothing until the test is over."""
        self._peer.closing.wait(PATIENCE)
        raise Over

    def unread(self, ending: Script) -> None:
        """Wait until something arrived, and go on without reading it."""
        with contextlib.suppress(OSError):
            self.socket.recv(1, socket.MSG_PEEK)
        ending(self)

    def drain(self) -> None:
        """Count whatever still comes."""
        while True:
            self._receive()


class Over(Exception):
    """The script of a connection ended early."""


Script = Callable[[Peered], None]


class Peer:
    """A listening socket and what arrived at it: ``got`` bytes, ``heads``, whole ``requests``, ``accepted``."""

    def __init__(self, script: Script, host: str = "127.0.0.1", port: int = 0) -> None:
        self.script = script
        self.got = 0
        self.accepted = 0
        self.heads: list[bytes] = []
        self.requests: list[tuple[bytes, bytes]] = []
        self.closing = threading.Event()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((host, port), backlog=16)
        self.host, self.port = self._listener.getsockname()[:2]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            raw.settimeout(PATIENCE)
            thread = threading.Thread(target=self._serve, args=(raw,), daemon=True)
            with self._changed:
                self.accepted += 1
                self._threads.append(thread)
                thread.start()
                self._changed.notify_all()

    def _serve(self, raw: socket.socket) -> None:
        connection = Peered(raw, self)
        with contextlib.suppress(Over):
            self.script(connection)
        with contextlib.suppress(OSError):
            connection.socket.close()

    def stop_listening(self) -> None:
        """Refuse from now on; connections under way go on."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(PATIENCE)

    def settle(self, connections: int = 0) -> None:
        """Wait until so many connections were accepted and every connection's script is over."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.accepted >= connections, PATIENCE)
        self.closing.set()
        for thread in list(self._threads):
            thread.join(PATIENCE)

    def close(self) -> None:
        """End everything."""
        self.stop_listening()
        self.settle()

    @property
    def methods(self) -> list[str]:
        """The methods of all heads, in order."""
        return [head.split(b" ", 1)[0].decode() for head in self.heads]

    @property
    def targets(self) -> list[str]:
        """The targets of all heads, in order."""
        return [head.split(b" ", 2)[1].decode() for head in self.heads]


@contextmanager
def peer(script: Script, **where: Any) -> Iterator[Peer]:
    """A peer for a block."""
    found = Peer(script, **where)
    try:
        yield found
    finally:
        found.close()


def answering(status: int, body: object = None, headers: Mapping[str, str] | None = None) -> Script:
    """A script that answers every request alike."""

    def script(connection: Peered) -> None:
        while True:
            connection.request()
            connection.answer(status, json.dumps(body if body is not None else {}).encode(), headers)

    return script


@functools.cache
def authority() -> trustme.CA:
    """The authority of this process's tests."""
    return trustme.CA()


def server_tls(*names: str) -> ssl.SSLContext:
    """The server's side, with a certificate for these names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(*names).configure_cert(context)
    return context


def trusting() -> ssl.SSLContext:
    """The client's side, trusting that authority alone."""
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Link:
    """A transport to a peer, with what a test wants to look at."""

    def __init__(self, url: str, *, kind: str = "gitlab", clock: Clock | None = None, **more: Any) -> None:
        self.clock = clock or SystemClock()
        self.token = more.pop("token", TOKEN)
        self.limits = MemoryLimiterStore()
        target = Target(url, more.pop("allow_private", True), more.pop("proxy", ""))
        setting = {key: more.pop(key) for key in ("resolver", "trusted", "connections") if key in more}
        fast = Pace(spacing=0.0, per_minute=10_000)
        self.limiter = Limiter("peer/test", self.limits, self.clock, fast, more.get("observer"))
        credential = more.pop("credential", None) or TokenCredential(Secret(self.token))
        self.redactor = Redactor([Secret(self.token)])
        parts = Parts(kind=kind, redactor=self.redactor, **more)
        self.transport = Transport(Setting(target, self.clock, **setting), credential, self.limiter, parts)

    def close(self) -> None:
        """Close the transport."""
        self.transport.close()


@contextmanager
def link(url: str, **more: Any) -> Iterator[Transport]:
    """A transport for a block."""
    found = Link(url, **more)
    try:
        yield found.transport
    finally:
        found.close()
