"""Who may ask: Host, Origin and token are checked before anything else (decision 31, interface.md 6).

A page of another site must not drive a listener on this machine, neither by a form, nor by a script, nor by a name
that resolves to loopback. ``verdict`` is pure; ``Guard`` is the ASGI middleware around the app.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dispatcher.refusals import Refused
from dispatcher.web import sessions
from dispatcher.web.answers import refusal_answer, wants_page
from dispatcher.web.intake import DELIVERIES, SAFE, headers_of
from dispatcher.web.page import sign_in
from engine.ports import Clock

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
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
    def of(cls, host: str, token: str) -> Rules:
        """The rules of a listener on ``host``; off loopback any address literal may be used, but no other name."""
        return cls(LOOPBACK_NAMES | {host.strip("[]").lower()}, not _is_loopback(host), token)

    def with_hosts(self, names: Iterable[str]) -> Rules:
        """The same with further names."""
        return replace(self, hosts=self.hosts | {name.strip("[]").lower() for name in names})


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
    return None


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
    """The middleware: refuses before the app sees the request, and adds the headers of safety."""

    def __init__(self, app: ASGIApp, rules: Callable[[], Rules], clock: Clock) -> None:
        self._app = app
        self._rules = rules
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            return
        headers = headers_of(scope)
        now = self._clock.now().timestamp()
        refused = verdict(self._rules(), scope["method"], headers, path=scope["path"], now=now)
        guarded = _with_headers(send)
        if refused is not None:
            answer = sign_in() if refused.code == "unauthorized" and wants_page(scope) else refusal_answer(refused)
            await answer(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await send(message)

    return guarded
