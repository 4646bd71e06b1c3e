"""What there is, and by which method: HEAD, OPTIONS, 404 and 405 for every path in one place.

ASGI, behind the guard. HEAD is GET without the body, OPTIONS names the methods, and what is refused here is refused
before anybody looks at a body. The views know only their own method.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from re import Pattern

from fastapi.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dispatcher.refusals import Refused
from dispatcher.web.answers import refuse

_ALWAYS = ("HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Paths:
    """Every path with its methods."""

    known: tuple[tuple[Pattern[str], frozenset[str]], ...]

    @classmethod
    def of(cls, routes: Iterable[BaseRoute]) -> Paths:
        """The paths of the views."""
        return cls(
            tuple((each.path_regex, frozenset(each.methods or ())) for each in routes if isinstance(each, Route))
        )

    def methods(self, path: str) -> tuple[str, ...]:
        """The methods of a path in order, nothing where there is none; the first form that fits counts."""
        first = next((pattern for pattern, _ in self.known if pattern.match(path)), None)
        found = {method for pattern, methods in self.known if pattern == first for method in methods}
        return tuple(sorted({*found, *(_ALWAYS if "GET" in found else _ALWAYS[1:])})) if found else ()


class Methods:
    """The middleware."""

    def __init__(self, app: ASGIApp, paths: Paths) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path, method = scope["path"], scope["method"]
        allowed = self._paths.methods(path)
        if not allowed:
            text = f"There is nothing at {path}."
            await refuse(scope, receive, send, Refused("not_found", text, "See /api/openapi.json for what there is."))
        elif method == "OPTIONS":
            await Response(status_code=204, headers={"Allow": ", ".join(allowed)})(scope, receive, send)
        elif method not in allowed:
            hint = f"It takes {', '.join(allowed)}; see /api/openapi.json."
            told = Refused("method", f"{method} is no method of {path}.", hint)
            await refuse(scope, receive, send, told, {"Allow": ", ".join(allowed)})
        elif method == "HEAD":
            await self._app(_as_get(scope), receive, _without_body(send))
        else:
            await self._app(scope, receive, send)


def _as_get(scope: Scope) -> Scope:
    """The same as GET; never as a stream, which would go on with nobody listening."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"accept" or b"event-stream" not in value]
    return {**scope, "method": "GET", "headers": headers}


def _without_body(send: Send) -> Send:
    async def head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return head
