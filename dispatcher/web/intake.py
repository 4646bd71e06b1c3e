"""What a request may carry: a JSON content type where it changes something, a body of bounded length, text without NUL.

ASGI, behind the guard and before the views. ``unfit`` is pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dispatcher.refusals import Refused
from dispatcher.web.answers import JSON, refuse

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
_NUL = (b"%00", b"\x00")


def limit_of(path: str) -> int:
    """The longest body in bytes that may be sent to a path."""
    if path.startswith(DELIVERIES):
        return DELIVERY_LIMIT
    return ANSWER_LIMIT if path.startswith(RUNS) and path.endswith(RESUME) else BODY_LIMIT


def headers_of(scope: Scope) -> dict[str, list[str]]:
    """The headers of a request by lower-case name, with all their values."""
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def unfit(method: str, headers: Mapping[str, list[str]], path: str = "", query: bytes = b"") -> Refused | None:
    """Why a request cannot be taken as it is, None when it can (decision 31)."""
    if "\x00" in path or any(each in query for each in _NUL):
        return Refused("bad_input", "The address holds a NUL character.", "Ask without it; no name holds one.")
    if method not in SAFE and not _is_json(headers.get("content-type", [])):
        return Refused("media_type", "The request's content type is not JSON.", f"Send Content-Type: {JSON}.")
    length = headers.get("content-length", ["0"])[0]
    return None if length.isdigit() and int(length) <= limit_of(path) else _too_long(limit_of(path))


def _is_json(values: list[str]) -> bool:
    return len(values) == 1 and values[0].split(";", 1)[0].strip().lower() == JSON


def _too_long(limit: int) -> Refused:
    return Refused("too_large", f"The request's body is longer than {limit} bytes.", "Send less at once.")


class Intake:
    """The middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        refused = unfit(scope["method"], headers_of(scope), scope["path"], scope["query_string"])
        if refused is not None:
            await refuse(scope, receive, send, refused)
            return
        body = _Body(scope, receive, send)
        await self._app(scope, body.receive, body.send)


class _Body:
    """A body without a length: cut off by the same limit, and refused whatever the view says of its rest."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._limit = limit_of(scope["path"])
        self._seen = 0
        self._refused = False

    async def receive(self) -> Message:
        """The next part, or the end of the connection."""
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        return message if self._seen <= self._limit else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """An answer's next part."""
        if self._seen <= self._limit:
            await self._send(message)
        elif not self._refused:
            self._refused = True
            await refuse(self._scope, self._receive, self._send, _too_long(self._limit))
