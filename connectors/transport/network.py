"""The sockets under the client: one resolution, guarded addresses, every wait cut at the deadline of its exchange.

Given to the client's pool as its network backend, for direct connections and for those to a proxy. A name is resolved
once per connection, on a thread of its own, because a resolver knows no deadline; the connection goes to an address
that was looked at (connectors.md 2.7, 16).
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpcore

from connectors.deadline import Deadline
from connectors.transport.address import AddressGuard
from connectors.transport.wire import UNDER_WAY, Exchange

CONNECT_SECONDS = 10.0
"""Longest wait for one address; a host may have several."""
PIECE = 16 * 1024
"""Bytes given to a socket at once, so that the deadline is looked at in between."""

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port -> every address, as text, in the order to try. Raises ``OSError``."""


class DeadlineExceeded(Exception):
    """The call's time was over."""


def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses as this machine resolves them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class GuardedBackend(httpcore.NetworkBackend):
    """Makes connections for one connection of the configuration."""

    def __init__(self, guard: AddressGuard, resolver: Resolver, sockets: httpcore.NetworkBackend) -> None:
        self._guard = guard
        self._resolver = resolver
        self._sockets = sockets

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises ``AddressRefused``, ``DeadlineExceeded`` and the client's
        ``ConnectError`` and ``ConnectTimeout``, each before a byte of a request was handed over."""
        exchange = _exchange()
        addresses = self._guard.check(host, self._resolve(host, port, exchange.deadline), plain=exchange.plain)
        last: Exception | None = None
        for address in addresses:
            seconds = min(CONNECT_SECONDS, _left(exchange))
            try:
                stream = self._sockets.connect_tcp(address, port, seconds, local_address, socket_options)
                return GuardedStream(stream)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        _left(exchange)
        assert last is not None
        raise last

    def _resolve(self, host: str, port: int, deadline: Deadline) -> Sequence[str]:
        answers: list[Sequence[str]] = []
        failures: list[Exception] = []
        done = threading.Event()

        def resolve() -> None:
            try:
                answers.append(self._resolver(host, port))
            except (OSError, UnicodeError) as error:
                failures.append(error)
            finally:
                done.set()

        threading.Thread(target=resolve, name="resolve", daemon=True).start()
        if not done.wait(deadline.remaining()):
            raise DeadlineExceeded(f'"{host}" was not resolved in time')
        if answers:
            return answers[0]
        try:
            raise failures[0]
        except (OSError, UnicodeError) as error:
            # Raised from within, since the pool forgets a cause and keeps a context.
            raise httpcore.ConnectError(str(error)) from error


class GuardedStream(httpcore.NetworkStream):
    """A connection whose every wait ends with the deadline of the exchange that uses it."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What came, at most ``max_bytes``."""
        exchange = _exchange()
        try:
            return self._stream.read(max_bytes, _left(exchange))
        except httpcore.ReadTimeout as error:
            raise _late(exchange, error) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Hand over everything, piece by piece."""
        exchange = _exchange()
        for at in range(0, len(buffer), PIECE):
            piece = buffer[at : at + PIECE]
            seconds = _left(exchange)
            exchange.handing(len(piece))
            try:
                self._stream.write(piece, seconds)
            except httpcore.WriteTimeout as error:
                raise _late(exchange, error) from error

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection with TLS on it, for the name as configured."""
        exchange = _exchange()
        try:
            return GuardedStream(self._stream.start_tls(ssl_context, server_hostname, _left(exchange)))
        except httpcore.ConnectTimeout as error:
            raise _late(exchange, error) from error

    def get_extra_info(self, info: str) -> Any:
        """As the stream below."""
        return self._stream.get_extra_info(info)


def _exchange() -> Exchange:
    exchange = UNDER_WAY.get()
    assert exchange is not None, "a socket is used by an exchange only"
    return exchange


def _left(exchange: Exchange) -> float:
    """Seconds left, above nothing."""
    left = exchange.deadline.remaining()
    if left <= 0.0:
        raise DeadlineExceeded("the call's time was over")
    return left


def _late(exchange: Exchange, error: Exception) -> Exception:
    """Our own exception when it was the deadline that ended the wait."""
    return DeadlineExceeded("the call's time was over") if exchange.deadline.passed() else error
