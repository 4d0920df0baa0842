"""A call that does not come whole in time is given up: its body is refused with 408, and the connection closed."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.adapters.api.conftest import CONFIGURATION, World, opened, served

pytest.importorskip("h11")

WITHIN = "150ms"


@pytest.fixture(scope="module", params=["httptools", "h11"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    """Behind either of the two parts that read calls; which one it is depends on what is installed."""
    folder: Path = tmp_path_factory.mktemp("service")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "h11":
            patch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
        with (
            opened(folder, CONFIGURATION + f"serve: {{read_timeout: {WITHIN}}}\n") as world,
            served(world.service) as found,
        ):
            yield world, found


@contextmanager
def calling(address: str) -> Iterator[socket.socket]:
    host, _, port = address[7:].rpartition(":")
    with socket.create_connection((host, int(port)), 20) as caller:
        yield caller


def heard(caller: socket.socket) -> bytes:
    """All that is said until the connection is closed."""
    said = b""
    try:
        while more := caller.recv(65_536):
            said += more
    except ConnectionResetError:
        pass
    return said


def head(world: World, path: str, length: int, key: str = "all", kind: str = "application/json") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {world.tokens[key]}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize(
    "path",
    ["/v1/decide", "/v1/decide/batch", "/v1/requests", "/v1/levels", "/access/v1/evaluation", "/v1/requests/r-1/stop"],
)
def test_a_body_that_stalls_is_refused_as_a_problem(service: tuple[World, str], path: str) -> None:
    world, address = service
    with calling(address) as caller:
        caller.sendall(head(world, path, 100) + b'{"facts": ')
        said = heard(caller)
    first, _, body = said.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in first.lower()
    assert b"content-type: application/problem+json" in first.lower()
    problem = json.loads(body)
    assert (problem["status"], problem["code"], problem["type"]) == (408, "A213", "/errors/A213")


def test_a_body_that_drips_is_refused_however_often_something_comes(service: tuple[World, str]) -> None:
    world, address = service
    with calling(address) as caller:
        caller.sendall(head(world, "/v1/decide", 1_000_000))
        caller.settimeout(0.01)
        said, dripped = b"", 0
        while not said and dripped < 2_000:
            try:
                caller.sendall(b" ")
                dripped += 1
                said = caller.recv(65_536)
            except TimeoutError:
                continue
        assert said.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /hea", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "],
    ids=["nothing", "line", "header"],
)
def test_a_head_that_stalls_is_cut_off(service: tuple[World, str], begun: bytes) -> None:
    _, address = service
    with calling(address) as caller:
        caller.sendall(begun)
        assert heard(caller) == b""


def test_a_body_that_nobody_reads_keeps_no_connection(service: tuple[World, str]) -> None:
    _, address = service
    with calling(address) as caller:
        caller.sendall(b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        said = heard(caller)
    assert said.startswith(b"HTTP/1.1 401 ")
    assert said.count(b"HTTP/1.1") == 1


def test_a_connection_whose_calls_come_whole_lasts_longer_than_one_may_take(service: tuple[World, str]) -> None:
    world, address = service
    body = b'{"facts": {}}'
    with calling(address) as caller:
        for _ in range(3):
            caller.sendall(head(world, "/v1/decide?policy=retry-quota", len(body)) + body)
            assert caller.recv(65_536).startswith(b"HTTP/1.1 200 ")
            with calling(address) as other:
                assert heard(other) == b""  # so long a call that came then could have taken


def test_a_stream_of_lines_takes_its_time(service: tuple[World, str]) -> None:
    world, address = service
    line = b'{"facts": {}}\n'
    with calling(address) as caller:
        caller.sendall(
            head(world, "/v1/decide/batch?policy=retry-quota", 3 * len(line), kind="application/x-ndjson") + line
        )
        assert b'"outcome"' in until(caller, b'"outcome"')
        with calling(address) as other:
            assert heard(other) == b""
        for _ in range(2):
            caller.sendall(line)
            assert b'"outcome"' in until(caller, b'"outcome"')


def until(caller: socket.socket, wanted: bytes) -> bytes:
    """What is said until this stands in it, or nothing more comes."""
    said = b""
    while wanted not in said and (more := caller.recv(65_536)):
        said += more
    return said
