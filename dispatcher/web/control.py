"""Health, metrics, and the dispatcher's own state with its switches (interface.md 6, dispatcher.md 24 and 25)."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from dispatcher.refusals import Refused
from dispatcher.web import sessions
from dispatcher.web.answers import Document
from dispatcher.web.backstage import Behind
from dispatcher.web.models import Nothing, PauseDispatcher, SignIn

router = APIRouter(tags=["dispatcher"], default_response_class=Document)

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
By = Annotated[str, Header(alias="X-Pointsman-User", description="who asks, for the record")]
_STATES = {"pause": "paused", "drain": "draining"}


@router.post("/api/session", responses={401: {"description": "another token"}})
def sign_in(request: Request, behind: Behind, body: SignIn) -> Document:
    """Trade the token for a cookie, for browsers: they cannot send it with a page. 401 when it is another one."""
    token = request.app.state.rules.token
    if token and not hmac.compare_digest(body.token.encode(), token.encode()):
        raise Refused("unauthorized", "This is not the token.", "It is server.token of the configuration.")
    value = sessions.issue(token, behind.wiring.clock.now().timestamp())
    return Document({"ok": True}, headers={"Set-Cookie": sessions.header(value)})


@router.get("/healthz")
def healthz() -> Document:
    """200 while requests are answered."""
    return Document({"ok": True})


@router.get("/readyz")
def readyz(behind: Behind) -> Document:
    """200 when the daemon does its work, else 503 with the reasons."""
    reasons = list(behind.door.not_ready())
    return Document({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)


@router.get("/metrics", response_class=Response)
def metrics(behind: Behind) -> Response:
    """Prometheus text."""
    return Response(behind.metrics.text(), media_type=METRICS_TYPE)


@router.get("/api/dispatcher")
def state(behind: Behind) -> Document:
    """The state as of the last tick, whole."""
    return Document(dict(behind.door.state()))


@router.post("/api/dispatcher/refresh", status_code=202)
def refresh(behind: Behind, _body: Nothing | None = None) -> Document:
    """Bring the next tick forward; any number of these before it is one tick."""
    behind.door.refresh("http")
    return Document({"accepted": True}, 202)


@router.post("/api/dispatcher/pause")
def pause(behind: Behind, body: PauseDispatcher | None = None, x_user: By = "http") -> Document:
    """Start nothing more, also after a new start of the daemon; stored when this answers."""
    wanted = _STATES[(body or PauseDispatcher()).mode]
    behind.door.desire(wanted, x_user)
    return Document({"state": wanted})


@router.post("/api/dispatcher/resume")
def resume(behind: Behind, _body: Nothing | None = None, x_user: By = "http") -> Document:
    """Pick up work again; stored when this answers."""
    behind.door.desire("running", x_user)
    behind.door.refresh("http")
    return Document({"state": "running"})


@router.post("/api/dispatcher/reload", status_code=202)
def reload(behind: Behind, _body: Nothing | None = None) -> Document:
    """Read the configuration again; what came of it is in the state."""
    behind.door.reload()
    return Document({"accepted": True}, 202)
