"""Where does the one outgoing client go, and what does it take as an answer? Against a real server on the loopback."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.adapters.wire import Wire
from oncemore.engine.errors import Refused, Unreadable

SHORT = 0.4


class Server(ThreadingHTTPServer):
    """Answers by path; `ended` lets the paths that never finish go."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ended = threading.Event()
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.base = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what these tests are about; anything else is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.server.headers.append(dict(self.headers))
        answer = getattr(self, self.path.split("?")[0].strip("/").replace("/", "_"), self.missing)
        try:
            answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def book(self) -> None:
        self.send(json.dumps({"calls": 1}).encode())

    def v1_book(self) -> None:
        self.book()

    def moved(self) -> None:
        self.send(b"{}", 302, Location="/book")

    def missing(self) -> None:
        self.send(b'{"calls": 0}', 404)

    def packed(self) -> None:
        self.send(b'{"calls": 1}', Content_Encoding="gzip")

    def page(self) -> None:
        self.send(b"<html>")

    def number(self) -> None:
        self.send(b'{"calls": NaN}')

    def deep(self) -> None:
        self.send(b"[" * 200_000)

    def cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"{")
        self.close_connection = True

    def large(self) -> None:
        self.send(b'"' + b"x" * 2000 + b'"')

    def endless(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.server.ended.is_set():
            self.wfile.write(b"400\r\n" + b" " * 1024 + b"\r\n")

    def silent(self) -> None:
        self.server.ended.wait(20)
        self.close_connection = True

    def trickle(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.server.ended.wait(0.02):
            self.wfile.write(b"x")

    def trickle_content(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not self.server.ended.wait(0.02):
            self.wfile.write(b" ")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


def test_a_configured_address_is_read(server: Server) -> None:
    with Wire([server.base]) as wire:
        assert wire.get_json(server.base, "/book?since=1") == {"calls": 1}
        assert wire.get_json(server.base, "/book") == {"calls": 1}
    assert server.paths == ["/book?since=1", "/book"]


def test_a_prefix_of_the_address_stands_before_the_path(server: Server) -> None:
    with Wire([server.base + "/v1"]) as wire:
        assert wire.get_json(server.base + "/v1", "/book") == {"calls": 1}
    assert server.paths == ["/v1/book"]


def test_an_address_that_is_not_configured_is_never_asked(server: Server) -> None:
    with Wire(["https://example.org"]) as wire, pytest.raises(Refused):
        wire.get_json(server.base, "/book")
    assert server.paths == []


@pytest.mark.parametrize(
    "path", ["book", "//example.org/", "/a/../b", "/..", "/a b", "/a\r\nX: y", "/a\\b", "/a#b", "/\u4e00", "", "/a\n"]
)
def test_a_path_that_could_lead_elsewhere_is_never_asked(server: Server, path: str) -> None:
    with Wire([server.base]) as wire, pytest.raises(Refused):
        wire.get_json(server.base, path)
    assert server.paths == []


@pytest.mark.parametrize(
    "base",
    [
        "http://example.org",
        "http://10.0.0.1",
        "http://127.0.0.1.example.org",
        "ftp://127.0.0.1",
        "https://",
        "https://name:word@example.org",
        "https://@example.org",
        "https://example.org?a=b",
        "https://example.org#a",
        "https://example.org:port",
        "https://[::1",
        "example.org",
        "",
    ],
)
def test_an_address_that_is_open_to_others_or_unclear_cannot_be_configured(base: str) -> None:
    with pytest.raises(ConfigurationRefused):
        Wire([base])


@pytest.mark.parametrize(
    "base",
    ["https://example.org", "https://Example.org:8443/api", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"],
)
def test_https_and_the_loopback_can_be_configured(base: str) -> None:
    Wire([base])


def test_a_redirect_is_not_followed(server: Server) -> None:
    with Wire([server.base]) as wire, pytest.raises(Unreadable, match="redirects"):
        wire.get_json(server.base, "/moved")
    assert server.paths == ["/moved"]


@pytest.mark.parametrize("path", ["/missing", "/packed", "/page", "/number", "/deep", "/cut"])
def test_what_is_no_whole_json_answer_is_unreadable(server: Server, path: str) -> None:
    with Wire([server.base]) as wire, pytest.raises(Unreadable):
        wire.get_json(server.base, path)


@pytest.mark.parametrize("path", ["/large", "/endless"])
def test_an_answer_beyond_the_limit_is_given_up(server: Server, path: str) -> None:
    with Wire([server.base], limit=2001) as wire, pytest.raises(Unreadable, match="more than 2001 bytes"):
        wire.get_json(server.base, path)


def test_an_answer_of_exactly_the_limit_is_taken(server: Server) -> None:
    with Wire([server.base], limit=2002) as wire:
        assert wire.get_json(server.base, "/large") == "x" * 2000


@pytest.mark.parametrize("path", ["/silent", "/trickle", "/trickle/content"])
def test_an_answer_that_does_not_end_in_time_is_given_up(server: Server, path: str) -> None:
    with Wire([server.base], seconds=SHORT) as wire, pytest.raises(Unreadable, match="gave no whole answer"):
        wire.get_json(server.base, path)


def test_a_call_after_one_that_was_given_up_is_answered(server: Server) -> None:
    with Wire([server.base], seconds=SHORT) as wire:
        with pytest.raises(Unreadable):
            wire.get_json(server.base, "/silent")
        assert wire.get_json(server.base, "/book") == {"calls": 1}


def test_nobody_listening_is_unreadable(server: Server) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as other:
        gone = f"http://127.0.0.1:{other.server_port}"
    with Wire([gone]) as wire, pytest.raises(Unreadable):
        wire.get_json(gone, "/book")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_of_the_environment_is_ignored(server: Server, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{closed.server_port}")
    with Wire([server.base]) as wire:
        assert wire.get_json(server.base, "/book") == {"calls": 1}
