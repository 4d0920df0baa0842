"""A Lark on the loopback that answers as its book has it, and fails as it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.adapters.feishu.book import HOUR, PAGE, Book, ReadFault, ReplyFault

__all__ = ["HOUR", "PAGE", "FakeLark", "ReadFault", "ReplyFault"]


class FakeLark(Book):
    """The server; use it as a context manager.

    Attributes:
        base_url: its address.
        calls: how often each kind was asked for: `token`, `read`, `list`, `reply`.
        seen: what came in, as method and path with its query.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.calls: Counter[str] = Counter()
        self.seen: list[str] = []
        self.ended = threading.Event()
        self._server = _Server(self)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, lark: FakeLark) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lark = lark

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        lark, path = self.server.lark, urlsplit(self.path).path
        with lark.lock:
            lark.seen.append(f"POST {self.path}")
            if path == "/open-apis/auth/v3/tenant_access_token/internal":
                lark.calls["token"] += 1
                return self.send(*lark.issue(json.loads(raw)))
            parts = path.removeprefix("/open-apis/im/v1/messages/").split("/")
            if len(parts) != 2 or parts[1] != "reply":
                return self.send(404, {"code": 404, "msg": "no such path"})
            lark.calls["reply"] += 1
            if (turned_away := self.unauthorised()) is not None:
                return self.send(*turned_away)
            fault = lark.faults.reply.popleft() if lark.faults.reply else None
            if fault == "limited":
                return self.limited()
            if fault == "lost":
                return self.reset()
            if fault == "5xx":
                return self.send(502, {})
            answer = lark.reply(parts[0], json.loads(raw), len(raw))
        return self.answered(fault, answer)

    def answered(self, fault: str | None, answer: tuple[int, dict[str, Any]]) -> None:
        """Answer a post that was carried out, as far as the fault lets us."""
        if fault == "applied-no-answer":
            return self.reset()
        if fault == "applied-slow":
            return self.silent()
        if fault == "applied-5xx":
            return self.send(504, {})
        if fault == "applied-garbled":
            return self.send(200, None)
        if fault == "applied-no-id":
            answer[1].get("data", {}).pop("message_id", None)
        return self.send(*answer)

    def do_GET(self) -> None:
        lark, split = self.server.lark, urlsplit(self.path)
        one = split.path.removeprefix("/open-apis/im/v1/messages").strip("/")
        with lark.lock:
            lark.seen.append(f"GET {self.path}")
            lark.calls["read" if one else "list"] += 1
            if (turned_away := self.unauthorised()) is not None:
                return self.send(*turned_away)
            fault = lark.faults.read.popleft() if lark.faults.read else None
            if fault in (None, "same-page"):
                answer = lark.read(one) if one else lark.listed(dict(parse_qsl(split.query)), fault == "same-page")
                return self.send(*answer)
        if fault == "limited":
            return self.limited()
        if fault == "no-answer":
            return self.reset()
        if fault == "slow":
            return self.silent()
        return self.send(502, {}) if fault == "5xx" else self.send(200, None)

    def unauthorised(self) -> tuple[int, dict[str, Any]] | None:
        """What a call without a good token is answered with."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or not token:
            return 400, {"code": 99991661, "msg": "Missing access token for authorization."}
        if self.server.lark.clock() >= self.server.lark.tokens.get(token, 0):
            return 400, {"code": 99991663, "msg": f"Invalid access token for authorization: {token}"}
        return None

    def limited(self) -> None:
        """Too many calls."""
        reset = self.server.lark.faults.reset
        self.send(429, {"code": 99991400, "msg": "request trigger frequency limit"}, reset)

    def send(self, status: int, answer: dict[str, Any] | None, reset: str | None = None) -> None:
        """Answer; None sends a page instead of JSON."""
        content = b"<html>" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if reset is not None:
            self.send_header("x-ogw-ratelimit-reset", reset)
        self.end_headers()
        self.wfile.write(content)

    def reset(self) -> None:
        """Hang up hard."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def silent(self) -> None:
        """Say nothing until everything ends."""
        self.server.lark.ended.wait(20)
        self.close_connection = True
