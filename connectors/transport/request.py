"""A request before it leaves and an answer after it came, both as plain frozen values.

``serialise`` looks at names, values and body itself, before the client is entered, because the client announces the
head before it has looked at the headers (connectors.md 11). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from urllib.parse import quote, urljoin, urlsplit

from connectors.answer import WireRecord

LARGEST_BODY = 32 * 1024 * 1024
"""Bytes of an answer, as received and as decoded; a longer one is not read."""
READING_METHODS = frozenset({"GET", "HEAD"})
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TARGET = re.compile(r"[\x21-\x7e]+")


class NotSerialisable(Exception):
    """The request cannot be written: a header's name or value, the address, or the body."""


class CredentialMissing(Exception):
    """The credential of the call could not be had; the call was not begun."""


class BodyUnreadable(Exception):
    """The body of an answer is too long, its encoding is broken, or it is no JSON."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request below a connection's base address.

    ``path`` is percent-encoded already and begins with ``/``; or it is a whole address of the same origin, as forges
    give in links. ``body`` is a JSON value, None for none. ``asks`` marks a POST that only asks (GraphQL queries).
    ``resource`` names the budget it is paid from.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    resource: str = "core"
    asks: bool = False

    @property
    def reads(self) -> bool:
        """Whether it cannot change anything on the forge."""
        return self.asks or self.method in READING_METHODS


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a base address, and the path before every request's own."""

    scheme: str
    host: str
    port: int
    prefix: str

    @classmethod
    def of(cls, url: str) -> Origin:
        """Raises ``NotSerialisable`` for an address that names no http or https host."""
        try:
            parts = urlsplit(url)
            port = parts.port or {"https": 443, "http": 80}[parts.scheme]
            host = (parts.hostname or "").encode("idna").decode("ascii") if parts.hostname else ""
        except (ValueError, KeyError, UnicodeError) as error:
            raise NotSerialisable(f'"{url}" is no address of http or https') from error
        if not host or parts.username or parts.password:
            raise NotSerialisable(f'"{url}" names no host, or carries a user')
        return cls(parts.scheme, host, port, parts.path.rstrip("/"))

    @property
    def text(self) -> str:
        """``https://host``, with the port when it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == {"https": 443, "http": 80}[self.scheme]
        return f"{self.scheme}://{host}" + ("" if usual else f":{self.port}")

    def is_of(self, url: str) -> bool:
        """Whether a whole address lies at the same scheme, host and port."""
        try:
            other = Origin.of(url)
        except NotSerialisable:
            return False
        return (other.scheme, other.host, other.port) == (self.scheme, self.host, self.port)


def joined(base: str, link: str) -> str:
    """The whole address of a link; one that cannot be read becomes an address of nowhere, which nobody follows."""
    try:
        where = urljoin(base, link)
        urlsplit(where)
    except ValueError:
        return "about:unreadable"
    return where


@dataclass(frozen=True, slots=True)
class Written:
    """A request as it is handed to the client: nothing in it can fail to be written."""

    method: str
    url: str
    target: str
    headers: tuple[tuple[str, str], ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, read to its end. Header names are lower case; ``moved_to`` is where a redirect led, empty without
    one, and ``moved_for_good`` whether it was a permanent one. ``kept`` says that the forge had nothing newer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    wire: WireRecord
    url: str
    moved_to: str = ""
    moved_for_good: bool = False
    kept: bool = False

    def json(self) -> object:
        """The body as JSON. Raises ``BodyUnreadable``."""
        try:
            found: object = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise BodyUnreadable(f"{self.content_type}, {len(self.body)} bytes, is no JSON") from error
        return found

    @property
    def content_type(self) -> str:
        """Without parameters; ``nothing`` when the forge names none."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower() or "nothing"

    @property
    def date(self) -> datetime | None:
        """The forge's own time, aware, UTC."""
        return http_date(self.headers.get("date", ""))


def http_date(text: str) -> datetime | None:
    """An HTTP date, None for a text that is none."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def serialise(request: Request, origin: Origin, headers: Mapping[str, str]) -> Written:
    """The request as bytes and checked text. Raises ``NotSerialisable`` (phase ``none``: nothing was begun)."""
    if not _TOKEN.fullmatch(request.method):
        raise NotSerialisable(f'"{request.method}" is no method')
    target = _target(request, origin)
    content = b"" if request.body is None else _encoded(request.body)
    every = {"host": _host(origin), "accept-encoding": "gzip", **_lower(headers), **_lower(request.headers)}
    if request.body is not None:
        every = {"content-type": "application/json", **every}
    if content or request.method not in READING_METHODS:
        every["content-length"] = str(len(content))
    for name, value in every.items():
        _check_header(name, value)
    return Written(request.method, origin.text + target, target, tuple(every.items()), content)


def _target(request: Request, origin: Origin) -> str:
    if request.path.startswith("/"):
        target = origin.prefix + request.path
    elif origin.is_of(request.path):
        parts = urlsplit(request.path)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    else:
        raise NotSerialisable(f'"{request.path}" lies elsewhere than {origin.text}')
    if request.query:
        pairs = "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in request.query)
        target += ("&" if "?" in target else "?") + pairs
    if not _TARGET.fullmatch(target) or "#" in target:
        raise NotSerialisable("the address holds characters that are not encoded")
    return target


def _encoded(body: object) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise NotSerialisable(f"the body cannot be encoded: {type(error).__name__}") from error


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise NotSerialisable("a header's name holds characters that no header may have")
    if not _VALUE.fullmatch(value) or value != value.strip(" \t"):
        raise NotSerialisable(f'the value of header "{name}" holds characters that no header may have')


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _host(origin: Origin) -> str:
    return origin.text.split("://", 1)[1]


def frozen_headers(pairs: list[tuple[str, str]]) -> Mapping[str, str]:
    """Headers by lower-case name; a repeated one is joined with a comma, as HTTP says."""
    found: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return MappingProxyType(found)
