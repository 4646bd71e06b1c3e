"""How the web side answers: JSON documents, and refusals in the one form of interface.md 1.

A person whose browser asks for a page gets a refusal as a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from config.problems import ConfigError
from connectors.errors import ConnectorError
from dispatcher.refusals import Refusal, Refused, error_document, meaning_of
from engine.errors import EngineError

JSON = "application/json"
_FOR_PROGRAMS = ("/api/", "/metrics", "/healthz", "/readyz", "/static/")
_BY_STATUS = {404: "not_found", 405: "method"}


class Document(JSONResponse):
    """A JSON document; text that is no valid Unicode is escaped, never a fault."""

    media_type = JSON

    def render(self, content: object) -> bytes:
        """The document's bytes."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def next_page(request: Request, limit: int | None, offset: int, shown: int) -> dict[str, str]:
    """The ``Link`` header to the page behind a full one."""
    if not limit or shown < limit:
        return {}
    return {"Link": f'<{request.url.include_query_params(limit=limit, offset=offset + limit)}>; rel="next"'}


def refusal_answer(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Document:
    """The answer to a refusal; its status is in the one table."""
    status = meaning_of(refusal.code).http_status
    asking = {"WWW-Authenticate": 'Bearer realm="pointsman"'} if status == 401 else {}
    return Document(error_document(refusal), status, headers={**asking, **(headers or {})})


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks."""
    accepts = (value for name, value in scope["headers"] if name == b"accept")
    return scope["method"] in ("GET", "HEAD") and any(b"text/html" in value for value in accepts)


def for_a_person(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not for a document."""
    return wants_page(scope) and not scope["path"].startswith(_FOR_PROGRAMS)


def told(scope: Scope, refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal as who asks can read it."""
    if not for_a_person(scope):
        return refusal_answer(refusal, headers)
    from dispatcher.web.page import refusal_page

    return refusal_page(error_document(refusal)["error"], meaning_of(refusal.code).http_status)


async def refuse(
    scope: Scope, receive: Receive, send: Send, refusal: Refusal, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a refusal."""
    await told(scope, refusal, headers)(scope, receive, send)


async def on_refusal(request: Request, error: Exception) -> Response:
    """One of our own exceptions."""
    assert isinstance(error, (EngineError, ConnectorError, ConfigError, Refused))
    return told(request.scope, error)


async def on_status(request: Request, error: Exception) -> Response:
    """What the framework refuses: a body that it cannot read."""
    assert isinstance(error, HTTPException)
    if error.status_code == 400:
        return told(request.scope, Refused("bad_input", "The body is not JSON in UTF-8.", "Send one JSON object."))
    code = _BY_STATUS.get(error.status_code, "usage")
    return told(request.scope, Refused(code, f"{error.detail}.", "See /api/openapi.json for what there is."))


async def on_cut_off(request: Request, _error: Exception) -> Response:
    """A body that ended before it was whole; mostly nobody is there to read this."""
    return told(request.scope, Refused("bad_input", "The body was cut off.", "Send it again, whole."))


async def on_fault(request: Request, _error: Exception) -> Response:
    """A fault of ours; it is logged by the server, and not told to the caller."""
    return told(request.scope, Refused("internal", "Something unexpected happened.", "The daemon's log tells what."))
