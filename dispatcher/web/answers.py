"""How the web side answers: JSON documents, and refusals in the one form of interface.md 1."""

from __future__ import annotations

import json

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from config.problems import ConfigError
from connectors.errors import ConnectorError
from dispatcher.refusals import Refusal, Refused, error_document, meaning_of
from engine.errors import EngineError

JSON = "application/json"
_BY_STATUS = {404: "not_found", 405: "method"}


class Document(Response):
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


def refusal_answer(refusal: Refusal) -> Document:
    """The answer to a refusal; its status is in the one table."""
    return Document(error_document(refusal), meaning_of(refusal.code).http_status)


async def on_refusal(_request: Request, error: Exception) -> Response:
    """One of our own exceptions."""
    assert isinstance(error, (EngineError, ConnectorError, ConfigError, Refused))
    return refusal_answer(error)


async def on_invalid(_request: Request, error: Exception) -> Response:
    """A request that does not fit its model: the first field that is wrong, and what is wrong with it."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    more = len(error.errors()) - 1
    also = f" ({more} more)" if more else ""
    return refusal_answer(Refused("bad_input", f"{where}: {first['msg']}{also}.", "See /api/openapi.json."))


async def on_status(_request: Request, error: Exception) -> Response:
    """A path or a method that does not exist."""
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, "usage")
    document = error_document(Refused(code, f"{error.detail}.", "See /api/openapi.json for what there is."))
    return Document(document, error.status_code, headers=dict(error.headers or {}))


async def on_fault(_request: Request, _error: Exception) -> Response:
    """A fault of ours; it is logged by the server, and not told to the caller."""
    return refusal_answer(Refused("internal", "Something unexpected happened.", "The daemon's log tells what."))
