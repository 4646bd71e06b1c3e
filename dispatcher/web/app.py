"""The app: all views, one form of refusal, and the guard around everything."""

from __future__ import annotations

from typing import cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from config.problems import ConfigError
from connectors.errors import ConnectorError
from dispatcher import __version__
from dispatcher.refusals import Refused
from dispatcher.web import answers, cards, control, deliveries, page, runs, unfit
from dispatcher.web.backstage import Backstage
from dispatcher.web.contract import describe
from dispatcher.web.guard import Guard, Rules
from dispatcher.web.intake import Intake
from dispatcher.web.lingering import Lingering
from dispatcher.web.methods import Methods, Paths
from dispatcher.web.validators import Validated
from engine.errors import EngineError


def make_app(backstage: Backstage, rules: Rules) -> ASGIApp:
    """The app of one daemon; the names that ``server.allowed_hosts`` adds to the rules are those in force."""
    app = FastAPI(
        title="Pointsman",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.backstage = backstage
    routers = (control.router, deliveries.router, cards.router, runs.router, page.router)
    for router in routers:
        app.include_router(router)
    for kind in (EngineError, ConnectorError, ConfigError, Refused):
        app.add_exception_handler(kind, answers.on_refusal)
    app.add_exception_handler(RequestValidationError, unfit.on_invalid)
    app.add_exception_handler(HTTPException, answers.on_status)
    app.add_exception_handler(ClientDisconnect, answers.on_cut_off)
    app.add_exception_handler(Exception, answers.on_fault)
    app.state.rules = rules
    describe(app, token=bool(rules.token))
    paths = Paths.of([*app.routes, *(route for router in routers for route in router.routes)])
    served = Methods(Intake(Validated(app)), paths)

    def present() -> Rules:
        return rules.with_hosts(backstage.wiring.settings.server.allowed_hosts)

    return cast(ASGIApp, Lingering(Guard(served, present, backstage.wiring.clock)))
