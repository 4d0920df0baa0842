"""May this call come in at all? Host and origin, attempts, the key, and what every answer carries.

Asked before anything of the call is read. Only health, the page (which has sessions of its own) and events (which their
Source signs) come in without a key.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oncemore.adapters.api.keys import Key
from oncemore.adapters.api.keys import Scope as Reach
from oncemore.adapters.api.limits import Buckets
from oncemore.adapters.api.patience import LATE
from oncemore.adapters.api.problems import refusal
from oncemore.adapters.api.service import Service
from oncemore.adapters.errors import CallRefused, NoKey, NoRoute, OtherPlace, OutOfScope, TooLarge, TooMany, TooSlow
from oncemore.engine.errors import NotFound

log = logging.getLogger("oncemore.api")

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

MAX_BYTES: Final = 1024 * 1024
"""Of a body that is read as a whole."""

KEYED: Final = ("/v1/", "/access/", "/errors/", "/readyz", "/metrics", "/openapi.json")
"""Where a key is asked for; everything else below `/` is the page's, or is not there."""

HEADERS: Final = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cache-control": b"no-store",
}
"""What every answer carries that does not say otherwise itself."""

_HEADERS: Final = list(HEADERS.items())


class Doors:
    """The outermost part of the application.

    Args:
        straight: routes that are called without what lies between here and there, by path; they are posted to.
        streamed: paths whose routes bound what they read of a body themselves.
        ticks: seconds, never backwards.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        straight: Mapping[str, Route] = MappingProxyType({}),
        streamed: Collection[str] = (),
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._straight = straight
        self._streamed = frozenset(streamed)
        self._service = service
        configured = service.house.configuration.serve
        self._hosts = LOOPBACK | set(configured.hosts)
        self._origins = frozenset(configured.origins)
        self._failures = Buckets(configured.attempts / 60, configured.attempts, ticks)
        self._calls = Buckets(configured.rate, configured.rate, ticks)
        self._ticks = ticks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call, or whatever else the server says."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        begun = self._ticks()
        state: dict[str, Any] = scope.setdefault("state", {})
        try:
            await self._admit(scope, state)
            limited = receive if scope["path"] in self._streamed else _limited(scope, receive)
            route = self._straight.get(scope["path"]) if scope["method"] == "POST" else None
            if route is None:
                await self._app(scope, limited, answer.send)
            else:
                scope["route"] = route
                answered: Response = await route.endpoint(Request(scope, limited))
                await answered(scope, limited, answer.send)
        except (CallRefused, NotFound) as refused:
            await self._refuse(refused, answer, scope, receive)
        except ClientDisconnect:
            state["quiet"] = True  # nobody is there any more to be told anything
        except Exception as error:
            # Its text could hold somebody's words, and is not repeated.
            log.error("a call failed", extra={"error": type(error).__name__, "at": _place(error)})
            await self._refuse(error, answer, scope, receive)
        finally:
            self._tell(scope, state, answer.status, begun)

    async def _admit(self, scope: Scope, state: dict[str, Any]) -> None:
        """Let the call in, with its key where one is asked for.

        Raises:
            CallRefused: it stays outside.
        """
        path = scope["path"]
        headers = state["headers"] = _single(scope)
        if path == "/healthz":
            return
        if "\0" in path:
            raise NoRoute("nothing is at this address")  # nor is there a database that could look for it
        self._check_place(headers)
        if not path.startswith(KEYED):
            return
        address = scope["client"][0] if scope.get("client") else ""
        if path.startswith("/v1/sources/") and path.endswith("/events"):
            state["failed"] = lambda: self._failed(address)
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        keys = self._service.keys
        await self._service.know_keys()
        key = keys.check(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            self._failed(address)
            raise NoKey("this needs a key that is in force: `Authorization: Bearer om_...`")
        if (after := self._calls.take(key.id)) is not None:
            raise TooMany("too many calls with this key", after=after)
        if keys.used:
            self._service.note(keys.note_used)
        state["key"] = key

    def _failed(self, address: str) -> None:
        """A call of this address could not be believed. That is counted, and stands in the way of no good one: behind a
        proxy all callers have one address, and nobody guesses 256 bits, however often they try.

        Raises:
            TooMany: more of them than are answered one by one.
        """
        if (after := self._failures.take(address)) is not None:
            raise TooMany("too many calls of this address had no key that opens anything", after=after)

    def _check_place(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "").lower()
        if not (host in self._hosts or _name(host) in self._hosts):
            raise OtherPlace("this host is not one of ours; the operator adds it to `serve: hosts` of oncemore.yaml")
        origin = headers.get("origin")
        if origin is None or origin in self._origins:
            return
        if _place_of(origin) != host:
            raise OtherPlace("pages of that origin may not call; the operator adds it to `serve: origins`")

    async def _refuse(self, error: Exception, answer: _Answer, scope: Scope, receive: Receive) -> None:
        if not answer.status:
            await refusal(error)(scope, receive, answer.send)
        elif not answer.whole and not isinstance(error, (CallRefused, NotFound)):
            raise ConnectionAbortedError("the answer had begun")  # the server closes the connection

    def _tell(self, scope: Scope, state: dict[str, Any], status: int, begun: float) -> None:
        if status < 400 and (scope["method"] == "GET" or "quiet" in state):
            return
        key = state.get("key")
        log.log(
            logging.ERROR if status >= 500 else logging.INFO,
            "call",
            extra={
                "method": scope["method"],
                # The pattern, not what was called: an address can hold anything.
                "route": getattr(scope.get("route"), "path", None),
                "status": status,
                "ms": round((self._ticks() - begun) * 1_000, 1),
                "key": None if key is None else key.id,
            },
        )


class _Answer:
    """What goes out, with the headers that every answer carries."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.whole = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
            own = [name for name, _ in headers if name in HEADERS]
            headers += [(name, value) for name, value in HEADERS.items() if name not in own] if own else _HEADERS
            if self.status == TooSlow.status:
                # What is still to come would be read as another call.
                headers = [*headers, (b"connection", b"close")]
            message = {**message, "headers": headers}
        else:
            self.whole = not message.get("more_body", False)
        await self._send(message)


def key_of(request: Request) -> Key:
    """The key of a call that came in with one."""
    key = request.scope["state"]["key"]
    assert isinstance(key, Key)
    return key


def header(request: Request, name: str) -> str:
    """A header that decides something; empty where it stands twice, or not at all."""
    found: str = request.scope["state"]["headers"].get(name, "")
    return found


def reach(request: Request, *scopes: Reach) -> Key:
    """The call's key, which is for all of these.

    Raises:
        OutOfScope: it is not.
    """
    key = key_of(request)
    lacking = [scope for scope in scopes if scope not in key.scopes]
    if lacking:
        raise OutOfScope(f"this needs a key with the scope {' and '.join(lacking)}")
    return key


def limited(request: Request) -> Request:
    """The call again, whose body is read as long as it is not too large and in time.

    Raises:
        TooLarge: it says itself that it is.
    """
    return Request(request.scope, _limited(request.scope, request.receive))


def _limited(scope: Scope, receive: Receive) -> Receive:
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if length.isdigit() and int(length) > MAX_BYTES:
        raise TooLarge(f"the body has more than {MAX_BYTES} bytes")
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BYTES:
            raise TooLarge(f"the body has more than {MAX_BYTES} bytes")
        if message.get("more_body") and LATE in scope["state"]:
            raise TooSlow(
                "the body did not come whole in time; the operator's `serve: read_timeout` says how long that is"
            )
        return message

    return counted


def _single(scope: Scope) -> dict[str, str]:
    """The headers of a call by their small names; one that stands twice is empty: whoever passed the call on may have
    gone by the other one."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        said = name.decode("latin-1")
        found[said] = "" if said in found else value.decode("latin-1")
    return found


def _place_of(origin: str) -> str:
    """The host of an origin, with its port; empty where it has none or is no origin."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name(host: str) -> str:
    """A host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _place(error: BaseException) -> str:
    """Where an error came up, by file and line."""
    frames: Iterable[Any] = _frames(error)
    *_, last = frames
    return f"{last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno}"


def _frames(error: BaseException) -> Iterable[Any]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next
