"""The rest of a body that nobody wants is read and dropped before the answer goes out.

ASGI, around everything. A client that is still sending when its connection is closed sees a reset in place of the
answer, and never learns why it was refused. Nothing is kept; who waits to be asked for the body is not asked. On a
connection that stays open the server itself reads on behind the answer.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 256 * 1024 * 1024
"""So many bytes of a rest are read; behind them the connection ends."""
SILENCE = 2.0
"""Seconds after which a client that sends nothing more gets its answer at once."""


class Lingering:
    """The middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not _closes_with_a_body(scope):
            await self._app(scope, receive, send)
            return
        rest = _Rest(receive, send)
        await self._app(scope, rest.receive, rest.send)


def _closes_with_a_body(scope: Scope) -> bool:
    """Whether the connection ends with the answer, and a body comes without being asked for."""
    headers = dict(scope["headers"]) if scope["type"] == "http" else {}
    body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    closes = headers.get(b"connection", b"").lower() == b"close" or scope.get("http_version") == "1.0"
    return body and closes and headers.get(b"expect", b"").lower() != b"100-continue"


class _Rest:
    """One request's body on its way in, its answer on its way out."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._over = False

    async def receive(self) -> Message:
        """The next part of the body."""
        message = await self._receive()
        self._over = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """An answer's next part; the first one waits until the body is over."""
        left = MOST if message["type"] == "http.response.start" else 0
        try:
            while left > 0 and not self._over:
                left -= len((await asyncio.wait_for(self.receive(), SILENCE)).get("body", b""))
        except TimeoutError:
            pass
        await self._send(message)
