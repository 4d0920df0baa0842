"""No more of a body is read than its route takes, whatever the caller says that it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.adapters.api.conftest import Clock, World, opened
from tests.adapters.api.lark import configuration, set_secrets

from oncemore.adapters.api.doors import MAX_BYTES

PIECE = 64 * 1024


class Endless:
    """A body of which there is always more, up to eight times what is taken."""

    def __init__(self) -> None:
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.read < 8 * MAX_BYTES:
            self.read += PIECE
            yield b" " * PIECE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    set_secrets(monkeypatch)
    with opened(tmp_path, configuration("http://127.0.0.1:9"), Clock()) as found:
        yield found


@pytest.mark.parametrize(
    "kind", ["application/json", "application/x-ndjson", "application/x-ndjson; a=b", "text/plain"]
)
@pytest.mark.parametrize("key", ["all", None])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/sources/team/events",
        "/v1/sources/other/events",
        "/v1/decide",
        "/v1/requests",
        "/v1/levels",
        "/v1/breaker",
        "/access/v1/evaluation",
        "/login",
        "/breaker",
        "/nothing",
    ],
)
def test_whatever_its_type_a_body_is_not_read_beyond_what_is_taken(
    world: World, path: str, key: str | None, kind: str
) -> None:
    body = Endless()
    answer = world.call("POST", path, key=key, content=body, headers={"content-type": kind})
    assert 303 <= answer.status_code < 500
    assert body.read <= MAX_BYTES + 2 * PIECE


def test_a_batch_that_is_one_array_is_bounded_as_well(world: World) -> None:
    body = Endless()
    answer = world.call("POST", "/v1/decide/batch", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "A203")
    assert body.read <= MAX_BYTES + 2 * PIECE
    said = world.call("POST", "/v1/decide/batch", content=b" " * (MAX_BYTES + 1))
    assert said.status_code == 413


def test_a_stream_of_lines_has_any_length(world: World) -> None:
    body = Endless()
    lines = (b"\n".rjust(len(piece)) async for piece in body)
    answer = world.call("POST", "/v1/decide/batch", content=lines, headers={"content-type": "application/x-ndjson"})
    assert (answer.status_code, answer.text) == (200, "")
    assert body.read == 8 * MAX_BYTES
