"""What comes in and never becomes a call is not kept without end: a first line, headers, what stands behind a body."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.adapters.api.conftest import opened, served

from oncemore.adapters.api.serving import HEAD_BYTES

MOST = 4 * 1024 * 1024
"""What is sent when nobody says stop."""

CHUNKED = b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("service")
    with opened(folder) as world, served(world.service) as found:
        yield found


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"a"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: aaaaaaaaaaa\r\n"),
        (CHUNKED + b"0\r\nX: ", b"a"),
        (CHUNKED + b"0\r\n", b"X: aaaaaaaaaaa\r\n"),
        (CHUNKED + b"1;a=", b"a"),
    ],
    ids=["line", "header", "headers", "trailer", "trailers", "extension"],
)
def test_it_is_cut_off(address: str, begin: bytes, more: bytes) -> None:
    piece = more * (HEAD_BYTES // len(more))
    sent = 0
    with socket.create_connection((address[7:].split(":")[0], int(address.rpartition(":")[2])), 10) as caller:
        try:
            caller.sendall(begin)
            while sent < MOST:
                caller.sendall(piece)
                sent += len(piece)
            caller.settimeout(2)
            while caller.recv(65_536):
                pass
        except ConnectionError:
            pass
    assert httpx.get(f"{address}/healthz").text == "ok\n"
    assert sent < MOST


def test_a_head_of_any_usual_size_is_read(address: str) -> None:
    headers = {f"x-{number}": "a" * 1_000 for number in range(40)}
    assert httpx.get(f"{address}/healthz", headers=headers).text == "ok\n"
