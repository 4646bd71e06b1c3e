"""Answers that did not change are not sent again: ``ETag`` and ``If-None-Match`` for every document and page.

ASGI, between the guard and the app. A tag is the digest of the body, so it can never lie. Streams, metrics and refusals
pass as they are.
"""

from __future__ import annotations

import hashlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TAGGED = (b"application/json", b"text/html", b"text/css", b"text/javascript")


class Validated:
    """The middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Answer(scope, send).send)


class _Answer:
    """One answer on its way out: kept until its body is whole, when it is one that gets a tag."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._known = [value for name, value in scope["headers"] if name == b"if-none-match"]
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Take one message of the app."""
        if message["type"] == "http.response.start" and _may_be_tagged(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            await self._whole(self._start)

    async def _whole(self, start: Message) -> None:
        tag = tag_of(self._body)
        headers = [*start["headers"], (b"etag", tag)]
        if any(names(value, tag) for value in self._known):
            kept = [pair for pair in headers if pair[0].lower() not in (b"content-length", b"content-type")]
            await self._send({**start, "status": 304, "headers": kept})
            await self._send({"type": "http.response.body", "body": b""})
            return
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": self._body})


def _may_be_tagged(start: Message) -> bool:
    kinds = [value for name, value in start.get("headers", ()) if name.lower() == b"content-type"]
    return start["status"] == 200 and any(kind.startswith(_TAGGED) for kind in kinds)


def tag_of(body: bytes) -> bytes:
    """The tag of a document or page: the quoted digest of its bytes."""
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'.encode()


def names(value: bytes, tag: bytes) -> bool:
    """Whether the header names the tag; a weak one of the same text, as a proxy makes it, is the same here."""
    each = [part.strip().removeprefix(b"W/") for part in value.split(b",")]
    return tag in each or b"*" in each
