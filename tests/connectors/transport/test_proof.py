"""What proves that nothing was sent: the verdict on a mutation against what the peer really received."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
import respx
from pydantic import TypeAdapter

from connectors.answer import Phase, Proof, WireRecord
from connectors.errand import Errand
from connectors.errors import AmbiguousEffect, NotSent, Unreachable
from connectors.transport.address import AddressRefused
from connectors.transport.client import _HINTS
from connectors.transport.models import accept
from connectors.transport.network import DeadlineExceeded
from connectors.transport.request import NotSerialisable, Request, Written
from connectors.transport.verdicts import ROWS, judge
from connectors.transport.wire import Exchange
from tests.kit.clock import FakeClock
from tests.kit.wire import (
    MUTATION,
    READ,
    Link,
    Over,
    Peer,
    Peered,
    Script,
    answering,
    closed_port,
    peer,
    server_tls,
    trusting,
)

CREATE = Request("POST", "/issues", body={"title": "one"})
QUICK = replace(MUTATION, deadline=0.5)
BRIEF = replace(MUTATION, deadline=1.5)
"""For a clock that runs: long enough for a busy machine to come as far as the row says."""


def verdict(link: Link, request: Request = CREATE, errand: Any = MUTATION) -> NotSent | AmbiguousEffect:
    with pytest.raises((NotSent, AmbiguousEffect)) as caught:
        link.transport.mutate(errand, request)
    link.close()
    assert isinstance(caught.value, NotSent | AmbiguousEffect)
    return caught.value


def full_then(ending: Script) -> Script:
    def script(connection: Peered) -> None:
        connection.request()
        ending(connection)

    return script


def sending(data: bytes, ending: Script = Peered.end) -> Script:
    def script(connection: Peered) -> None:
        connection.send(data)
        ending(connection)

    return script


def garbage_record(connection: Peered) -> None:
    connection.plain_send(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    connection.hang()


def over_tls(script: Script, context: ssl.SSLContext) -> Script:
    def wrapped(connection: Peered) -> None:
        connection.tls(context)
        script(connection)

    return wrapped


def resolved(*addresses: str) -> Callable[[str, int], list[str]]:
    return lambda host, port: list(addresses)


def unresolved(host: str, port: int) -> list[str]:
    raise socket.gaierror(-2, "Name or service not known")


HEAD_201 = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n"


@dataclass(frozen=True)
class Fault:
    """One fault after TCP: the script of the peer, TLS or not, and the proof, None for ambiguous."""

    row: str
    script: Script
    tls: tuple[str, ...] = ()
    proof: Proof | None = None
    quick: bool = False
    whole: bool = True
    """Whether the peer got the whole request."""
    status: int = 0
    total: bool = False
    """Whether the total deadline ends it, not the wait of one operation."""


def demanding() -> ssl.SSLContext:
    context = server_tls("forge.test")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


FAULTS = {
    "accepted_and_closed": Fault("C091", lambda c: c.unread(Peered.end), whole=False),
    "accepted_and_reset": Fault("C091", lambda c: c.unread(Peered.reset), whole=False),
    "full_then_end": Fault("C092", full_then(Peered.end)),
    "full_then_reset": Fault("C092", full_then(Peered.reset)),
    "full_then_silence": Fault("C092", full_then(Peered.hang), quick=True),
    "full_then_garbage": Fault("C092", full_then(sending(b"\x00\x01garbage\r\n\r\n"))),
    "full_then_half_a_status_line": Fault("C092", full_then(sending(b"HTTP/1.1 20"))),
    "full_then_cut_head": Fault("C058", full_then(sending(HEAD_201 + b"content-length: 20"))),
    "tls_full_then_reset": Fault("C093", full_then(Peered.reset), tls=("forge.test",)),
    "tls_full_then_end_without_notice": Fault("C093", full_then(Peered.end), tls=("forge.test",)),
    "tls_full_then_garbage_record": Fault(
        "C093",
        full_then(garbage_record),
        tls=("forge.test",),
    ),
    "body_stalls": Fault(
        "C097",
        full_then(sending(HEAD_201 + b"content-length: 20\r\n\r\n{", Peered.hang)),
        quick=True,
        status=201,
    ),
    "body_cut": Fault("C097", full_then(sending(HEAD_201 + b"content-length: 20\r\n\r\n{")), status=201),
    "broken_chunk": Fault(
        "C097", full_then(sending(HEAD_201 + b"transfer-encoding: chunked\r\n\r\n5\r\n{")), status=201
    ),
    "bad_gzip": Fault(
        "C097",
        full_then(sending(HEAD_201 + b"content-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope")),
        status=201,
    ),
    "deadline_after_the_head": Fault("C098", full_then(Peered.hang), total=True),
    "plain_http_on_the_tls_port": Fault(
        "C084",
        sending(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        tls=("plain",),
        proof=Proof.TLS_NOT_ESTABLISHED,
        whole=False,
    ),
    "tls_wrong_name": Fault(
        "C084", Peered.drain, tls=("elsewhere.test",), proof=Proof.TLS_NOT_ESTABLISHED, whole=False
    ),
    "tls_untrusted": Fault("C084", Peered.drain, tls=("untrusted",), proof=Proof.TLS_NOT_ESTABLISHED, whole=False),
    "tls_handshake_ends": Fault(
        "C085", lambda c: c.unread(Peered.end), tls=("plain",), proof=Proof.TLS_NOT_ESTABLISHED, whole=False
    ),
    "tls_handshake_resets": Fault(
        "C085", lambda c: c.unread(Peered.reset), tls=("plain",), proof=Proof.TLS_NOT_ESTABLISHED, whole=False
    ),
    "tls_handshake_hangs": Fault(
        "C085", Peered.hang, tls=("plain",), proof=Proof.TLS_NOT_ESTABLISHED, quick=True, whole=False
    ),
    "client_certificate_demanded": Fault("C094", Peered.drain, tls=("demanding",), whole=False),
}
KINDS = ("github", "gitlab", "forgejo")


def started(fault: Fault) -> Script:
    if not fault.tls or fault.tls == ("plain",):
        return fault.script
    if fault.tls == ("untrusted",):
        return over_tls(fault.script, server_tls("forge.test"))
    if fault.tls == ("demanding",):
        return over_tls(fault.script, demanding())
    return over_tls(fault.script, server_tls(*fault.tls))


def reached(fault: Fault, at: Peer, kind: str) -> Link:
    """A link to the peer. Silence is waited for by each operation of the socket, on a clock that stands, unless the
    row is about the total deadline."""
    clock = FakeClock() if fault.quick and not fault.total else None
    if not fault.tls:
        return Link(f"http://127.0.0.1:{at.port}", kind=kind, clock=clock)
    trusted = ssl.create_default_context() if fault.tls == ("untrusted",) else trusting()
    url, resolver = f"https://forge.test:{at.port}", resolved("127.0.0.1")
    return Link(url, kind=kind, resolver=resolver, trusted=trusted, clock=clock)


def patience(fault: Fault) -> Errand:
    return BRIEF if fault.total else QUICK if fault.quick else MUTATION


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_peer_is_judged_by_both_witnesses(name: str, kind: str) -> None:
    """C058 C084 C085 C091 C092 C093 C094 C097 C098: the verdict and the bytes that the peer received."""
    fault = FAULTS[name]
    with peer(started(fault)) as at:
        link = reached(fault, at, kind)
        found = verdict(link, errand=patience(fault))
        at.settle(1)
    if fault.proof is not None:
        assert isinstance(found, NotSent)
        assert found.evidence.proof == fault.proof
        assert at.got == 0 or fault.script is Peered.drain
        assert not at.requests
    else:
        assert isinstance(found, AmbiguousEffect)
        assert found.ambiguous_effect()
        assert len(at.requests) == (1 if fault.whole else 0)
    assert found.evidence.status == fault.status


def test_a_refused_connection_is_not_sent_and_a_later_success_makes_one() -> None:
    """C082."""
    port = closed_port()
    link = Link(f"http://127.0.0.1:{port}")
    found = verdict(link)
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_CONNECTED
    assert ("Connection refused" in found.message, "Errno" in found.message) == (True, False)
    with peer(answering(201, {"number": 1}), port=port) as at:
        link = Link(f"http://127.0.0.1:{port}")
        assert link.transport.mutate(MUTATION, CREATE).json() == {"number": 1}
        link.close()
        assert len(at.requests) == 1


def test_a_name_without_address_is_not_sent() -> None:
    """C082."""
    found = verdict(Link("https://forge.test", resolver=unresolved))
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_RESOLVED
    assert found.evidence.wire["phase"] == "connecting"


def test_a_name_that_is_resolved_too_slowly_is_not_sent() -> None:
    """C098."""
    free = threading.Event()

    def slow(host: str, port: int) -> list[str]:
        free.wait(10)
        return []

    found = verdict(Link("https://forge.test", resolver=slow), errand=QUICK)
    free.set()
    assert isinstance(found, NotSent)


def test_a_connection_that_nobody_answers_is_not_sent() -> None:
    """C083 C098."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        found = verdict(Link(f"http://127.0.0.1:{full.getsockname()[1]}"), errand=QUICK)
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_CONNECTED


def test_an_exhausted_pool_is_not_sent() -> None:
    """C086."""
    arrived = threading.Event()

    def script(connection: Peered) -> None:
        connection.request()
        arrived.set()
        connection.hang()

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}", connections=1)

        def hold() -> None:
            with pytest.raises(Unreachable):
                link.transport.read(replace(READ, deadline=2.0), Request("GET", "/"))

        holder = threading.Thread(target=hold)
        holder.start()
        assert arrived.wait(10)
        with pytest.raises(NotSent) as caught:
            link.transport.mutate(QUICK, CREATE)
        assert at.methods == ["GET"]
        at.stop_listening()
        at.settle()
        holder.join(10)
        link.close()
    assert caught.value.evidence.proof == Proof.NO_POOL_SLOT


BAD_HEADERS = {
    "token_with_line_end": ("authorization", "Bearer abc\ndef-0123"),
    "name_with_blank": ("x bad", "value"),
    "outside_latin_1": ("x-bad", "Ж"),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_header_that_cannot_be_written_is_found_before_the_client(name: str) -> None:
    """C087."""
    header, value = BAD_HEADERS[name]
    with peer(answering(201)) as at:
        found = verdict(Link(f"http://127.0.0.1:{at.port}"), replace(CREATE, headers={header: value}))
        assert at.accepted == 0
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_SERIALISABLE
    assert found.evidence.wire["phase"] == "none"
    assert value not in found.message


def handed(at: Peer, written: Written) -> tuple[Exception, WireRecord]:
    """Give a request to the client past our own check."""
    link = Link(f"http://127.0.0.1:{at.port}")
    exchanger = link.transport._exchanger
    with exchanger.exchange(MUTATION, link.transport.deadline_of(MUTATION)) as exchange:
        with pytest.raises(Exception) as caught:  # whatever the client raises is the point
            exchanger.hand_over(exchange, written)
        record = exchange.record()
    link.close()
    return caught.value, record


@pytest.mark.parametrize("name", ["token_with_line_end", "name_with_blank"])
def test_a_header_that_the_client_refuses_left_nothing(name: str) -> None:
    """C088: head begun, failed, never sent."""
    with peer(Peered.drain) as at:
        url = f"http://127.0.0.1:{at.port}/issues"
        error, wire = handed(at, Written("POST", url, "/issues", (("host", "x"), BAD_HEADERS[name]), b""))
        at.settle(1)
        assert at.got == 0
    assert isinstance(error, httpx.LocalProtocolError)
    assert (wire.phase, wire.head_failed) == (Phase.HEAD_BEGUN, True)
    assert judge(error, wire) is Proof.NOT_SERIALISABLE


@pytest.mark.parametrize("length", ["3", "9"])
def test_a_body_that_does_not_fit_its_length_is_ambiguous(length: str) -> None:
    """C089: the peer got the head."""
    with peer(Peered.drain) as at:
        url = f"http://127.0.0.1:{at.port}/issues"
        headers = (("host", "x"), ("content-length", length))
        error, wire = handed(at, Written("POST", url, "/issues", headers, b"12345"))
        at.settle(1)
        assert at.got > 0
    assert wire.phase >= Phase.HEAD_SENT
    assert judge(error, wire) is None


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", "/issues", body={"title": "\ud800"}),
        Request("POST", "/issues", body={"number": float("nan")}),
        Request("POST", "/issues", body={"what": object()}),
        Request("POST", "/a b"),
        Request("POST", "/a#b"),
        Request("POST", "/a\r\nx: y"),
        Request("POST", "https://elsewhere.test/issues"),
        Request("PO ST", "/issues"),
    ],
    ids=["surrogate", "nan", "object", "blank", "fragment", "line_end", "elsewhere", "method"],
)
def test_what_cannot_be_written_is_not_sent(request_: Request) -> None:
    """C090."""
    with peer(answering(201)) as at:
        found = verdict(Link(f"http://127.0.0.1:{at.port}"), request_)
        assert at.accepted == 0
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_SERIALISABLE


def test_an_unusable_scheme_is_not_sent() -> None:
    """C090."""
    with peer(answering(201)) as at:
        error, wire = handed(at, Written("POST", "ftp://forge.test/issues", "/issues", (("host", "x"),), b""))
    assert judge(error, wire) is Proof.UNUSABLE_ADDRESS
    with pytest.raises(NotSerialisable):
        Link("ftp://forge.test")


@pytest.mark.parametrize(("ending", "seconds"), [(Peered.reset, 30.0), (Peered.hang, 1.0)], ids=["reset", "stall"])
def test_an_upload_that_breaks_midway_is_ambiguous(ending: Script, seconds: float) -> None:
    """C095."""

    def script(connection: Peered) -> None:
        connection.head()
        ending(connection)

    body = {"text": "x" * 30_000_000}
    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}", clock=FakeClock())
        found = verdict(link, replace(CREATE, body=body), replace(MUTATION, deadline=seconds))
        assert at.got < 30_000_000
        assert not at.requests
    assert isinstance(found, AmbiguousEffect)
    assert found.evidence.wire["phase"] in ("head_sent", "body_sent")


def test_a_kept_connection_that_closes_on_the_second_request_is_ambiguous() -> None:
    """C096."""

    def script(connection: Peered) -> None:
        connection.request()
        connection.answer(201)
        connection.request()
        connection.end()

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        link.transport.mutate(MUTATION, CREATE)
        found = verdict(link)
        assert len(at.requests) == 2
        assert at.accepted == 1
    assert isinstance(found, AmbiguousEffect)


def test_a_kept_connection_closed_while_idle_is_made_anew_for_one_request() -> None:
    """C096."""
    closed = threading.Event()

    def script(connection: Peered) -> None:
        connection.request()
        connection.answer(201)
        if not closed.is_set():
            connection.socket.close()
            closed.set()
            raise Over
        connection.hang()

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        link.transport.mutate(MUTATION, CREATE)
        assert closed.wait(10)
        link.transport.mutate(MUTATION, CREATE)
        assert (at.accepted, len(at.requests)) == (2, 2)
        link.close()


def test_a_created_thing_whose_json_is_broken_is_ambiguous_and_keeps_its_status() -> None:
    """C097."""

    def script(connection: Peered) -> None:
        connection.request()
        connection.answer(201, b'{"number": ')

    with peer(script) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        answer = link.transport.mutate(MUTATION, CREATE)
        with pytest.raises(AmbiguousEffect) as caught:
            accept(answer, TypeAdapter(dict[str, int]), MUTATION)
        link.close()
    assert caught.value.evidence.status == 201


def test_a_created_thing_without_its_number_is_ambiguous() -> None:
    """C057."""
    with peer(answering(201, {"title": "one"})) as at:
        link = Link(f"http://127.0.0.1:{at.port}")
        answer = link.transport.mutate(MUTATION, CREATE)
        with pytest.raises(AmbiguousEffect, match="title"):
            accept(answer, TypeAdapter(dict[str, int]), MUTATION)
        link.close()


def proxy_script(reply: bytes) -> Script:
    def script(connection: Peered) -> None:
        connection.head()
        if reply:
            connection.send(reply)
        connection.end()

    return script


@pytest.mark.parametrize(
    ("reply", "proof"),
    [(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", Proof.TUNNEL_REFUSED), (b"", None)],
    ids=["refuses", "drops"],
)
def test_a_proxy_that_refuses_proves_it_and_one_that_drops_does_not(reply: bytes, proof: Proof | None) -> None:
    """C099."""
    with peer(proxy_script(reply)) as at:
        found = verdict(Link("https://forge.test", proxy=f"http://127.0.0.1:{at.port}"))
        assert at.methods == ["CONNECT"]
        assert at.targets == ["forge.test:443"]
        assert b"authorization" not in at.heads[0].lower()
    assert found.evidence.proof == (proof or "")
    assert found.evidence.wire["proxy_phase"] != "none"
    assert isinstance(found, NotSent if proof else AmbiguousEffect)


def test_a_proxy_that_is_not_there_is_not_sent() -> None:
    """C099."""
    found = verdict(Link("https://forge.test", proxy=f"http://127.0.0.1:{closed_port()}"))
    assert isinstance(found, NotSent)
    assert found.evidence.proof == Proof.NOT_CONNECTED


def test_a_second_address_that_accepts_and_closes_is_ambiguous() -> None:
    """C100."""
    with peer(Peered.end) as at:
        link = Link(f"http://forge.test:{at.port}", resolver=resolved("127.0.0.2", "127.0.0.1"))
        found = verdict(link)
        assert at.accepted == 1
    assert isinstance(found, AmbiguousEffect)


def test_a_request_that_landed_before_the_peer_stopped_listening_is_ambiguous() -> None:
    """C101."""

    def script(connection: Peered) -> None:
        connection.request()
        at.stop_listening()
        connection.reset()

    with peer(script) as at:
        found = verdict(Link(f"http://127.0.0.1:{at.port}"))
        assert len(at.requests) == 1
    assert isinstance(found, AmbiguousEffect)


@respx.mock
def test_an_exception_that_nobody_knows_is_ambiguous() -> None:
    """C102."""

    def surprise(request: httpx.Request) -> httpx.Response:
        raise RuntimeError("a surprise")

    respx.post("http://127.0.0.1:9/issues").mock(side_effect=surprise)
    found = verdict(Link("http://127.0.0.1:9"))
    assert isinstance(found, AmbiguousEffect)


def test_the_table_of_verdicts_says_what_every_proof_asks_a_person_to_do() -> None:
    assert set(_HINTS) == set(Proof)
    proofs = {row.proof for row in ROWS if row.proof} | {Proof.NOT_RESOLVED, Proof.NOT_CONNECTED}
    assert proofs | {Proof.TLS_NOT_ESTABLISHED} == set(Proof)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind.__name__)
def test_no_exception_is_a_proof_once_a_byte_left(row: Any) -> None:
    """C101."""
    error = row.kind.__new__(row.kind)
    for phase in Phase:
        wire = WireRecord(phase=phase, handed=1)
        assert judge(error, wire) is None
        if phase > Phase.HEAD_BEGUN:
            assert judge(error, WireRecord(phase=phase)) is None


def test_an_unknown_exception_is_never_a_proof() -> None:
    """C102."""
    assert judge(RuntimeError("?"), WireRecord()) is None
    assert judge(AddressRefused("x"), WireRecord()) is Proof.ADDRESS_REFUSED
    assert judge(DeadlineExceeded("x"), WireRecord(phase=Phase.CONNECTING)) is Proof.NOT_CONNECTED
    assert judge(DeadlineExceeded("x"), WireRecord(phase=Phase.TLS)) is Proof.TLS_NOT_ESTABLISHED
    assert isinstance(Exchange, type)
