"""The address guard: every address of a name is looked at, and only one of those is connected to."""

from __future__ import annotations

import os
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.errors import AmbiguousEffect, NotSent, Unreachable, Unsupported
from connectors.transport.address import METADATA, NEVER, SPECIAL, AddressGuard, AddressRefused, special
from connectors.transport.client import guarded
from connectors.transport.request import Request
from tests.kit.listening import Listener
from tests.kit.wire import MUTATION, READ, Link, answering, peer

CREATE = Request("POST", "/issues", body={})
PUBLIC = ("140.82.121.6", "2606:4700::6810:84e5", "64:ff9b::8c52:7906", "2002:8c52:7906::1")
REFUSED = (
    "127.0.0.1",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "169.254.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "::",
    "::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "4000::1",
    "::ffff:10.0.0.1",
    "::7f00:1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "2001:0:0:0:0:0:f5ff:fffe",
)


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_unicast_is_refused(address: str) -> None:
    """C134."""
    with pytest.raises(AddressRefused):
        AddressGuard().check("forge.test", [address])


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed_also_inside_another(address: str) -> None:
    assert AddressGuard().check("forge.test", [address]) == (address,)


@pytest.mark.parametrize(
    "host", ["0x7f.1", "127.1", "0177.0.0.1", "2130706433", "017700000001", "fe80::1%eth0", "1.2.3.4."]
)
def test_a_host_that_can_be_read_in_two_ways_is_refused_even_when_private_is_allowed(host: str) -> None:
    """C134."""
    with pytest.raises(AddressRefused, match="different addresses"):
        AddressGuard(True).check(host, ["127.0.0.1"])


def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    """C135."""
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        AddressGuard().check("forge.test", ["140.82.121.6", "10.0.0.1"])


def test_a_lifted_network_is_allowed_and_nothing_else() -> None:
    """C137."""
    guard = AddressGuard.of(["10.1.0.0/16", "fd00::/8"])
    assert guard.check("forge.test", ["10.1.2.3", "fd00::5", "::ffff:10.1.9.9"])
    for address in ("10.2.0.1", "127.0.0.1", "169.254.169.254", "fd00:ec2::254"):
        with pytest.raises(AddressRefused):
            guard.check("forge.test", [address])
    assert guard.check("forge.test", ["140.82.121.6"])
    with pytest.raises(AddressRefused, match="http is for"):
        guard.check("forge.test", ["140.82.121.6"], plain=True)


@pytest.mark.parametrize("address", sorted(map(str, METADATA)))
def test_metadata_addresses_stay_refused_whatever_is_lifted(address: str) -> None:
    """C137."""
    for guard in (AddressGuard(True), AddressGuard.of(["0.0.0.0/0", "::/0"])):
        with pytest.raises(AddressRefused, match="keeps credentials"):
            guard.check("forge.test", [address])


@given(st.integers(0, 2**32 - 1))
def test_an_address_inside_another_is_judged_like_itself(number: int) -> None:
    plain = ip_address(number)
    for carrier in (f"::ffff:{plain}", f"64:ff9b::{plain}", f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1"):
        assert special(ip_address(carrier)) == special(plain)


@given(st.integers(0, 2**32 - 1))
def test_the_guard_is_never_laxer_than_the_standard_library(number: int) -> None:
    address = ip_address(number)
    if not address.is_global or address.is_multicast:
        assert special(address)


def test_the_tables_hold_no_network_twice() -> None:
    networks = [network for network, _ in (*NEVER, *SPECIAL)]
    assert len(networks) == len(set(networks))


@pytest.mark.parametrize("host", ["forge.test", "0x7f.1", "127.0.0.1", "[::1]"])
def test_no_connection_is_made_to_a_private_address(host: str) -> None:
    """C134: on the wire, with the count of connections as the truth."""
    heard = Listener()
    with peer(answering(201)) as at:
        link = Link(f"https://{host}:{at.port}", allow_private=False, resolver=lambda *_: ["127.0.0.1"], observer=heard)
        with pytest.raises(NotSent) as caught:
            link.transport.mutate(MUTATION, CREATE)
        with pytest.raises(Unreachable):
            link.transport.read(READ, Request("GET", "/"))
        link.close()
        assert at.accepted == 0
    assert caught.value.evidence.proof == "address_refused"
    assert "allow_private" in caught.value.hint
    assert heard.counts[("pointsman_address_refused_total",)] == 2
    assert "address.refused" in heard.names


def test_a_name_is_resolved_once_and_the_connection_goes_to_that_address() -> None:
    """C136: the second answer of the resolver would be a private one that is not covered."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]])
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    with peer(answering(201)) as at:
        link = Link(f"http://forge.test:{at.port}", allow_private=("127.0.0.0/8",), resolver=resolver)
        link.transport.mutate(MUTATION, CREATE)
        link.close()
        assert at.accepted == 1
        assert b"host: forge.test:" in at.heads[0].lower()
    assert asked == ["forge.test"]


def test_http_is_refused_where_nothing_private_is_allowed() -> None:
    with pytest.raises(AddressRefused, match="allow_private"):
        Link("http://forge.test", allow_private=False)


def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """C140."""
    with peer(answering(200)) as at, peer(answering(200)) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setitem(os.environ, name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        link = Link(f"http://127.0.0.1:{at.port}")
        link.transport.read(READ, Request("GET", "/"))
        link.close()
        assert (at.accepted, proxy.accepted) == (1, 0)


def test_a_configured_proxy_is_guarded_and_gets_the_name_of_the_origin() -> None:
    """The proxy's own address is looked at; the origin's name is passed through."""

    def never(host: str, port: int) -> list[str]:
        raise AssertionError(f"{host} was resolved")

    with peer(lambda connection: connection.drain()) as at:
        refused = Link("https://forge.test", allow_private=False, proxy=f"http://127.0.0.1:{at.port}")
        with pytest.raises(NotSent) as caught:
            refused.transport.mutate(MUTATION, CREATE)
        refused.close()
        assert caught.value.evidence.proof == "address_refused"
        assert at.accepted == 0

    def tunnel(connection: object) -> None:
        connection.head()  # type: ignore[attr-defined]
        connection.end()  # type: ignore[attr-defined]

    with peer(tunnel) as at:
        link = Link(
            "https://forge.test",
            proxy=f"http://127.0.0.1:{at.port}",
            resolver=lambda host, port: [host] if host == "127.0.0.1" else never(host, port),
        )
        with pytest.raises(AmbiguousEffect):
            link.transport.mutate(MUTATION, CREATE)
        link.close()
        assert at.targets == ["forge.test:443"]


def test_a_connector_with_another_client_refuses_to_start() -> None:
    """C139."""
    import httpx

    with httpx.Client() as plain, pytest.raises(Unsupported, match="Client"):
        guarded(plain)
