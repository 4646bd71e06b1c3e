"""Who may ask: Host, Origin, token and content type are checked before any view runs (decision 31, interface.md 6).

A page of another site must not drive a listener on this machine, neither by a form, nor by a script, nor by a name
that resolves to loopback. ``verdict`` is pure; ``Guard`` is the ASGI middleware around the app.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dispatcher.refusals import Refused
from dispatcher.web import sessions
from dispatcher.web.answers import JSON, refusal_answer
from dispatcher.web.page import sign_in
from engine.ports import Clock

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_LIMIT = 8 * 1024 * 1024
"""Longest request body in bytes: a body of 1 MiB, escaped as JSON, and room."""
DELIVERIES = "/api/hooks/"
"""Where forges send what happened: the body is signed, so no token is asked for."""
DELIVERY_LIMIT = 25 * 1024 * 1024
"""Longest delivery of a forge in bytes."""
RUNS, RESUME = "/api/runs/", "/resume"
ANSWER_LIMIT = 64 * 1024 * 1024
"""Longest answer in bytes: files of 45 MiB in all, as base64."""
_CONTENT = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    b"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"cache-control", b"private, no-cache"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _CONTENT),
)
SESSION_PATH = "/api/session"
OPEN_PATHS = frozenset({SESSION_PATH, "/static/page.css", "/static/page.js"})
"""What may be asked without the token: how to give it, and the files that draw the page which asks for it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for one listener. ``hosts`` are names in lower case without port; an empty ``token`` asks for none."""

    hosts: frozenset[str]
    any_address: bool
    token: str

    @classmethod
    def of(cls, host: str, allowed: Iterable[str], token: str) -> Rules:
        """The rules of a listener on ``host``; off loopback any address literal may be used, but no other name."""
        names = LOOPBACK_NAMES | {host.strip("[]").lower()} | {name.lower() for name in allowed}
        return cls(frozenset(names), not _is_loopback(host), token)


def verdict(
    rules: Rules, method: str, headers: Mapping[str, list[str]], *, path: str = "", now: float = 0.0
) -> Refused | None:
    """Why the request is refused, None when it may pass. ``headers`` are by lower-case name, with all their values;
    ``now`` is Unix time, by which a browser's session ends."""
    host = _host_of(headers)
    if host is None or not _known(rules, host):
        return Refused(
            "misdirected",
            "The request names another host than this listener's.",
            "Use 127.0.0.1, or server.allowed_hosts.",
        )
    if not _same_origin(method, headers):
        return Refused(
            "forbidden", "The request comes from a page of another origin.", "Ask from this listener's pages."
        )
    if rules.token and not _open(path) and not _authorized(rules.token, headers, now):
        return Refused("unauthorized", "The token is missing or wrong.", "Send Authorization: Bearer TOKEN.")
    if method not in SAFE and not _is_json(headers.get("content-type", [])):
        return Refused("media_type", "The request's content type is not JSON.", f"Send Content-Type: {JSON}.")
    return None


def limit_of(path: str) -> int:
    """The longest body in bytes that may be sent to a path."""
    if path.startswith(DELIVERIES):
        return DELIVERY_LIMIT
    return ANSWER_LIMIT if path.startswith(RUNS) and path.endswith(RESUME) else BODY_LIMIT


def _open(path: str) -> bool:
    """Whether a path may be asked without the token."""
    return path in OPEN_PATHS or path.startswith(DELIVERIES)


def _host_of(headers: Mapping[str, list[str]]) -> str | None:
    values = headers.get("host", [])
    if len(values) != 1:
        return None
    try:
        return urlsplit(f"//{values[0]}").hostname
    except ValueError:
        return None


def _known(rules: Rules, host: str) -> bool:
    return host in rules.hosts or (rules.any_address and _is_address(host))


def _same_origin(method: str, headers: Mapping[str, list[str]]) -> bool:
    if method not in SAFE and headers.get("sec-fetch-site", ["none"]) not in (["none"], ["same-origin"]):
        return False
    origins = headers.get("origin", [])
    if not origins:
        return True
    if len(origins) != 1:
        return False
    origin = urlsplit(origins[0])
    return origin.scheme in {"http", "https"} and origin.netloc.lower() == headers["host"][0].lower()


def _authorized(token: str, headers: Mapping[str, list[str]], now: float) -> bool:
    """By the token itself, or by the cookie of a browser that gave it; a wrong token is not mended by a cookie."""
    values = headers.get("authorization", [])
    if not values:
        return sessions.holds(token, sessions.value_in(headers.get("cookie", [])), now)
    given = values[0] if len(values) == 1 else ""
    scheme, _, value = given.partition(" ")
    matches = hmac.compare_digest(value.strip().encode("latin-1"), token.encode())
    return matches and scheme.lower() == "bearer"


def _is_json(values: list[str]) -> bool:
    return len(values) == 1 and values[0].split(";", 1)[0].strip().lower() == JSON


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    name = host.strip("[]").lower()
    return name in LOOPBACK_NAMES or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


class Guard:
    """The middleware: refuses before the app sees the request, bounds its body, and adds the headers of safety."""

    def __init__(self, app: ASGIApp, rules: Rules, clock: Clock) -> None:
        self._app = app
        self._rules = rules
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        now = self._clock.now().timestamp()
        refused = verdict(self._rules, scope["method"], headers, path=scope["path"], now=now)
        limit = limit_of(scope["path"])
        refused = refused or _too_long(headers, limit)
        guarded = _with_headers(send)
        if refused is not None:
            answer = sign_in() if _may_sign_in(refused, scope["method"], headers) else refusal_answer(refused)
            await answer(scope, receive, guarded)
            return
        await self._app(scope, _bounded(receive, limit), guarded)


def _may_sign_in(refused: Refused, method: str, headers: Mapping[str, list[str]]) -> bool:
    """Whether a person with a browser lacks the token: only then there is a page that asks for it."""
    page = any("text/html" in value for value in headers.get("accept", []))
    return refused.code == "unauthorized" and method == "GET" and page


def _too_long(headers: Mapping[str, list[str]], limit: int) -> Refused | None:
    length = headers.get("content-length", ["0"])[0]
    if length.isdigit() and int(length) <= limit:
        return None
    return Refused("too_large", f"The request's body is longer than {limit} bytes.", "Send less at once.")


def _bounded(receive: Receive, limit: int) -> Receive:
    """A body without a length is cut off by the same limit: the connection counts as lost."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return message if seen <= limit else {"type": "http.disconnect"}

    return bounded


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await send(message)

    return guarded
