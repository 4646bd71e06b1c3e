"""Health, metrics, and the dispatcher's own state with its switches (interface.md 6, dispatcher.md 24 and 25)."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import PlainTextResponse, Response

from dispatcher.refusals import Refused
from dispatcher.web import answered, sessions
from dispatcher.web.answered_state import State
from dispatcher.web.answers import Document
from dispatcher.web.backstage import Behind
from dispatcher.web.models import Nothing, PauseDispatcher, SignIn

router = APIRouter(tags=["dispatcher"], default_response_class=Document)

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
By = Annotated[str, Header(alias="X-Pointsman-User", max_length=255, description="who asks, for the record, in UTF-8")]
NOT_READY: dict[str, Any] = {"model": answered.Readiness, "description": "it does not, and why"}
_STATES = {"pause": "paused", "drain": "draining"}


@router.post("/api/session", response_model=answered.Done)
def sign_in(request: Request, behind: Behind, body: SignIn) -> Document:
    """Trade the token for a cookie, for browsers: they cannot send it with a page. 401 when it is another one."""
    token = request.app.state.rules.token
    if token and not hmac.compare_digest(body.token.encode(), token.encode()):
        raise Refused("unauthorized", "This is not the token.", "It is server.token of the configuration.")
    value = sessions.issue(token, behind.wiring.clock.now().timestamp())
    return Document({"ok": True}, headers={"Set-Cookie": sessions.header(value, secure=request.url.scheme == "https")})


@router.get("/healthz", response_model=answered.Done)
def healthz() -> Document:
    """200 while requests are answered."""
    return Document({"ok": True})


@router.get("/readyz", response_model=answered.Readiness, responses={503: NOT_READY})
def readyz(behind: Behind) -> Document:
    """200 when the daemon does its work, else 503 with the reasons."""
    reasons = list(behind.door.not_ready())
    return Document({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(behind: Behind) -> Response:
    """Prometheus text."""
    return Response(behind.metrics.text(), media_type=METRICS_TYPE)


@router.get("/api/dispatcher", response_model=State)
def state(behind: Behind) -> Document:
    """The state as of the last tick, whole."""
    return Document(dict(behind.door.state()))


@router.post("/api/dispatcher/refresh", status_code=202, response_model=answered.Accepted)
def refresh(behind: Behind, _body: Nothing | None = None) -> Document:
    """Bring the next tick forward; any number of these before it is one tick."""
    behind.door.refresh("http")
    return Document({"accepted": True}, 202)


@router.post("/api/dispatcher/pause", response_model=answered.PickUp)
def pause(behind: Behind, body: PauseDispatcher | None = None, x_user: By = "http") -> Document:
    """Start nothing more, also after a new start of the daemon; stored when this answers."""
    wanted = _STATES[(body or PauseDispatcher()).mode]
    behind.door.desire(wanted, _name(x_user))
    return Document({"state": wanted})


@router.post("/api/dispatcher/resume", response_model=answered.PickUp)
def resume(behind: Behind, _body: Nothing | None = None, x_user: By = "http") -> Document:
    """Pick up work again; stored when this answers."""
    behind.door.desire("running", _name(x_user))
    behind.door.refresh("http")
    return Document({"state": "running"})


@router.post("/api/dispatcher/reload", status_code=202, response_model=answered.Accepted)
def reload(behind: Behind, _body: Nothing | None = None) -> Document:
    """Read the configuration again; what came of it is in the state."""
    behind.door.reload()
    return Document({"accepted": True}, 202)


def _name(header: str) -> str:
    """A name as its bytes say it in UTF-8; headers are read as Latin-1, in which every byte is a letter."""
    return header.encode("latin-1").decode("utf-8", "replace")
