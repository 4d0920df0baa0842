"""Which routes are there?"""

from __future__ import annotations

from fastapi import FastAPI

from oncemore.adapters.api import page
from oncemore.adapters.api.service import Service


def application(service: Service) -> FastAPI:
    """The whole application: the API, and the page below `/`."""
    app = FastAPI(
        title="Oncemore",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry={"logs": False},
    )
    app.router.routes.extend(page.routes(service))
    return app
