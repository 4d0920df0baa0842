"""Is the service there, and can it do its work?

`/healthz` says only that the process answers. `/readyz` looks at everything that the work depends on and names what is
not so; what lies outside is looked at seldom, and its absence does not make the service unready: it decides, and tells
people what it waits for, without it.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.schemas import Readiness, problems
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.strict_routes import for_scope
from oncemore.adapters.entries import RuntimeEntry
from oncemore.adapters.errors import NoRoute
from oncemore.engine.errors import OncemoreError
from oncemore.rules.shipped import shipped_pages

OUTSIDE_MS: Final = 15_000
"""How old a look outside may be."""

CONNECT_SECONDS: Final = 1.0
COMMIT_SECONDS: Final = 2.0

Check = dict[str, Any]


def public() -> APIRouter:
    """What needs no key."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/healthz",
        response_class=PlainTextResponse,
        responses={200: {"content": {"text/plain": {"schema": {"const": "ok\n"}}}}},
    )
    async def health() -> PlainTextResponse:
        """The process answers."""
        return PlainTextResponse("ok\n")

    return router


def reading(service: Service) -> APIRouter:
    """What a key for `read` opens."""
    router = APIRouter(route_class=for_scope("read"), tags=["health"])
    outside = _Outside(service)

    @router.get(
        "/readyz",
        response_model=None,
        responses={
            200: {"model": Readiness},
            **problems(),
            503: {"model": Readiness, "description": "Something that is needed is not so."},
        },
    )
    async def readiness() -> Response:
        """Everything that the work depends on, and whether it is so."""
        checks = [await _journal(service), _rules(service), _worker(service), *await outside.checks()]
        ready = all(check["ok"] for check in checks if check["needed"])
        return answer({"ready": ready, "checks": checks}, 200 if ready else 503)

    @router.get(
        "/metrics",
        response_model=None,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems(404)},
    )
    async def metrics() -> Response:
        """Counters and times, as Prometheus reads them."""
        if service.metrics is None:
            raise NoRoute("nothing is measured here")
        content, media_type = await service.read(service.metrics)
        return Response(content, headers={"content-type": media_type})

    @router.get(
        "/errors/{code}",
        response_model=None,
        responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}, **problems(404)},
    )
    async def error_page(code: str) -> Response:
        """What a code means, and what to do."""
        page = shipped_pages() / f"{code}.md"
        if not re.fullmatch("[A-Z][0-9]{3}", code, re.ASCII) or not page.is_file():
            raise NoRoute("there is no page of that code")
        return Response(page.read_text("utf-8"), media_type="text/markdown")

    return router


async def _journal(service: Service) -> Check:
    try:
        await asyncio.wait_for(service.write(lambda: None), COMMIT_SECONDS)
    except TimeoutError:
        return _check("journal", False, f"nothing was committed within {COMMIT_SECONDS:g} s")
    except OncemoreError as error:
        return _check("journal", False, f"it cannot be written ({error.code}); the log has more")
    return _check("journal", True, "it takes commits")


def _rules(service: Service) -> Check:
    count, trouble = len(service.rules.names), service.rules.trouble
    says = f"{count} policies, {service.rules.digest}"
    if trouble is not None:
        # The last good set decides. The whole text, which may hold paths, is for who edits the files.
        says += (
            f"; what stands in their folder now cannot be used ({trouble.partition(':')[0]}), `oncemore check` says why"
        )
    return _check("rules", count > 0 and trouble is None, says, needed=count == 0)


def _worker(service: Service) -> Check:
    if service.worker is None:
        return _check("worker", True, "none in this process", needed=False)
    trouble = service.worker.trouble
    return _check("worker", trouble is None, trouble or "it works")


def _check(name: str, ok: bool, says: str, *, needed: bool = True) -> Check:
    return {"name": name, "ok": ok, "says": says, "needed": needed}


class _Outside:
    """What the runtimes and sources look like from here, remembered for a moment."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: list[Check] = []
        self._at: int | None = None

    async def checks(self) -> list[Check]:
        now = self._service.clock()
        if self._at is None or not 0 <= now - self._at < OUTSIDE_MS:
            self._at = now
            self._seen = await self._service.read(lambda: list(self._look()))
        return self._seen

    def _look(self) -> Iterator[Check]:
        configuration = self._service.house.configuration
        for name, runtime in configuration.runtimes.items():
            yield _seen(f"runtime {name}", partial(_runtime, name, runtime, configuration.file))
        for source, entry in configuration.sources.items():
            yield _seen(f"source {source}", partial(_reached, entry.base))


class _Lacking(Exception):
    """Something is there and of no use as it is; the text holds nothing of this machine."""


def _seen(name: str, look: Callable[[], str]) -> Check:
    try:
        return _check(name, True, look(), needed=False)
    except _Lacking as lacking:
        return _check(name, False, f"{lacking}; `oncemore doctor` says what mends it", needed=False)
    except OncemoreError as error:
        # What it says may hold paths of this machine.
        return _check(name, False, f"{error.code}; `oncemore doctor` says what mends it", needed=False)
    except OSError as error:
        return _check(name, False, f"it is not reached: {error.strerror or type(error).__name__}", needed=False)


def _runtime(name: str, entry: RuntimeEntry, file: Path) -> str:
    if name == "codex":
        from oncemore.adapters.codex.access import codex_access
        from oncemore.adapters.codex.binary import find

        # Only files are looked at: starting it, or asking its provider, is too much for every probe.
        access = codex_access(entry.home, tuple(entry.environment), find(entry.binary), file)
        if not access.lacks:
            return "its program is there, with what it reaches its model by"
        lacks = "nobody is logged in" if access.variable is None else "the key of its provider is not"
        raise _Lacking(f"its program is there, and {lacks}")
    if entry.server is not None:
        return _reached(entry.server.url)
    return "it is configured"


def _reached(base: str) -> str:
    parts = urlsplit(base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    return "it takes connections"
