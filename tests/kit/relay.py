"""A raw-socket relay before a fake forge: it passes requests on and counts them, until one send meets a fault.

``arm`` is called where an operation's row says that bytes may leave from now on. What the relay then received, and what
it passed on to the forge, is the truth that a verdict is held against.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

import trustme

from connectors.answer import Proof
from connectors.deadline import Deadline
from connectors.transport.client import TokenCredential
from tests.kit.wire import Peer, Peered, server_tls, trusting

NOBODY = "127.0.0.2"
"""An address at which no relay listens."""
HERE = "127.0.0.1"


class Place(Enum):
    """Where a fault strikes."""

    NAME = "when the name is resolved"
    CREDENTIAL = "when the request is written"
    CONNECTION = "when a connection was accepted"
    REQUEST = "when a change was received"
    NOWHERE = "only the kept connections are closed"


class Road(Enum):
    """How the client reaches the relay."""

    PLAIN = "http"
    TLS = "https"
    PROXY = "https through a proxy"


Ending = Callable[[Peered], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a send. ``proof`` None: nothing is proved. ``acts``: the forge performed it before the fault."""

    place: Place
    ending: Ending = Peered.end
    proof: Proof | None = None
    acts: bool = False
    over: Road = Road.PLAIN
    addresses: tuple[str, ...] = (HERE,)
    slow: bool = False
    """Whether silence is part of it, so that the client gets little time."""
    status: int = 0
    """What the verdict knows of an answer."""


class Relay:
    """A relay before one fake forge. ``changes`` counts whole changes received, ``struck`` sends that met the fault."""

    def __init__(self, upstream: str, over: Road) -> None:
        found = urlsplit(upstream)
        self._upstream = (found.hostname or HERE, found.port or 80)
        self._over = over
        self._tls = None if over is Road.PLAIN else certified("forge.test")
        self._armed: Fault | None = None
        self._stays = False
        self._open: list[Peered] = []
        self.changes = 0
        self.struck = 0
        self.peer = Peer(self._serve)
        scheme = "http" if over is Road.PLAIN else "https"
        port = "" if over is Road.PROXY else f":{self.peer.port}"
        self.url = f"{scheme}://forge.test{port}"
        self.proxy = f"http://proxy.test:{self.peer.port}" if over is Road.PROXY else ""

    def arm(self, fault: Fault, *, stays: bool = False) -> None:
        """Let the next send meet the fault, or every one from now on. Kept connections that hide it are closed."""
        self._armed, self._stays = fault, stays
        if fault.place is not Place.REQUEST:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """The client's resolver."""
        fault = self._take(Place.NAME)
        if fault is not None:
            if not fault.addresses:
                raise socket.gaierror(-2, "Name or service not known")
            return fault.addresses
        armed = self._armed
        return armed.addresses if armed is not None else (HERE,)

    def bad_credential(self) -> bool:
        """Whether the credential of this request cannot be written."""
        return self._take(Place.CREDENTIAL) is not None

    def close(self) -> None:
        """End everything."""
        self.peer.close()

    def _take(self, place: Place) -> Fault | None:
        fault = self._armed
        if fault is None or fault.place is not place:
            return None
        self.struck += 1
        if not self._stays:
            self._armed = None
        return fault

    def _serve(self, connection: Peered) -> None:
        self._open.append(connection)
        fault = self._take(Place.CONNECTION)
        if fault is not None:
            fault.ending(connection)
            return
        if self._over is Road.PROXY:
            connection.head()
            connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if self._tls is not None:
            connection.tls(self._tls)
        forge = http.client.HTTPConnection(*self._upstream, timeout=10)
        try:
            while True:
                self._pass(connection, forge)
        finally:
            forge.close()

    def _pass(self, connection: Peered, forge: http.client.HTTPConnection) -> None:
        head, body = connection.request()
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        asks = method == "GET" or (target.endswith("graphql") and "mutation" not in json.loads(body)["query"])
        changes = not asks
        self.changes += changes
        fault = self._take(Place.REQUEST) if changes else None
        if fault is not None and not fault.acts:
            fault.ending(connection)
            return
        forge.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for line in lines:
            forge.putheader(*line.split(": ", 1))
        forge.endheaders(body)
        answer = forge.getresponse()
        payload = answer.read()
        if fault is not None:
            fault.ending(connection)
            return
        dropped = ("content-length", "transfer-encoding", "connection")
        kept = [f"{name}: {value}\r\n" for name, value in answer.getheaders() if name.lower() not in dropped]
        lengths = "" if answer.status in (204, 304) else f"content-length: {len(payload)}\r\n"
        connection.send(f"HTTP/1.1 {answer.status} Status\r\n{''.join(kept)}{lengths}\r\n".encode("latin-1") + payload)


@functools.cache
def certified(name: str) -> ssl.SSLContext:
    """A server's side with a certificate of the tests' authority for that name."""
    return server_tls(name)


@functools.cache
def stranger(name: str) -> ssl.SSLContext:
    """A server's side with a certificate of an authority that nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(name).configure_cert(context)
    return context


@functools.cache
def trusted() -> ssl.SSLContext:
    """The client's side, made once."""
    return trusting()


class Credential:
    """A token that cannot be written while the relay says so."""

    def __init__(self, inner: TokenCredential, relay: Relay) -> None:
        self._inner, self._relay = inner, relay

    @property
    def key(self) -> str:
        return self._inner.key

    def authorise(self, deadline: Deadline) -> tuple[str, str]:
        header, value = self._inner.authorise(deadline)
        return header, f"{value}\nx" if self._relay.bad_credential() else value


def over_tls(context: ssl.SSLContext, ending: Ending) -> Ending:
    """A connection whose handshake is made with that certificate, and what comes then."""

    def script(connection: Peered) -> None:
        connection.tls(context)
        ending(connection)

    return script


def headed(ending: Ending) -> Ending:
    """Read a request's head and no more, then end."""

    def script(connection: Peered) -> None:
        connection.head()
        ending(connection)

    return script


def saying(data: bytes, ending: Ending = Peered.end) -> Ending:
    """Send these bytes, then end."""

    def script(connection: Peered) -> None:
        connection.send(data)
        ending(connection)

    return script


def answers(status: int, body: bytes = b'{"message": "no"}', **headers: str) -> Ending:
    """A whole answer; the connection goes on."""

    def script(connection: Peered) -> None:
        connection.answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    return script


def garbage_record(connection: Peered) -> None:
    """A record that is none."""
    connection.plain_send(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    connection.end()


@contextmanager
def deaf(port: int, address: str = "127.0.0.3") -> Iterator[str]:
    """An address that answers no connection at that port."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((address, port))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield address


@contextmanager
def relay(upstream: str, over: Road) -> Iterator[Relay]:
    """A relay for a block."""
    found = Relay(upstream, over)
    try:
        yield found
    finally:
        found.close()
