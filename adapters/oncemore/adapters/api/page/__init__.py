"""Which pages does an operator see in a browser?"""

from __future__ import annotations

from starlette.routing import BaseRoute

from oncemore.adapters.api.page.serving import Page
from oncemore.adapters.api.service import Service


def routes(service: Service) -> list[BaseRoute]:
    """Every route of the page, below `/`; they ask for a session of their own."""
    return list(Page(service).routes())
