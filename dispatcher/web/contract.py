"""The contract at ``/api/openapi.json``: what every view may answer, and who may ask.

Views name their own refusals with ``refusals``; what the guard, the intake and a fault answer holds for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from dispatcher.web.answered import Refusal

_MEANINGS: Mapping[int, str] = {
    401: "the token is missing or wrong",
    403: "asked from a page of another origin",
    404: "there is no such thing",
    409: "the state forbids it, or somebody was faster",
    410: "it was deleted",
    412: "it is no longer as it was read",
    413: "the body is too long",
    415: "the body is not declared as JSON",
    421: "asked for another host",
    422: "it does not fit; the message names what",
    500: "a fault, or a record that cannot be read",
    502: "the forge refused or did not answer",
    503: "the store, or the forge's limit, cannot serve it now",
}
"""status -> what it says."""
_ALWAYS = (401, 403, 421, 422, 500, 503)
_WITH_BODY = (413, 415)
_OPEN = frozenset({"/api/session", "/api/hooks/{forge}"})
"""What is asked without the token."""
_REFUSAL = {"application/json": {"schema": {"$ref": f"#/components/schemas/{Refusal.__name__}"}}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a view may refuse with, beside what holds for all."""
    return {status: {"model": Refusal, "description": _MEANINGS[status]} for status in statuses}


def describe(app: FastAPI, *, token: bool) -> None:
    """Let ``app`` tell the whole contract; ``token`` says whether its listener asks for one."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _contract(app, token=token)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _contract(app: FastAPI, *, token: bool) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
    for unused in ("HTTPValidationError", "ValidationError"):
        made["components"]["schemas"].pop(unused, None)
    made["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "`server.token`"},
        "session": {"type": "apiKey", "in": "cookie", "name": "pointsman_session"},
    }
    made["security"] = [{"token": []}, {"session": []}] if token else []
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            if path in _OPEN:
                operation["security"] = []
            _complete(method, operation["responses"])
    return made


def _complete(method: str, responses: dict[str, Any]) -> None:
    """What the layers around the views answer; whatever is no success is a refusal."""
    responses.pop("422", None)  # the framework's own form of it is never sent
    for status in (*_ALWAYS, *(() if method == "get" else _WITH_BODY)):
        responses.setdefault(str(status), {"description": _MEANINGS[status]})
    for status, said in responses.items():
        if int(status) >= 400:
            said.setdefault("content", _REFUSAL)
    if method == "get" and "application/json" in responses["200"].get("content", {}):
        responses["304"] = {"description": "`If-None-Match` named it: it did not change"}


_ABOUT = """Cards, runs and the dispatcher of one daemon. A refusal says what was found and what to do about it. Every
JSON document has an `ETag`. `HEAD` is `GET` without the body; `OPTIONS` names the methods of a path. Readers must bear
keys that are not here."""
