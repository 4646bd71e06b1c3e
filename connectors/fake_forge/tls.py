"""Certificates of a fake forge that speaks TLS: one that its own authority signed, and two that a client must refuse.

Made anew at each start, valid for ``localhost`` and 127.0.0.1; ``authority`` is the file that a client trusts.
"""

from __future__ import annotations

import ssl
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from connectors.fake_forge.clock import SystemTime


class Certificates:
    """The certificates as files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = folder / "authority.pem"
        trusted = _Authority("pointsman fake forge")
        self.authority.write_bytes(trusted.certificate.public_bytes(Encoding.PEM))
        self._contexts = {
            "": self._context("good", trusted, "localhost"),
            "tls_untrusted": self._context("untrusted", _Authority("somebody else"), "localhost"),
            "tls_wrong_name": self._context("wrong", trusted, "elsewhere.example"),
        }

    def context(self, fault: str) -> ssl.SSLContext:
        """The server's side of the handshake, spoilt as the fault says."""
        return self._contexts.get(fault, self._contexts[""])

    def _context(self, name: str, authority: _Authority, host: str) -> ssl.SSLContext:
        path = self._folder / f"{name}.pem"
        path.write_bytes(authority.issue(host))
        path.chmod(0o600)
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(path)
        return made


class _Authority:
    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        made = _builder(self._name, self._name, self._key.public_key())
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = made.sign(self._key, hashes.SHA256())

    def issue(self, host: str) -> bytes:
        """Key and certificate of a host, PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(host)]
        if host == "localhost":
            names.append(x509.IPAddress(IPv4Address("127.0.0.1")))
        made = _builder(_named(host), self._name, key.public_key())
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = made.add_extension(authority, critical=False)
        signed = made.sign(self._key, hashes.SHA256())
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + signed.public_bytes(Encoding.PEM)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = SystemTime().now()
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=30))
    return made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
