"""How does a real runtime run without a provider? It talks to a model on the loopback that follows a script.

The model speaks the Responses interface (`POST …/responses`, server-sent events) and keeps a book of what it was asked.
`GET /book` gives the book to other processes, `GET /capacity` the state of its route. Nothing in its answers depends
on a clock or on chance.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self

from oncemore.adapters.demo.loopback import LoopbackServer
from oncemore.adapters.demo.replies import (
    HTTP_FAILURES,
    Call,
    Drop,
    Eof,
    Fail,
    Hang,
    Patch,
    Plan,
    Reply,
    Say,
    Script,
    Shell,
    Together,
    failed,
    half,
    opening,
    spoken,
    step,
)

__all__ = [
    "Call",
    "Drop",
    "Entry",
    "Eof",
    "Fail",
    "Hang",
    "ModelRequest",
    "Patch",
    "Plan",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Shell",
    "Together",
]

KEEP_ALIVE_SECONDS = 0.2
"""How often a hanging stream says that it is alive; also how soon it notices that the client left."""

CONTEXT_TAGS = ("<environment_context>", "<user_instructions>", "<permissions", "# AGENTS.md instructions")
"""How texts begin that a runtime adds in the user's name; nobody wrote them."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a runtime asked.

    Attributes:
        inputs: the texts of the user in order, without what the runtime adds in the user's name.
        tool_results_since_user: outputs of the tools called since the last of them, in order.
        tools: names of the tools offered.
    """

    inputs: tuple[str, ...]
    tool_results_since_user: tuple[str, ...]
    tools: frozenset[str]
    instructions: str

    @property
    def last_user(self) -> str:
        """The newest text of the user; empty when there is none."""
        return self.inputs[-1] if self.inputs else ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One request in the book."""

    number: int
    last_user: str
    inputs: tuple[str, ...]
    tool_results: tuple[str, ...]
    reply: str


class ScriptedModel:
    """A model on 127.0.0.1 that answers by a script; use it as a context manager.

    Attributes:
        capacity: what `GET /capacity` says as `state`; may be set while it runs.
    """

    def __init__(self, script: Callable[[ModelRequest], Script]) -> None:
        self.capacity = "available"
        self._script = script
        self._book: list[Entry] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()
        handler = type("BoundHandler", (_Handler,), {"model": self})
        self._server = LoopbackServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="scripted-model")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """What a runtime is configured with."""
        return f"{self.url}/v1"

    @property
    def calls(self) -> int:
        """How many requests it was asked so far, answered or not."""
        with self._changed:
            return len(self._book)

    @property
    def requests(self) -> tuple[Entry, ...]:
        """The book so far."""
        with self._changed:
            return tuple(self._book)

    def wait_for_calls(self, number: int, timeout: float = 30.0) -> bool:
        """Wait until it was asked so many times; whether that came within the seconds given."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._book) >= number, timeout)

    @property
    def closing(self) -> threading.Event:
        """Set when the model is about to end; a hanging stream ends with it."""
        return self._closing

    def answer(self, request: ModelRequest) -> tuple[Reply, str]:
        """What the script says to a request, entered in the book, and the seed of its ids."""
        reply = step(self._script(request), len(request.tool_results_since_user))
        with self._changed:
            number = len(self._book) + 1
            said = type(reply).__name__.lower()
            entry = Entry(number, request.last_user, request.inputs, request.tool_results_since_user, said)
            self._book.append(entry)
            self._changed.notify_all()
        return reply, f"{request.inputs}/{len(request.tool_results_since_user)}"


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel
    protocol_version = "HTTP/1.1"
    timeout = 5.0

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the book is the log."""

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/book":
                book = [asdict(entry) for entry in self.model.requests]
                self._json(200, {"calls": len(book), "requests": book})
            case "/capacity":
                self._json(200, {"state": self.model.capacity})
            case "/v1/models":
                self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            case _:
                self._json(404, {"error": {"message": "not here", "type": "invalid_request_error"}})

    def do_POST(self) -> None:
        body = self._body()
        if not self.path.partition("?")[0].endswith("/responses"):
            self._json(404, {"error": {"message": "not here", "type": "invalid_request_error"}})
            return
        request = read_request(json.loads(body))
        reply, seed = self.model.answer(request)
        try:
            self._say(reply, request.tools, seed)
        except OSError:
            self.close_connection = True

    def _say(self, reply: Reply, tools: frozenset[str], seed: str) -> None:
        if isinstance(reply, Fail) and reply.kind in HTTP_FAILURES:
            status, error = HTTP_FAILURES[reply.kind]
            self._json(status, {"error": error})
            return
        self._begin_stream()
        self._events([opening(seed)])
        match reply:
            case Fail(kind):
                self._events(failed(kind, seed))
            case Drop(text):
                self._events(half(text, seed))
                self._reset()
            case Eof(text):
                self._events(half(text, seed))
            case Hang(release, then):
                if self._keep_alive(release):
                    self._events(spoken(then, tools, seed))
            case _:
                self._events(spoken(reply, tools, seed))

    def _keep_alive(self, release: threading.Event) -> bool:
        while not release.wait(KEEP_ALIVE_SECONDS):
            if self.model.closing.is_set():
                return False
            self.wfile.write(b": waiting\n\n")
        return True

    def _events(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def _begin_stream(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()

    def _reset(self) -> None:
        # A lingering time of zero makes close() send a reset instead of an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _json(self, status: int, content: Mapping[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.close_connection = True
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """A request of the Responses interface as a script sees it."""
    inputs: list[str] = []
    results: list[str] = []
    for item in body.get("input", []):
        if item.get("type", "message") == "message" and item.get("role") == "user":
            texts = [text for text in _texts(item.get("content")) if not text.lstrip().startswith(CONTEXT_TAGS)]
            if texts:
                inputs.append("\n".join(texts))
                results.clear()
        elif str(item.get("type", "")).endswith("_call_output"):
            results.append("\n".join(_texts(item.get("output"))))
    tools = frozenset(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or [])
    return ModelRequest(tuple(inputs), tuple(results), tools, str(body.get("instructions") or ""))


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [str(part.get("text", "")) for part in content if isinstance(part, dict)]
    return []
