"""May recoveries begin, how much of each budget is used, and who says so?"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from oncemore.adapters import allowances
from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.doors import key_of
from oncemore.adapters.api.schemas import Allowances, Why, problems
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import Body, for_scope
from oncemore.engine import breaker


class Change(Body):
    """What is to be done with the breaker."""

    change: Annotated[
        Literal["open", "close"],
        Field(description="`open`: no recovery begins; `close`: they may, and what waited is judged afresh now."),
    ]
    why: Why


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["breaker"])

    @router.get("/v1/breaker", response_model=None, responses={200: {"model": Allowances}, **problems()})
    async def show_breaker() -> Response:
        """Whether recoveries may begin, and how much of each budget is used."""
        return answer(await service.read(lambda: _stands(service)))

    return router


def changing(service: Service) -> APIRouter:
    """What a key for `admin` opens."""
    router = APIRouter(route_class=for_scope("admin"), tags=["breaker"])

    @router.post(
        "/v1/breaker", response_model=None, responses={200: {"model": Allowances}, **problems(400, 408, 409, 413, 415)}
    )
    async def change_breaker(call: Request, body: Change) -> Response:
        """Open or close the breaker. People's own messages run as always, and what runs goes on to its end."""
        key = key_of(call)
        who, journal = f"key {key.id} {key.name}", service.house.journal

        def write() -> dict[str, Any]:
            if body.change == "open":
                breaker.open_by_hand(journal, who=who, why=body.why)
            else:
                breaker.close(journal, who=who, why=body.why)
            return _stands(service)

        return answer(await service.write(write))

    return router


def _stands(service: Service) -> dict[str, Any]:
    return allowances.told(service.house.configuration, service.house.journal.now().ms)
