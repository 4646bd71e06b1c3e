"""The fault matrix: what each operation of each forge says of a send that met a fault, against what the relay received.

Every fault meets a few operations of each class on each forge; a handful of faults meets every operation. A change is
performed at most once; it is sent again only where its class, or a proof that nothing was sent, allows it.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from connectors.answer import Proof
from connectors.catalogue.operations import NAMES, Probe
from connectors.effects.guard import Effect
from connectors.errand import Errand, Purpose
from connectors.errors import AmbiguousEffect, ForgeRefused, NotSent, RateLimited
from connectors.fake_forge.running import FakeForge, Setup, running
from connectors.forge.operations import Made, Unseen
from connectors.secrets import Secret
from connectors.transport.client import TokenCredential
from tests.kit import forge_clients, github
from tests.kit.clock import FakeClock
from tests.kit.operation_cases import CASES
from tests.kit.relay import (
    NOBODY,
    Credential,
    Fault,
    Place,
    Relay,
    Road,
    answers,
    certified,
    deaf,
    garbage_record,
    headed,
    over_tls,
    relay,
    saying,
    stranger,
    trusted,
)
from tests.kit.stages import Row, Stage
from tests.kit.wire import Peered, server_tls

HEAD_201 = b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\n"
LENGTH = b"content-length: 20\r\n"
CONNECTION, REQUEST, NAME = Place.CONNECTION, Place.REQUEST, Place.NAME
NO_TLS, NO_CONNECTION = Proof.TLS_NOT_ESTABLISHED, Proof.NOT_CONNECTED


def demanding() -> ssl.SSLContext:
    context = server_tls("forge.test")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def tls(ending: Any, proof: Proof | None = NO_TLS, **more: Any) -> Fault:
    return Fault(CONNECTION, ending, proof, over=Road.TLS, **more)


UNSENT: dict[str, Fault] = {
    "C082-refused": Fault(NAME, proof=NO_CONNECTION, addresses=(NOBODY,)),
    "C082-no-address": Fault(NAME, proof=Proof.NOT_RESOLVED, addresses=()),
    "C083-not-answered": Fault(NAME, proof=NO_CONNECTION, addresses=("127.0.0.3",), slow=True),
    "C084-untrusted": tls(over_tls(stranger("forge.test"), Peered.drain)),
    "C084-wrong-name": tls(over_tls(certified("elsewhere.test"), Peered.drain)),
    "C084-plain-http": tls(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    "C085-handshake-ends": tls(lambda c: c.unread(Peered.end)),
    "C085-handshake-resets": tls(lambda c: c.unread(Peered.reset)),
    "C085-handshake-hangs": tls(Peered.hang, slow=True),
    "C087-credential-with-a-line-end": Fault(Place.CREDENTIAL, proof=Proof.NOT_SERIALISABLE),
    "C099-proxy-unreachable": Fault(NAME, proof=NO_CONNECTION, addresses=(NOBODY,), over=Road.PROXY),
    "C099-tunnel-refused": Fault(
        CONNECTION,
        headed(answers(403)),
        Proof.TUNNEL_REFUSED,
        over=Road.PROXY,
    ),
    "C134-private-address": Fault(NAME, proof=Proof.ADDRESS_REFUSED, addresses=("10.0.0.1",)),
}
"""Faults that prove that nothing was sent."""

UNPERFORMED: dict[str, Fault] = {
    "C091-accepted-and-closed": Fault(CONNECTION, lambda c: c.unread(Peered.end)),
    "C091-accepted-and-reset": Fault(CONNECTION, lambda c: c.unread(Peered.reset)),
    "C092-full-then-end": Fault(REQUEST, Peered.end),
    "C092-full-then-reset": Fault(REQUEST, Peered.reset),
    "C092-full-then-silence": Fault(REQUEST, Peered.hang, slow=True),
    "C092-full-then-garbage": Fault(REQUEST, saying(b"\x00\x01garbage\r\n\r\n")),
    "C092-half-a-status-line": Fault(REQUEST, saying(b"HTTP/1.1 20")),
    "C093-tls-full-then-reset": Fault(REQUEST, Peered.reset, over=Road.TLS),
    "C094-certificate-demanded": tls(over_tls(demanding(), Peered.drain), None),
    "C095-reset-after-the-head": Fault(CONNECTION, headed(Peered.reset)),
    "C099-proxy-drops": Fault(CONNECTION, headed(Peered.end), over=Road.PROXY),
    "C100-second-address-closes": Fault(CONNECTION, lambda c: c.unread(Peered.end), addresses=(NOBODY, "127.0.0.1")),
    "status-502-before-the-act": Fault(REQUEST, answers(502), status=502),
    "status-408": Fault(REQUEST, answers(408), status=408),
}
"""Faults behind which nothing happened, and nobody can know."""

PERFORMED: dict[str, Fault] = {
    "C092-end": Fault(REQUEST, Peered.end),
    "C092-reset": Fault(REQUEST, Peered.reset),
    "C092-silence": Fault(REQUEST, Peered.hang, slow=True),
    "C093-tls-end-without-notice": Fault(REQUEST, Peered.end, over=Road.TLS),
    "C093-tls-garbage-record": Fault(REQUEST, garbage_record, over=Road.TLS),
    "C058-cut-head": Fault(REQUEST, saying(HEAD_201 + b"content-length: 20")),
    "C097-body-stalls": Fault(REQUEST, saying(HEAD_201 + LENGTH + b"\r\n{", Peered.hang), slow=True),
    "C097-body-cut": Fault(REQUEST, saying(HEAD_201 + LENGTH + b"\r\n{"), status=201),
    "C097-broken-chunk": Fault(REQUEST, saying(HEAD_201 + b"transfer-encoding: chunked\r\n\r\n5\r\n{"), status=201),
    "C097-bad-gzip": Fault(
        REQUEST, saying(HEAD_201 + b"content-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope"), status=201
    ),
    "C097-bad-json": Fault(REQUEST, answers(201, b'{"number": '), status=201),
    "C057-empty-object": Fault(REQUEST, answers(201, b"{}"), status=201),
    "C118-redirect": Fault(REQUEST, answers(301, location="/elsewhere"), status=301),
    **{f"C051-status-{code}": Fault(REQUEST, answers(code), status=code) for code in (500, 502, 503, 504)},
}
"""Faults behind which the change was made, and the answer was lost."""
PERFORMED = {name: replace(fault, acts=True) for name, fault in PERFORMED.items()}
FAULTS = UNSENT | {f"not-made/{n}": f for n, f in UNPERFORMED.items()} | {f"made/{n}": f for n, f in PERFORMED.items()}

REFUSALS = {
    f"status-{code}": Fault(REQUEST, answers(code), status=code) for code in (400, 401, 403, 404, 410, 422, 451)
}
"""Answers that say that it was not done."""

MANY = [
    f"{kind}.{suffix}"
    for kind in ("github", "gitlab", "forgejo")
    for suffix in ("issue.create", "label.add", "issue.close")
]
"""One operation of each class on each forge."""
CHANGES = [name for name, (_, entry) in NAMES.items() if entry.effect is not Effect.READ]
FEW = (
    "C082-refused",
    "C087-credential-with-a-line-end",
    "not-made/C092-full-then-end",
    "made/C092-reset",
    "made/C058-cut-head",
    "made/C051-status-502",
)


READS_ON_THE_WAY = frozenset(
    {
        "forgejo.pull.edit",
        "github.dependency.add",
        "github.dependency.remove",
        "github.project.add_item",
        "gitlab.assignee.add",
        "gitlab.dependency.remove",
        "gitlab.issue.create",
        "gitlab.merge_request.edit",
        "gitlab.merge_request.request_review",
        "gitlab.release.create",
    }
)
"""Operations that look up a number first: the read meets the fault, and is repeated, by itself or with the send."""


@dataclass
class Arming(Row):
    """A row whose ``sending`` is where the fault is set: from here on bytes may leave."""

    relay: Relay | None = None
    fault: Fault | None = None
    stays: bool = False

    def sending(self) -> None:
        super().sending()
        if self.relay is not None and self.fault is not None and (self.sent == 1 or self.stays):
            self.relay.arm(self.fault, stays=self.stays)


Forges = dict[str, tuple[FakeForge, FakeClock]]


@pytest.fixture(scope="module")
def forges() -> Iterator[Forges]:
    """One running fake per forge; each case starts it anew."""
    with ExitStack() as stack:
        found = {}
        for kind in ("github", "gitlab", "forgejo"):
            clock = FakeClock()
            found[kind] = (stack.enter_context(running(kind, Setup(clock=clock))), clock)
        yield found


def client_of(kind: str, at: Relay, token: str, **more: Any) -> Any:
    more |= {"resolver": at.resolve, "trusted": trusted(), "proxy": at.proxy, "allow_private": ("127.0.0.0/8",)}
    if kind == "github":
        credential = Credential(TokenCredential(Secret(token)), at)
        return github.client_at(at.url, token=token, credential=credential, project=github.PROJECT, **more)
    return forge_clients.client_at(kind, at.url, token, dressed=lambda own: Credential(own, at), **more)


@dataclass
class Scene:
    """One operation of one forge behind a relay with a fault."""

    on: Stage
    at: Relay
    row: Arming
    seconds: float

    def run(self) -> Any:
        return self.on.run(self.row, Errand(Purpose.ACTION, deadline=self.seconds))


@contextmanager
def scene(forges: Forges, name: str, fault: Fault | None, *, stays: bool = False) -> Iterator[Scene]:
    kind, entry = NAMES[name]
    forge, clock = forges[kind]
    forge.reset()
    given = CASES[entry.suffix].prepare(forge)
    clock.advance(60)
    over = fault.over if fault else Road.PLAIN
    with ExitStack() as stack:
        at = stack.enter_context(relay(forge.url, over))
        if fault and fault.addresses == ("127.0.0.3",):
            stack.enter_context(deaf(at.peer.port))
        client = client_of(kind, at, forge.token, clock=clock)
        stack.callback(client.close)
        row = Arming(relay=at, fault=fault, stays=stays)
        yield Scene(Stage(name, forge, client, clock, given), at, row, 0.4 if fault and fault.slow else 20.0)


def lost(found: Scene, fault: Fault) -> None:
    """The verdict on a lost answer, by the class of the operation."""
    on, entry = found.on, found.on.entry
    if entry.effect_on(on.forge.kind) is not Effect.AMBIGUOUS:
        entry.result.model_validate(found.run())
        blind = entry.suffix == "reaction.add"
        assert (on.seen(), len(on.changes())) == (1, 2 if blind and fault.acts else 1)
        assert found.row.sent == (1 if fault.acts and not blind else 2)
        return
    with pytest.raises(AmbiguousEffect) as caught:
        found.run()
    assert found.row.sent == 1
    assert caught.value.evidence.status == fault.status or not fault.status
    made = int(fault.acts)
    assert (on.seen(), len(on.changes())) == (made, made)
    answer = on.probe()
    assert isinstance(answer, Made if fault.acts and entry.probe is not Probe.NONE else Unseen), answer
    assert len(on.changes()) == made


def unsent(found: Scene, fault: Fault) -> None:
    """Nothing was sent, which is proved: it is sent again, and made once."""
    found.on.entry.result.model_validate(found.run())
    assert fault.proof in [known.note for known in found.row.known]
    made_once(found, sends=2)


def made_once(found: Scene, sends: int) -> None:
    """It stands once on the forge, and one request for it arrived."""
    assert (found.on.seen(), len(found.on.changes()), found.at.changes) == (1, 1, 1)
    assert found.row.sent == sends


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("label", FAULTS)
def test_every_fault_is_judged_as_what_arrived_says(forges: Forges, label: str, name: str) -> None:
    """C103 C082 to C101 per forge: also ``refused, then sent again``, and ``label.add`` of every row."""
    judged(forges, name, label)


@pytest.mark.parametrize("name", [name for name in CHANGES if name not in MANY])
@pytest.mark.parametrize("label", FEW)
def test_every_operation_is_made_at_most_once_whatever_its_send_meets(forges: Forges, label: str, name: str) -> None:
    """C103 C104."""
    judged(forges, name, label)


def judged(forges: Forges, name: str, label: str) -> None:
    fault = FAULTS[label]
    with scene(forges, name, fault) as found:
        if name in READS_ON_THE_WAY and fault.place is not Place.REQUEST:
            found.on.entry.result.model_validate(found.run())
            made_once(found, sends=min(found.row.sent, 2))
        else:
            (unsent if fault.proof else lost)(found, fault)
        assert found.at.struck == 1


@pytest.mark.parametrize("name", CHANGES)
def test_a_forge_that_refuses_connections_for_good_is_given_up_without_a_doubt(forges: Forges, name: str) -> None:
    """C082 C103: at most two repetitions, each under a proof; also where a number must be looked up on the way."""
    with scene(forges, name, FAULTS["C082-refused"], stays=True) as found:
        with pytest.raises(NotSent):
            found.run()
        assert (found.on.seen(), len(found.on.changes()), found.at.changes) == (0, 0, 0)
        assert found.row.sent == 3


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("label", REFUSALS)
def test_a_refusal_is_final_and_nothing_was_made(forges: Forges, label: str, name: str) -> None:
    """C106 C122: one request, and a read where a refusal may hide that it is so already."""
    fault = REFUSALS[label]
    with scene(forges, name, fault) as found:
        with pytest.raises(ForgeRefused) as caught:
            found.run()
        assert caught.value.status == fault.status
        assert (found.on.seen(), len(found.on.changes()), found.at.changes, found.row.sent) == (0, 0, 1, 1)


@pytest.mark.parametrize("name", MANY)
def test_a_throttled_send_is_not_made_and_not_repeated_here(forges: Forges, name: str) -> None:
    """C105: when it is sent again is for the limiter and the engine."""
    with scene(forges, name, Fault(Place.REQUEST, answers(429, retry_after="60"))) as found:
        with pytest.raises(RateLimited):
            found.run()
        assert (found.on.seen(), len(found.on.changes()), found.at.changes, found.row.sent) == (0, 0, 1, 1)


@pytest.mark.parametrize("name", MANY)
def test_connections_that_the_forge_closed_while_idle_are_made_anew(forges: Forges, name: str) -> None:
    """C096: one request, nothing in doubt."""
    with scene(forges, name, Fault(Place.NOWHERE)) as found:
        found.on.entry.result.model_validate(found.run())
        made_once(found, sends=1)
