"""Which routes are there?"""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from oncemore.adapters.api import (
    authzen,
    breaker,
    conversations,
    deciding,
    decisions,
    events,
    health,
    page,
    policies,
    requests,
)
from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.doors import Doors
from oncemore.adapters.api.openapi import document
from oncemore.adapters.api.problems import problem, refusal
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import for_scope
from oncemore.adapters.errors import CallRefused, NoRoute
from oncemore.engine.errors import OncemoreError
from oncemore.rules.errors import RulesError


def application(service: Service, ticks: Callable[[], float] = time.monotonic) -> Doors:
    """The whole application: the API, and the page below `/`, behind their doors.

    Args:
        ticks: seconds, never backwards; what limits count in.

    Raises:
        ConfigurationRefused: a Source's events could not be believed.
    """
    asked_often = deciding.routes(service)
    straight = {one.path: one for one in asked_often}
    return Doors(routed(service), service, straight, streamed=(deciding.BATCH,), ticks=ticks)


def routed(service: Service) -> FastAPI:
    """Every route, without the doors before them.

    Raises:
        ConfigurationRefused: a Source's events could not be believed.
    """
    app = FastAPI(
        title="Oncemore",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"logs": False},
        generate_unique_id_function=_operation,
        exception_handlers={
            HTTPException: _not_there,
            CallRefused: _refused,
            OncemoreError: _refused,
            RulesError: _refused,
            ClientDisconnect: _left,
            Exception: _refused,
        },
    )
    app.router.routes.extend(deciding.routes(service))
    app.router.routes.extend(events.routes(service))
    for router in (
        health.public(),
        health.reading(service),
        requests.reading(service),
        requests.acting(service),
        conversations.reading(service),
        decisions.reading(service),
        policies.reading(service),
        policies.changing(service),
        breaker.reading(service),
        breaker.changing(service),
        authzen.deciding(service),
        _described(app),
    ):
        app.include_router(router)
    app.router.routes.extend(page.routes(service))
    return app


def _described(app: FastAPI) -> APIRouter:
    router = APIRouter(route_class=for_scope("read"))

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        """The interface itself."""
        return answer(document(app))

    return router


def _operation(route: APIRoute) -> str:
    return route.name


async def _refused(_request: Request, error: Exception) -> Response:
    return refusal(error)


async def _left(request: Request, _error: Exception) -> Response:
    request.scope["state"]["quiet"] = True
    return _Nothing()


class _Nothing(Response):
    """Nobody is there any more to be told anything."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing is sent."""


async def _not_there(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return problem(NoRoute.code, 405, "that method is not one of this address", headers=dict(error.headers or {}))
    if error.status_code == 404:
        return problem(NoRoute.code, 404, "nothing is at this address")
    return problem(CallRefused.code, error.status_code, "the call cannot be taken")
