"""A page on the loopback that says whether there is room."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Page(ThreadingHTTPServer):
    """Answers every GET with one status and content, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.content: bytes = b"{}"
        self.asked: list[tuple[str, str]] = []
        self.base = f"http://127.0.0.1:{self.server_port}"

    def says(self, content: Any, status: int = 200) -> None:
        self.status, self.content = status, json.dumps(content).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Page

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output quiet."""

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)


@contextmanager
def page() -> Iterator[Page]:
    with Page() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
