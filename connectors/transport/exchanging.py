"""One request over one connection of the pool, read to its end within its deadline: the hands of ``client``.

Raises whatever the HTTP client raises, untranslated; ``verdicts`` and ``client`` say what it means. Redirects, repeats,
cookies, environment proxies and HTTP/2 do not exist here (connectors.md 11, 16).
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import certifi
import httpcore
import httpx

from connectors.answer import StopReason
from connectors.deadline import Deadline, Timekeeper
from connectors.errand import Errand
from connectors.transport.address import AddressGuard, AddressRefused
from connectors.transport.network import DeadlineExceeded, GuardedBackend, Resolver, system_resolver
from connectors.transport.request import (
    LARGEST_BODY,
    Answer,
    BodyUnreadable,
    CredentialMissing,
    NotSerialisable,
    Origin,
    Request,
    Written,
    frozen_headers,
    serialise,
)
from connectors.transport.verdicts import chain
from connectors.transport.wire import UNDER_WAY, Exchange

CONNECTIONS = 10
IDLE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where a connection goes: its base address, what lifts the address guard, its proxy (empty: none)."""

    url: str
    allow_private: bool | tuple[str, ...] = False
    proxy: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A target and the world around it."""

    target: Target
    clock: Timekeeper
    resolver: Resolver = field(default=system_resolver)
    trusted: ssl.SSLContext | None = None
    """Whose certificates are believed; None: those of this machine and the usual authorities."""
    connections: int = CONNECTIONS
    sockets: httpcore.NetworkBackend = field(default_factory=httpcore.SyncBackend)
    """What connects to an address that was looked at."""


@lru_cache(maxsize=1)
def usual_trust() -> ssl.SSLContext:
    """This machine's authorities and the usual ones."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


class GuardedTransport(httpx.HTTPTransport):
    """The HTTP client's own transport, on a pool whose sockets are ours."""

    def __init__(self, setting: Setting, backend: GuardedBackend) -> None:
        trusted = setting.trusted or usual_trust()
        super().__init__(verify=trusted, trust_env=False, http1=True, http2=False, retries=0)
        self._pool.close()
        if setting.target.proxy:
            proxy = httpx.Proxy(setting.target.proxy)
            self._pool = httpcore.HTTPProxy(
                proxy_url=httpcore.URL(
                    scheme=proxy.url.raw_scheme,
                    host=proxy.url.raw_host,
                    port=proxy.url.port,
                    target=proxy.url.raw_path,
                ),
                proxy_auth=proxy.raw_auth,
                ssl_context=trusted,
                proxy_ssl_context=trusted if proxy.url.scheme == "https" else None,
                max_connections=setting.connections,
                keepalive_expiry=IDLE_SECONDS,
                http1=True,
                http2=False,
                network_backend=backend,
            )
        else:
            self._pool = httpcore.ConnectionPool(
                ssl_context=trusted,
                max_connections=setting.connections,
                keepalive_expiry=IDLE_SECONDS,
                http1=True,
                http2=False,
                retries=0,
                network_backend=backend,
            )


class Exchanger:
    """Sends requests of one connection."""

    def __init__(self, setting: Setting) -> None:
        self.origin = Origin.of(setting.target.url)
        guard = AddressGuard.of(setting.target.allow_private)
        if self.origin.scheme != "https" and not guard.allowed:
            raise AddressRefused(f"{self.origin.text} is http, and allow_private does not cover it")
        self._clock = setting.clock
        self._plain = self.origin.scheme == "http" and not setting.target.proxy
        self._transport = GuardedTransport(setting, GuardedBackend(guard, setting.resolver, setting.sockets))

    def close(self) -> None:
        """Close idle connections."""
        self._transport.close()

    @contextmanager
    def exchange(self, errand: Errand, deadline: Deadline) -> Iterator[Exchange]:
        """An exchange that the sockets of this thread obey."""
        exchange = Exchange(deadline, errand.hearing, self._clock.now())
        exchange.plain = self._plain
        token = UNDER_WAY.set(exchange)
        try:
            yield exchange
        finally:
            UNDER_WAY.reset(token)

    def send(self, exchange: Exchange, request: Request, headers: Mapping[str, str]) -> Answer:
        """Write, hand over, read to the end."""
        return self.hand_over(exchange, serialise(request, self.origin, headers))

    def hand_over(self, exchange: Exchange, written: Written) -> Answer:
        """Give a written request to the client and read the answer to its end."""
        response = self._transport.handle_request(_foreign(written, exchange))
        try:
            found = frozen_headers(_texts(response.headers.raw))
            encoding = found.get("content-encoding", "").strip().lower()
            body = decoded(_received(response), encoding)
            exchange.ended()
        finally:
            response.close()
        return Answer(response.status_code, found, body, exchange.record(), written.url)

    def stop_reason(self, error: Exception) -> StopReason:
        """Why a listing stops for an exception of a read."""
        if any(isinstance(cause, DeadlineExceeded | httpx.TimeoutException) for cause in chain(error)):
            return StopReason.DEADLINE
        if isinstance(error, AddressRefused | CredentialMissing | NotSerialisable):
            return StopReason.REFUSED
        return StopReason.DECODE if isinstance(error, BodyUnreadable) else StopReason.PAGE_FAILED


def _foreign(written: Written, exchange: Exchange) -> httpx.Request:
    request = httpx.Request(
        written.method,
        written.url,
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in written.headers],
        content=written.content,
        extensions={
            "trace": exchange.trace,
            # The pool alone takes its wait from here; sockets ask the exchange.
            "timeout": {"pool": exchange.deadline.remaining()},
        },
    )
    if request.url.raw_path != written.target.encode("ascii"):
        raise NotSerialisable("the address would be written in another way than it was given")
    return request


def _texts(raw: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]


def _received(response: httpx.Response) -> Iterator[bytes]:
    stream = response.stream
    assert isinstance(stream, httpx.SyncByteStream)
    total = 0
    for part in stream:
        total += len(part)
        if total > LARGEST_BODY:
            raise BodyUnreadable(f"the answer is longer than {LARGEST_BODY // 1024 // 1024} MiB")
        yield part


def decoded(parts: Iterator[bytes], encoding: str) -> bytes:
    """The body; of a compressed one never more than the largest is unpacked. Raises ``BodyUnreadable``."""
    if encoding in ("", "identity"):
        return b"".join(parts)
    if encoding not in ("gzip", "x-gzip"):
        raise BodyUnreadable(f'the answer is encoded as "{encoding}", which was not asked for')
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    found = bytearray()
    try:
        for part in parts:
            found += unpacker.decompress(part, LARGEST_BODY + 1 - len(found))
            if len(found) > LARGEST_BODY:
                raise BodyUnreadable(f"the answer unpacks to more than {LARGEST_BODY // 1024 // 1024} MiB")
    except zlib.error as error:
        raise BodyUnreadable(f"the answer is no gzip: {error}") from error
    if found and not unpacker.eof:
        raise BodyUnreadable("the compressed answer ends too early")
    return bytes(found)
