"""How does Oncemore ask something of another machine over HTTP? Through one client that goes only where it was told.

It exchanges JSON with base addresses that stand in the operator's configuration, and nothing else: no redirect is
followed, no proxy or certificate setting is taken from the environment, a certificate is always checked but where this
machine talks to itself, and an answer that is slow or large is given up. An address found in content is never asked.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode, urlsplit

from oncemore.adapters.errors import ConfigurationRefused
from oncemore.engine.errors import Refused, Uncertain, Unreadable

if TYPE_CHECKING:
    import httpx

SECONDS = 5.0
BYTES = 8 * 1024 * 1024

# One leading slash, then visible ASCII that cannot end the path or be read as a second host.
_PATH = re.compile(r"/(?!/)[!-~]*\Z")
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "oncemore"}
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?\Z")
# The message's own framing and address are not a caller's to change.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})


class NotSent(Refused):
    """No connection was made, so nothing was sent; another try may find somebody there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status. Content and headers may hold secrets and are not shown.

    Attributes:
        content: the JSON value; None where there is none, which only an error status or 204 may leave out.
        headers: by their names in lower case.
    """

    status: int
    content: Any | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


class _NoAnswer(Exception):
    """A call without a whole answer. `sent`: a part of the request may have arrived."""

    def __init__(self, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.sent = sent


class Wire:
    """The one outgoing client.

    Args:
        bases: the addresses that may be asked: `https://HOST[:PORT][/PREFIX]`, or `http://` on the loopback.
        seconds: for a whole call, from connecting to the answer's last byte.
        limit: bytes of an answer.
        self_signed: accept any certificate; for programs of this machine that make their own.

    Raises:
        ConfigurationRefused: a base is none of these, or is not on the loopback and `self_signed` was asked for.
    """

    def __init__(
        self, bases: Collection[str], *, seconds: float = SECONDS, limit: int = BYTES, self_signed: bool = False
    ) -> None:
        for base in bases:
            _check_base(base)
            if self_signed and not _is_loopback(urlsplit(base).hostname or ""):
                raise ConfigurationRefused(f"the certificate of {base!r} is always checked: it is not on the loopback")
        self._bases = frozenset(bases)
        self._seconds = seconds
        self._limit = limit
        self._verify = not self_signed
        self._lock = threading.Lock()
        self._made: httpx.Client | None = None

    def get_json(self, base: str, path: str) -> Any:
        """The JSON value at `base` + `path`.

        Raises:
            Refused: the base is not configured, or the path could lead elsewhere; nothing was sent.
            Unreadable: no answer, a late, large or redirected one, another status than 200, or no JSON.
        """
        answer = self.call(base, "GET", path)
        if answer.status != 200:
            raise Unreadable(f"{base.rstrip('/')}{path} answered with status {answer.status}")
        return answer.content

    def call(
        self,
        base: str,
        method: str,
        path: str,
        *,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to one request, whatever its status. `GET` is a read; every other method may have an effect.

        Args:
            body: a JSON value, sent as `application/json` unless `headers` name another type for it.
            query: appended to the path, escaped.

        Raises:
            Refused: the base is not configured, or the request is not one to send; nothing was sent.
            NotSent: (an effect) no connection was made; nothing was sent.
            Uncertain: (an effect) there was no whole JSON answer, so it may or may not have happened.
            Unreadable: (a read) there was no whole JSON answer.
        """
        url = self._url(base, path, query)
        if method not in _METHODS:
            raise Refused("that method is not one to send; nothing was sent")
        sent, content = _headers(headers or {}), None
        if body is not None:
            content = _written(body)
            sent.setdefault("content-type", "application/json")
        try:
            return self._exchange(method, url, sent, content)
        except _NoAnswer as lost:
            error = Unreadable if method == "GET" else Uncertain if lost.sent else NotSent
            raise error(str(lost)) from lost.__cause__

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
                    verify=self._verify,
                    timeout=self._seconds,
                    headers=_HEADERS,
                    # Each call connects anew, so that its deadline can cut its own connection and no other's.
                    limits=httpx.Limits(max_keepalive_connections=0),
                )
            return self._made

    def _url(self, base: str, path: str, query: Mapping[str, str] | None) -> str:
        if base not in self._bases:
            raise Refused("that address is not configured; nothing was sent")
        if not _PATH.match(path) or "\\" in path or "#" in path or ".." in path.split("?")[0].split("/"):
            raise Refused("that path is not a plain one below the configured address; nothing was sent")
        url = base.rstrip("/") + path
        if not query:
            return url
        return url + ("&" if "?" in path else "?") + urlencode(query, quote_via=quote)

    def _exchange(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> Answer:
        import httpx

        client = self._client()
        with _deadline(self._seconds) as deadline:
            extensions = {"trace": deadline.trace}
            try:
                with client.stream(method, url, headers=headers, content=content, extensions=extensions) as answer:
                    if answer.is_redirect:
                        raise _NoAnswer(f"{url} redirects, which is never followed")
                    if answer.headers.get("Content-Encoding", "identity") != "identity":
                        raise _NoAnswer(f"{url} answered in an encoding that was not asked for")
                    received = self._content(answer, url)
            except httpx.HTTPError as error:
                late = deadline.passed or isinstance(error, httpx.TimeoutException)
                why = f"within {self._seconds:g} s" if late else f"({type(error).__name__}: {error})"
                raise _NoAnswer(f"{url} gave no whole answer {why}", sent=deadline.sent) from error
            if deadline.passed:
                raise _NoAnswer(f"{url} gave no whole answer within {self._seconds:g} s")
        return Answer(answer.status_code, _parse(url, answer.status_code, received), dict(answer.headers))

    def _content(self, answer: httpx.Response, url: str) -> bytes:
        content = bytearray()
        for chunk in answer.iter_raw():
            content += chunk
            if len(content) > self._limit:
                raise _NoAnswer(f"{url} answered with more than {self._limit} bytes")
        return bytes(content)


class _Deadline:
    """One moment for a whole call. The client's own limits are per read, and a trickle would renew them for ever."""

    def __init__(self) -> None:
        self.passed = False
        self.sent = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Learn the call's socket from the client as it connects, and when it begins to send."""
        if event == "http11.send_request_headers.started":
            self.sent = True
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


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not _HEADER_NAME.match(name) or name.lower() in _OURS or not _HEADER_VALUE.match(value):
            # The value may be a secret, and is not repeated.
            raise Refused(f"the header {name!r} cannot be sent like that; nothing was sent")
        checked[name.lower()] = value
    return checked


def _written(body: object) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"the body cannot be written as JSON ({type(error).__name__}); nothing was sent") from None


def _parse(url: str, status: int, content: bytes) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    if status == 204 and not content:
        return None
    try:
        return json.loads(content.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        if status >= 400:
            return None  # often a page of something in between; the status says enough
        # The error's own attributes hold the content, which is not passed on.
        raise _NoAnswer(f"{url} answered with what is not JSON ({type(error).__name__})") from None
