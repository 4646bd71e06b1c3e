"""THE TABLE: what an exception of a mutation proves. Pure and total; what is not listed proves nothing.

Two witnesses are needed to say that nothing was sent: the wire record and the exception (connectors.md 11). ``judge``
answers with the proof's name, or None: the effect is ambiguous. The order of the rows is that of the specification.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import httpx

from connectors.answer import Phase, Proof, WireRecord
from connectors.transport.address import AddressRefused
from connectors.transport.network import DeadlineExceeded
from connectors.transport.request import BodyUnreadable, CredentialMissing, NotSerialisable


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it, outermost first."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


class When(Enum):
    """What must hold besides the kind of the exception for it to be a proof."""

    ALWAYS = auto()
    BEFORE_THE_CLIENT = auto()
    """Phase ``none``: the client was not entered."""
    CONNECTING = auto()
    """The connection was not there yet; its causes say what was missing."""
    HEAD_UNWRITTEN = auto()
    """The head was begun, failed, and never sent."""
    NEVER = auto()


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of exception, the proof that it is, and when."""

    kind: type[BaseException]
    when: When
    proof: Proof | None = None


ROWS: tuple[Row, ...] = (
    Row(AddressRefused, When.ALWAYS, Proof.ADDRESS_REFUSED),
    Row(CredentialMissing, When.BEFORE_THE_CLIENT, Proof.NO_CREDENTIAL),
    Row(NotSerialisable, When.BEFORE_THE_CLIENT, Proof.NOT_SERIALISABLE),
    Row(DeadlineExceeded, When.CONNECTING),
    Row(httpx.ConnectError, When.CONNECTING),
    Row(httpx.ConnectTimeout, When.CONNECTING),
    Row(httpx.PoolTimeout, When.ALWAYS, Proof.NO_POOL_SLOT),
    Row(httpx.ProxyError, When.ALWAYS, Proof.TUNNEL_REFUSED),
    Row(httpx.UnsupportedProtocol, When.ALWAYS, Proof.UNUSABLE_ADDRESS),
    Row(httpx.InvalidURL, When.ALWAYS, Proof.UNUSABLE_ADDRESS),
    Row(httpx.LocalProtocolError, When.HEAD_UNWRITTEN, Proof.NOT_SERIALISABLE),
    Row(httpx.ReadError, When.NEVER),
    Row(httpx.WriteError, When.NEVER),
    Row(httpx.CloseError, When.NEVER),
    Row(httpx.ReadTimeout, When.NEVER),
    Row(httpx.WriteTimeout, When.NEVER),
    Row(httpx.RemoteProtocolError, When.NEVER),
    Row(httpx.DecodingError, When.NEVER),
    Row(BodyUnreadable, When.NEVER),
    Row(ssl.SSLError, When.NEVER),
    Row(UnicodeEncodeError, When.BEFORE_THE_CLIENT, Proof.NOT_SERIALISABLE),
    Row(TypeError, When.BEFORE_THE_CLIENT, Proof.NOT_SERIALISABLE),
    Row(ValueError, When.BEFORE_THE_CLIENT, Proof.NOT_SERIALISABLE),
)
"""The first row whose kind fits decides; one that no row fits is ambiguous."""


def judge(error: BaseException, wire: WireRecord) -> Proof | None:
    """The name of the proof that nothing was sent, None when there is none."""
    if not wire.nothing_left:
        return None
    row = next((row for row in ROWS if isinstance(error, row.kind)), None)
    if row is None or not _holds(row.when, wire):
        return None
    return row.proof or _what_was_missing(error, wire)


def _holds(when: When, wire: WireRecord) -> bool:
    holds = {
        When.ALWAYS: True,
        When.BEFORE_THE_CLIENT: wire.phase is Phase.NONE,
        When.CONNECTING: wire.phase <= Phase.CONNECTED,
        When.HEAD_UNWRITTEN: wire.phase is Phase.HEAD_BEGUN and wire.head_failed,
        When.NEVER: False,
    }
    return holds[when]


def _what_was_missing(error: BaseException, wire: WireRecord) -> Proof:
    causes = list(chain(error))
    if any(isinstance(cause, socket.gaierror | UnicodeError) for cause in causes):
        return Proof.NOT_RESOLVED
    if wire.phase is Phase.TLS or any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Proof.TLS_NOT_ESTABLISHED
    return Proof.NOT_CONNECTED
