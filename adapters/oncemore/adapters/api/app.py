"""Which routes are there?"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from oncemore.adapters.api import deciding, page
from oncemore.adapters.api.doors import Doors
from oncemore.adapters.api.problems import problem, refusal
from oncemore.adapters.api.service import Service
from oncemore.adapters.errors import CallRefused, NoRoute
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError


def application(service: Service) -> FastAPI:
    """The whole application: the API, and the page below `/`."""
    app = FastAPI(
        title="Oncemore",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry={"logs": False},
        exception_handlers={
            HTTPException: _not_there,
            CallRefused: _refused,
            OncemoreError: _refused,
            RulesError: _refused,
        },
    )
    app.add_middleware(Doors, service=service)
    # The hot one first: routes are tried in order.
    app.router.routes[:0] = deciding.routes(service)
    app.router.routes.extend(page.routes(service))
    return app


async def _refused(_request: Request, error: Exception) -> Response:
    return refusal(error)


async def _not_there(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return problem(NoRoute.code, 405, "that method is not one of this address", headers=dict(error.headers or {}))
    if error.status_code == 404:
        return problem(NoRoute.code, 404, "nothing is at this address")
    return problem(CallRefused.code, error.status_code, "the call cannot be taken")
