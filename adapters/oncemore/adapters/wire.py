"""How does Oncemore ask something of another machine over HTTP? Through one client that goes only where it was told.

It reads JSON from base addresses that stand in the operator's configuration, and nothing else: no redirect is
followed, no proxy or certificate setting is taken from the environment, a certificate is always checked, and an
answer that is slow or large is given up. An address found in content is never asked.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.engine.errors import Refused, Unreadable

if TYPE_CHECKING:
    import httpx

SECONDS = 5.0
BYTES = 8 * 1024 * 1024

# One leading slash, then visible ASCII that cannot end the path or be read as a second host.
_PATH = re.compile(r"/(?!/)[!-~]*\Z")
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "oncemore"}


class Wire:
    """The one outgoing client.

    Args:
        bases: the addresses that may be asked: `https://HOST[:PORT][/PREFIX]`, or `http://` on the loopback.
        seconds: for a whole call, from connecting to the answer's last byte.
        limit: bytes of an answer.

    Raises:
        ConfigurationRefused: a base is none of these.
    """

    def __init__(self, bases: Collection[str], *, seconds: float = SECONDS, limit: int = BYTES) -> None:
        for base in bases:
            _check_base(base)
        self._bases = frozenset(bases)
        self._seconds = seconds
        self._limit = limit
        self._lock = threading.Lock()
        self._made: httpx.Client | None = None

    def get_json(self, base: str, path: str) -> Any:
        """The JSON value at `base` + `path`.

        Raises:
            Refused: the base is not configured, or the path could lead elsewhere; nothing was sent.
            Unreadable: no answer, a late, large or redirected one, another status than 200, or no JSON.
        """
        if base not in self._bases:
            raise Refused("that address is not configured; nothing was sent")
        if not _PATH.match(path) or "\\" in path or "#" in path or ".." in path.split("?")[0].split("/"):
            raise Refused("that path is not a plain one below the configured address; nothing was sent")
        return _parse(self._get(base.rstrip("/") + path))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _client(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._made is None:
                self._made = httpx.Client(
                    trust_env=False,
                    follow_redirects=False,
                    timeout=self._seconds,
                    headers=_HEADERS,
                    # Each call connects anew, so that its deadline can cut its own connection and no other's.
                    limits=httpx.Limits(max_keepalive_connections=0),
                )
            return self._made

    def _get(self, url: str) -> bytes:
        import httpx

        client = self._client()
        with _deadline(self._seconds) as deadline:
            try:
                with client.stream("GET", url, extensions={"trace": deadline.trace}) as answer:
                    if answer.is_redirect:
                        raise Unreadable(f"{url} redirects, which is never followed")
                    if answer.status_code != 200:
                        raise Unreadable(f"{url} answered with status {answer.status_code}")
                    if answer.headers.get("Content-Encoding", "identity") != "identity":
                        raise Unreadable(f"{url} answered in an encoding that was not asked for")
                    content = self._content(answer, url)
            except httpx.HTTPError as error:
                why = f"within {self._seconds:g} s" if deadline.passed else f"({type(error).__name__}: {error})"
                raise Unreadable(f"{url} gave no whole answer {why}") from error
            if deadline.passed:
                raise Unreadable(f"{url} gave no whole answer within {self._seconds:g} s")
            return content

    def _content(self, answer: httpx.Response, url: str) -> bytes:
        content = bytearray()
        for chunk in answer.iter_raw():
            content += chunk
            if len(content) > self._limit:
                raise Unreadable(f"{url} answered with more than {self._limit} bytes")
        return bytes(content)


class _Deadline:
    """One moment for a whole call. The client's own limits are per read, and a trickle would renew them for ever."""

    def __init__(self) -> None:
        self.passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Learn the call's socket from the client as it connects."""
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        with self._lock:
            self._socket = details["return_value"].get_extra_info("socket")
            if self.passed:
                self._cut()

    def pass_(self) -> None:
        """Cut the call short."""
        with self._lock:
            self.passed = True
            self._cut()

    def _cut(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # closed already: the call is over


@contextmanager
def _deadline(seconds: float) -> Iterator[_Deadline]:
    deadline = _Deadline()
    timer = threading.Timer(seconds, deadline.pass_)
    timer.daemon = True
    timer.start()
    try:
        yield deadline
    finally:
        timer.cancel()
        timer.join()


def _check_base(base: str) -> None:
    refused = ConfigurationRefused(
        f"{base!r} is not an address to ask: write https://HOST, or http:// and a loopback address, "
        "without user, query or fragment"
    )
    try:
        parts = urlsplit(base)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise refused from None
    written = parts.netloc.lower().removesuffix(f":{port}")
    if parts.scheme not in ("http", "https") or not host or written.strip("[]") != host:
        raise refused
    if parts.query or parts.fragment or (parts.path and not _PATH.match(parts.path)) or not base.isascii():
        raise refused
    if parts.scheme == "http" and not _is_loopback(host):
        raise refused


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _parse(content: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(content.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the answer is not JSON ({error})") from error
