"""How does one process serve the API and the page, and work, until it is told to stop?"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, Final, cast

import uvicorn

from oncemore.adapters.api.app import application
from oncemore.adapters.api.keys import SCOPES
from oncemore.adapters.api.patience import Patient, patient_h11
from oncemore.adapters.api.service import Service
from oncemore.adapters.api.working import Work
from oncemore.engine.context import Context
from oncemore.engine.reloading import PolicyWatch
from oncemore.engine.worker import Worker

HEAD_BYTES: Final = 64 * 1024
"""Of a call's first line and headers, or of what stands around the pieces of its body."""

TOGETHER_BYTES: Final = 64 * 1024
"""Most of an answer that waits to be sent together; what does not go out must be noticed as such."""

GRACE_SECONDS: Final = 10
"""How long calls that are being answered may take once the service stops."""


def serve(
    service: Service,
    context: Context,
    listening: socket.socket,
    *,
    watch: PolicyWatch | None = None,
    stopping: Callable[[], None] = lambda: None,
    signals: bool = True,
) -> None:
    """Serve and work until SIGINT or SIGTERM; a Turn that runs ends first, and a second signal does not wait for it.

    Args:
        context: holds the journal's worker lock.
        listening: closed afterwards.
        watch: follows the folder of policies.
        stopping: told of the first signal.
        signals: react to them; only the main thread can.
    """
    poll = service.house.configuration.worker.poll
    work = service.worker = Work(service.house.journal, Worker(context, poll, watch, service.house.retention()))
    server = server_of(service)
    work.start()
    try:
        gc.freeze()  # what is there from the start is never garbage, and need not be looked through again and again
        following = nullcontext() if watch is None else watch.followed()
        with following, _until_told(server, stopping) if signals else _untold():
            server.run(sockets=[listening])
            work.stop()
            _wait(work)
    finally:
        listening.close()
        work.stop()


def server_of(service: Service) -> uvicorn.Server:
    """The server, which leaves signals to us."""
    return _Server(
        uvicorn.Config(
            application(service),
            http=_protocol(service.house.configuration.serve.read_timeout / 1_000),
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            # Whom a proxy names as the caller is its word; limits count by who really connects.
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """The socket that calls come in by.

    Raises:
        OSError: the address is not to be had; names it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None


def first_key(service: Service) -> str | None:
    """A key for everything, where there never was one; None where there was. The calling thread is connected."""
    if service.keys.listed():
        return None
    _, token = service.keys.add("first", SCOPES)
    return token


def _protocol(within: float) -> Any:
    """What reads calls, each within so many seconds: httptools, where it is installed, with a limit for heads, which it
    lacks."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return patient_h11(within)

    class Bounded(Patient, HttpToolsProtocol):
        seconds = within
        coming = False
        """A call has begun and is not whole."""

        kept = 0
        """Bytes that came since the last that had a use: they are kept until a head is whole."""

        def whole(self) -> bool:
            return not self.coming

        def on_message_begin(self) -> None:
            self.coming = True
            self.begins()  # also where it came together with the end of the call before
            super().on_message_begin()

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(cast(asyncio.Transport, _Together(transport, self.loop)))

        def data_received(self, data: bytes) -> None:
            self.kept += len(data)
            super().data_received(data)
            if self.kept > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the call is too large.")

        def on_headers_complete(self) -> None:
            self.kept = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.kept = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self.kept = 0
            self.coming = False
            super().on_message_complete()

    return Bounded


class _Together:
    """A connection that sends together what is written to it in one step: an answer's head and its body are two."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send it, at the latest when this step of the loop is over."""
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        self._size += len(data)
        if self._size > TOGETHER_BYTES:
            self._send()

    def close(self) -> None:
        """Send what is written, then close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if held:
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """What is to be done on a signal is more than to stop the server."""
        yield


@contextmanager
def _untold() -> Iterator[None]:
    yield


@contextmanager
def _until_told(server: uvicorn.Server, stopping: Callable[[], None]) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def told(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True
        restore()
        stopping()

    for number in before:
        signal.signal(number, told)
    try:
        yield
    finally:
        restore()


def _wait(work: threading.Thread) -> None:
    """Until the work has ended; in small steps, so that a signal is noticed."""
    while work.is_alive():
        work.join(0.2)
