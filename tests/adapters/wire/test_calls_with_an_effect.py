"""What is known of a call that may have changed something? Against a real server on the loopback."""

from __future__ import annotations

import json
import socket
import struct
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.wire import NotSent, Wire
from oncemore.engine.errors import OncemoreError, Refused, Uncertain, Unreadable

CANARY = "canary-4f1e"


class Server(ThreadingHTTPServer):
    """Keeps what was asked; `ended` lets the paths that never finish go."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ended = threading.Event()
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.base = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.command, self.path, headers, body))
        getattr(self, "at_" + self.path.split("?")[0].strip("/"))()

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def at_done(self) -> None:
        self.send(b'{"done": true}', X_Request="7")

    def at_busy(self) -> None:
        self.send(b'{"code": 9}', 429, Retry_After="3")

    def at_broken(self) -> None:
        self.send(b"<html>", 502)

    def at_nothing(self) -> None:
        self.send(b"", 204)

    def at_page(self) -> None:
        self.send(b"<html>")

    def at_empty(self) -> None:
        self.send(b"")

    def at_moved(self) -> None:
        self.send(b"{}", 307, Location="/done")

    def at_large(self) -> None:
        self.send(b'"' + b"x" * 3000 + b'"')

    def at_reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def at_silent(self) -> None:
        self.server.ended.wait(20)
        self.close_connection = True


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def closed() -> str:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        return f"http://127.0.0.1:{other.server_port}"


def test_a_body_goes_out_as_json_with_the_headers_given(server: Server) -> None:
    with Wire([server.base]) as wire:
        answer = wire.call(server.base, "POST", "/done", body={"text": "一 two"}, headers={"X-Token": "word"})
    method, path, headers, body = server.asked[0]
    assert (method, path, json.loads(body)) == ("POST", "/done", {"text": "一 two"})
    assert (headers["content-type"], headers["x-token"]) == ("application/json", "word")
    assert (answer.status, answer.content, answer.headers["x-request"]) == (200, {"done": True}, "7")


def test_a_body_may_have_a_type_of_its_own(server: Server) -> None:
    with Wire([server.base]) as wire:
        wire.call(server.base, "POST", "/done", body={}, headers={"Content-Type": "application/json; charset=utf-8"})
    assert server.asked[0][2]["content-type"] == "application/json; charset=utf-8"


def test_a_query_is_escaped(server: Server) -> None:
    with Wire([server.base]) as wire:
        wire.call(server.base, "GET", "/done", query={"page": "a&b=c d/"})
        wire.call(server.base, "GET", "/done?x=1", query={"y": "2"})
    assert [path for _, path, _, _ in server.asked] == ["/done?page=a%26b%3Dc%20d%2F", "/done?x=1&y=2"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_status_is_told_and_not_judged(server: Server, method: str) -> None:
    with Wire([server.base]) as wire:
        answer = wire.call(server.base, method, "/busy")
        assert (answer.status, answer.content, answer.headers["retry-after"]) == (429, {"code": 9}, "3")
        assert (
            wire.call(server.base, method, "/broken").status,
            wire.call(server.base, method, "/nothing").status,
        ) == (
            502,
            204,
        )


@pytest.mark.parametrize("path", ["/page", "/empty", "/moved", "/large", "/reset", "/silent"])
def test_an_effect_without_a_whole_answer_is_uncertain(server: Server, path: str) -> None:
    with Wire([server.base], seconds=0.5, limit=2000) as wire, pytest.raises(Uncertain):
        wire.call(server.base, "POST", path, body={})
    assert [asked for _, asked, _, _ in server.asked] == [path]


@pytest.mark.parametrize("path", ["/page", "/empty", "/moved", "/large", "/reset", "/silent"])
def test_a_read_without_a_whole_answer_is_unreadable(server: Server, path: str) -> None:
    with Wire([server.base], seconds=0.5, limit=2000) as wire, pytest.raises(Unreadable):
        wire.call(server.base, "GET", path)


def test_an_effect_that_reached_nobody_was_not_sent(closed: str) -> None:
    with Wire([closed]) as wire:
        with pytest.raises(NotSent):
            wire.call(closed, "POST", "/done", body={})
        with pytest.raises(Unreadable):
            wire.call(closed, "GET", "/done")


def test_an_effect_that_no_trusted_certificate_answers_for_was_not_sent(server: Server) -> None:
    base = server.base.replace("http:", "https:")
    with Wire([base]) as wire, pytest.raises(NotSent):
        wire.call(base, "POST", "/done", body={})
    assert server.asked == []


def test_an_effect_elsewhere_than_configured_is_never_asked_for(server: Server) -> None:
    with Wire(["https://example.org"]) as wire, pytest.raises(Refused):
        wire.call(server.base, "POST", "/done", body={})
    with Wire([server.base]) as wire, pytest.raises(Refused):
        wire.call(server.base, "BREW", "/done")
    assert server.asked == []


@pytest.mark.parametrize(
    "headers",
    [{"X-Token": f"{CANARY}\r\nHost: a"}, {"X-Token": CANARY + "一"}, {"X-Token": ""}, {"Host": "a"}, {"a b": "c"}],
)
def test_a_header_that_could_change_the_request_is_not_sent_and_not_repeated(
    server: Server, headers: dict[str, str]
) -> None:
    with Wire([server.base]) as wire, pytest.raises(Refused) as caught:
        wire.call(server.base, "POST", "/done", headers=headers)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert server.asked == []


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": {1, 2}}, {"a": "\ud800"}])
def test_a_body_that_is_no_json_is_not_sent(server: Server, body: object) -> None:
    with Wire([server.base]) as wire, pytest.raises(Refused):
        wire.call(server.base, "POST", "/done", body=body)
    assert server.asked == []


@pytest.mark.parametrize("path", ["/page", "/reset", "/silent", "/moved"])
def test_a_failure_shows_neither_headers_nor_body(server: Server, path: str) -> None:
    with Wire([server.base], seconds=0.5) as wire, pytest.raises(OncemoreError) as caught:
        wire.call(server.base, "POST", path, body={"secret": CANARY}, headers={"Authorization": f"Bearer {CANARY}"})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_an_answer_is_shown_without_what_it_holds(server: Server) -> None:
    with Wire([server.base]) as wire:
        assert "done" not in repr(wire.call(server.base, "GET", "/done"))


def test_a_certificate_goes_unchecked_on_the_loopback_alone() -> None:
    Wire(["https://127.0.0.1:1", "https://localhost:2"], self_signed=True)
    for base in ("https://example.org", "https://127.0.0.1.example.org"):
        with pytest.raises(ConfigurationRefused):
            Wire([base], self_signed=True)
