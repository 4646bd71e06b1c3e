"""One request and one answer between the sockets and the forge's handlers, and the errors that handlers raise.

``Call`` is what a handler gets, ``Answer`` what it gives. Nothing here knows a forge or a socket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from connectors.fake_forge.records import Repo, Token, User, World

if TYPE_CHECKING:
    from connectors.fake_forge.desk import Desk

Json = Any
"""A JSON value: handlers read and build documents of a forge's own shape."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as read from the socket. ``path`` is still percent-encoded; header names are lower case."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Request:
        """From the request line and what follows."""
        path, _, query = target.partition("?")
        return cls(method, path, tuple(parse_qsl(query, keep_blank_values=True)), headers, body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: ``body`` is JSON unless it is bytes or None (no body)."""

    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json; charset=utf-8"

    def payload(self) -> bytes:
        """The body's bytes."""
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False).encode("utf-8")

    def with_headers(self, more: Mapping[str, str]) -> Answer:
        """The same with more headers; those that are there win."""
        return Answer(self.status, self.body, {**more, **self.headers}, self.content_type)


class Refusal(Exception):
    """A handler says no: the answer to give. Nothing was changed."""

    def __init__(self, status: int, message: str, **more: Json) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more


@dataclass(slots=True)
class Call:
    """What a handler works with. ``world`` may be a picture of the past (fault ``lag``); reads only, then."""

    desk: Desk
    world: World
    request: Request
    params: Mapping[str, str]
    user: User
    token: Token
    quirks: frozenset[str] = frozenset()
    paging: PageFault | None = None

    @property
    def now(self) -> datetime:
        """The forge's time."""
        return self.desk.clock.now()

    @property
    def json(self) -> dict[str, Json]:
        """The body as an object. Raises ``Refusal`` 400 when it is none."""
        value = self.any_json
        if not isinstance(value, dict):
            raise Refusal(400, "Body should be a JSON object")
        return value

    @property
    def any_json(self) -> Json:
        """The body as JSON. Raises ``Refusal`` 400."""
        if not self.request.body:
            return {}
        try:
            return json.loads(self.request.body)
        except ValueError:
            raise Refusal(400, "Problems parsing JSON") from None

    def query(self, key: str, default: str = "") -> str:
        """The last value of a query key."""
        found = [value for name, value in self.request.query if name == key]
        return found[-1] if found else default

    def query_all(self, key: str) -> list[str]:
        """Every value of a query key."""
        return [value for name, value in self.request.query if name == key]

    def whole(self, key: str, default: int, most: int) -> int:
        """A query key as a number from 1 to ``most``; the default for anything that is no number."""
        text = self.query(key)
        return max(1, min(int(text), most)) if text.isdecimal() else default

    @property
    def base(self) -> str:
        """The forge's own address, as it writes it into payloads."""
        return self.desk.address

    def need(self, scope: str) -> None:
        """Raises ``Refusal`` 403 unless the token has the right."""
        if scope not in self.token.scopes:
            raise Refusal(403, "Resource not accessible by personal access token")

    def writable(self, repo: Repo) -> None:
        """Raises ``Refusal`` for an archived repository: 423 on Forgejo, 403 elsewhere."""
        if repo.archived:
            self.desk.dialect.archived(repo)


@dataclass(frozen=True, slots=True)
class PageFault:
    """How the next list answer misbehaves (connectors.md 24, pagination)."""

    fault: str
    given: Mapping[str, Json]


Handler = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True)
class Route:
    """``pattern`` has ``{name}`` for one path segment and ``{name*}`` for the rest; ``scope`` is the right needed."""

    method: str
    pattern: str
    operation: str
    handler: Handler
    scope: str = ""
    public: bool = False
