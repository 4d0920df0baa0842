"""On what do the demo's scripted servers listen?"""

from __future__ import annotations

from http.server import ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """A server whose closing joins every handler."""

    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that left is no news."""
