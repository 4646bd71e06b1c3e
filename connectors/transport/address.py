"""Which addresses a connection may be made to: public unicast, and what its configuration lifts (connectors.md 16).

Pure. ``AddressGuard`` is made from the configuration of one connection and asked by ``network`` with every address that
a name resolved to, right before the connection. Nothing here resolves or connects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AddressRefused(Exception):
    """The connection would go to an address that the configuration does not allow; none was made."""


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
    )
)
"""Where clouds tell a machine its credentials; nothing lifts these."""

NEVER: tuple[tuple[Network, str], ...] = (
    (ip_network("0.0.0.0/8"), "unspecified"),
    (ip_network("224.0.0.0/4"), "multicast"),
    (ip_network("255.255.255.255/32"), "broadcast"),
    (ip_network("::/128"), "unspecified"),
    (ip_network("ff00::/8"), "multicast"),
)
"""Addresses that are nobody's; nothing lifts these."""

SPECIAL: tuple[tuple[Network, str], ...] = (
    (ip_network("10.0.0.0/8"), "private"),
    (ip_network("100.64.0.0/10"), "shared"),
    (ip_network("127.0.0.0/8"), "loopback"),
    (ip_network("169.254.0.0/16"), "link-local"),
    (ip_network("172.16.0.0/12"), "private"),
    (ip_network("192.0.0.0/24"), "reserved"),
    (ip_network("192.0.2.0/24"), "documentation"),
    (ip_network("192.31.196.0/24"), "reserved"),
    (ip_network("192.52.193.0/24"), "reserved"),
    (ip_network("192.88.99.0/24"), "reserved"),
    (ip_network("192.168.0.0/16"), "private"),
    (ip_network("192.175.48.0/24"), "reserved"),
    (ip_network("198.18.0.0/15"), "reserved"),
    (ip_network("198.51.100.0/24"), "documentation"),
    (ip_network("203.0.113.0/24"), "documentation"),
    (ip_network("240.0.0.0/4"), "reserved"),
    (ip_network("::1/128"), "loopback"),
    (ip_network("fc00::/7"), "private"),
    (ip_network("fe80::/10"), "link-local"),
    (ip_network("fec0::/10"), "private"),
    (ip_network("2001::/23"), "reserved"),
    (ip_network("2001:db8::/32"), "documentation"),
    (ip_network("3fff::/20"), "documentation"),
)
"""Ranges that are not public, each with its name. Of IPv6 only 2000::/3 is public at all."""

_PUBLIC_V6 = ip_network("2000::/3")
_NAT64 = _networks("64:ff9b::/96", "64:ff9b:1::/48")
_COMPATIBLE = ip_network("::/96")
_NUMERIC_LABEL = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_DOTTED = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")


def special(address: Address) -> str:
    """The name of the range that keeps an address from being public unicast, empty for a public one."""
    carried = carried_by(address)
    if carried is not None:
        return special(carried)
    for network, name in (*NEVER, *SPECIAL):
        if address.version == network.version and address in network:
            return name
    return "" if address.version == 4 or address in _PUBLIC_V6 else "reserved"


def carried_by(address: Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo (the client's)."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    compatible = address in _COMPATIBLE and int(address) > 0xFFFF
    return last if compatible or any(address in network for network in _NAT64) else None


def is_read_differently(host: str) -> bool:
    """Whether a URL parser and a resolver could take the host for different addresses: ``0x7f.1``, ``127.1``,
    ``0177.0.0.1``, ``2130706433``, a zone id."""
    if "%" in host:
        return True
    labels = host.rstrip(".").split(".")
    return all(_NUMERIC_LABEL.fullmatch(label) for label in labels) and not _DOTTED.fullmatch(host)


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """What one connection may reach. ``allowed`` is False, True, or the networks that are lifted."""

    allowed: bool | tuple[Network, ...] = False

    @classmethod
    def of(cls, allow_private: bool | Sequence[str]) -> AddressGuard:
        """From the configuration's value. Raises ``ValueError`` for a text that is no network."""
        if isinstance(allow_private, bool):
            return cls(allow_private)
        return cls(tuple(ip_network(text) for text in allow_private))

    def covers(self, address: Address) -> bool:
        """Whether the configuration lifts the guard for this address."""
        if isinstance(self.allowed, bool):
            return self.allowed
        judged = carried_by(address) or address
        return any(each.version == judged.version and judged in each for each in self.allowed)

    def check(self, host: str, addresses: Sequence[str], *, plain: bool = False) -> tuple[str, ...]:
        """The addresses again, every one of them allowed; ``plain`` is a connection without TLS.

        Raises ``AddressRefused`` when a single one is not, or when there is none.
        """
        if is_read_differently(host):
            raise AddressRefused(f'"{host}" can be read as different addresses')
        if not addresses:
            raise AddressRefused(f'"{host}" has no address')
        for text in addresses:
            self._check_one(host, text, plain)
        return tuple(addresses)

    def _check_one(self, host: str, text: str, plain: bool) -> None:
        if "%" in text:
            raise AddressRefused(f'"{host}" is {text}, an address of one network card only')
        address = ip_address(text)
        judged = carried_by(address) or address
        name = special(address)
        if address in METADATA or judged in METADATA:
            raise AddressRefused(f'"{host}" is {text}, where a cloud keeps credentials')
        if any(judged.version == each.version and judged in each for each, _ in NEVER):
            raise AddressRefused(f'"{host}" is {text}, a {name} address')
        if name and not self.covers(address):
            raise AddressRefused(f'"{host}" is {text}, a {name} address')
        if plain and not self.covers(address):
            raise AddressRefused(f'"{host}" is {text}, and http is for addresses that allow_private covers')
