"""What does a Source tell of over HTTP, and is it believed?

Lark signs what it sends; that takes the place of a key here. What is not Lark's own word of these minutes leaves no
trace but a line in the log, and what was told before is known again by its message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from oncemore.adapters.api.answers import answer
from oncemore.adapters.api.service import Service
from oncemore.adapters.configuration import SecretEntry, SourceEntry
from oncemore.adapters.errors import ConfigurationRefused, NoRoute, NotBelieved, NotReady
from oncemore.adapters.feishu import events
from oncemore.adapters.feishu.secret import from_environment, from_file
from oncemore.engine.errors import Conflict, JournalRefused, PortError, Refused

log = logging.getLogger("oncemore.api")

ANSWER_SECONDS: Final = 2.5
"""Lark waits for three seconds. What is committed later is known again when it tells of it once more."""


@dataclass(frozen=True, slots=True)
class _App:
    """What an app's events are believed by."""

    app_id: str
    token: str
    encrypt_key: str


def routes(service: Service) -> list[Route]:
    """The addresses that Sources tell their events to.

    Raises:
        ConfigurationRefused: a Source has no token or no key for its events, or they cannot be read.
    """
    apps = {name: _app(name, entry) for name, entry in service.house.configuration.sources.items()}

    async def receive(request: Request) -> Response:
        source = request.path_params["source"]
        if source not in apps:
            raise NoRoute("no such source is configured")
        raw = await request.body()
        try:
            incoming = _believed(apps[source], dict(request.headers), raw, service.clock())
        except events.EventRefused as error:
            request.scope["state"]["failed"]()
            log.warning("an event was refused", extra={"source": source, "why": str(error)})
            raise NotBelieved("this is not an event of the configured app, of these minutes") from None
        if isinstance(incoming, events.Challenge):
            return answer({"challenge": incoming.answer})
        if isinstance(incoming, events.Unhandled):
            log.info("an event of another type", extra={"source": source, "event": incoming.event_id})
            return answer({})
        await _take(service, source, incoming)
        return answer({})

    return [Route("/v1/sources/{source}/events", receive, methods=["POST"])]


async def _take(service: Service, source: str, event: events.Event) -> None:
    """Have a message taken in and committed.

    Raises:
        NotReady: it was not, or not in time; being told once more may help.
    """
    told: dict[str, Any] = {"source": source, "event": event.event_id}
    try:
        arrived = await asyncio.wait_for(service.write(lambda: service.house.arrive(event, source)), ANSWER_SECONDS)
    except TimeoutError:
        log.error("an event was not committed in time", extra=told)
        raise NotReady("it is not taken in yet; tell it once more", after=5) from None
    except (Refused, Conflict) as error:
        # It would be the same however often it is told: the text cannot be kept, or the conversation is closed.
        log.warning("an event was not taken in", extra={**told, "code": error.code})
    except (PortError, JournalRefused) as error:
        log.warning("an event was not taken in", extra={**told, "code": error.code})
        raise NotReady("it cannot be taken in at the moment; tell it once more", after=60) from None
    else:
        log.info("an event", extra={**told, "how": arrived.how, "request": arrived.request, "why": arrived.why})


def _believed(app: _App, headers: dict[str, str], raw: bytes, now: int) -> events.Incoming:
    """What came in, when it is the app's own word.

    Lark asks for the challenge before it signs anything; that is answered when it is sealed with our key and holds our
    token, and changes nothing.
    """
    read = {"app_id": app.app_id, "verification_token": app.token, "encrypt_key": app.encrypt_key}
    if "x-lark-signature" not in headers and b'"encrypt"' in raw[:64]:
        incoming = events.read(raw, **read)
        if isinstance(incoming, events.Challenge):
            return incoming
    events.verify(headers, raw, app.encrypt_key, now)
    return events.read(raw, **read)


def _app(name: str, entry: SourceEntry) -> _App:
    if entry.events is None:
        raise ConfigurationRefused(
            f"the source {name} has no `events:` with `token:` and `encrypt_key:`, each {{environment: NAME}} or "
            "{file: PATH}; without them no message of it could be believed"
        )
    return _App(entry.app_id, _secret(entry.events.token)(), _secret(entry.events.encrypt_key)())


def _secret(place: SecretEntry) -> Callable[[], str]:
    return from_file(place.file) if place.file is not None else from_environment(str(place.environment))
