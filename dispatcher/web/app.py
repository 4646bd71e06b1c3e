"""The app: all views, one form of refusal, and the guard around everything."""

from __future__ import annotations

from typing import cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from config.problems import ConfigError
from connectors.errors import ConnectorError
from dispatcher import __version__
from dispatcher.refusals import Refused
from dispatcher.web import answers, cards, control, deliveries, page, runs
from dispatcher.web.backstage import Backstage
from dispatcher.web.guard import Guard, Rules
from dispatcher.web.validators import Validated
from engine.errors import EngineError


def make_app(backstage: Backstage, rules: Rules) -> ASGIApp:
    """The app of one daemon."""
    app = FastAPI(
        title="Pointsman",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.backstage = backstage
    for router in (control.router, deliveries.router, cards.router, runs.router, page.router):
        app.include_router(router)
    for kind in (EngineError, ConnectorError, ConfigError, Refused):
        app.add_exception_handler(kind, answers.on_refusal)
    app.add_exception_handler(RequestValidationError, answers.on_invalid)
    app.add_exception_handler(HTTPException, answers.on_status)
    app.add_exception_handler(Exception, answers.on_fault)
    app.state.rules = rules
    return cast(ASGIApp, Guard(Validated(app), rules, backstage.wiring.clock))
