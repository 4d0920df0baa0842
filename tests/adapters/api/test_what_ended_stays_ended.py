"""What ended stays ended: a key while a call of it goes on, a key or a level when the system's clock is set back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from tests.adapters.api.conftest import CONFIGURATION, NOON, Clock, World, opened

LINE = b'{"facts": {"turn.status": "running"}}\n'
HOUR = 3_600_000


class SetBack(Clock):
    """The system's clock can be set back; seconds pass all the same."""

    def ticks(self) -> float:
        return time.monotonic()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path, CONFIGURATION, SetBack()) as found:
        yield found


def test_a_stream_of_a_key_that_is_revoked_ends(world: World) -> None:
    keys = world.service.keys
    (key,) = [one for one in keys.listed() if one.name == "decide"]

    async def lines() -> AsyncIterator[bytes]:
        yield LINE
        await world.service.write(lambda: keys.revoke(key.id))
        for _ in range(5):
            yield LINE

    answer = world.call(
        "POST",
        "/v1/decide/batch?policy=retry-quota",
        key="decide",
        content=lines(),
        headers={"content-type": "application/x-ndjson"},
    )
    first, last = (json.loads(line) for line in answer.text.splitlines())
    assert "decisions" in first
    assert (last["problem"]["status"], last["problem"]["code"]) == (401, "A205")


def test_a_stream_of_a_key_that_runs_out_ends(world: World) -> None:
    _, token = world.service.keys.add("short", ["decide"], expires_at=NOON + HOUR)

    async def lines() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield LINE
            world.clock.ms += HOUR // 2

    async def called() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app), base_url="http://localhost") as client:
            headers = {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
            return await client.post("/v1/decide/batch", content=lines(), headers=headers)

    told = [json.loads(line) for line in asyncio.run(called()).text.splitlines()]
    assert ["problem" in one for one in told] == [False, False, True]


def test_a_key_that_ran_out_opens_nothing_when_the_clock_is_set_back(world: World) -> None:
    _, token = world.service.keys.add("short", ["read"], expires_at=NOON + HOUR)
    assert world.call("GET", "/v1/facts", key=token).status_code == 200
    world.clock.ms += HOUR
    assert world.call("GET", "/v1/facts", key=token).status_code == 401
    world.clock.ms = NOON
    assert world.call("GET", "/v1/facts", key=token).status_code == 401
    assert world.call("GET", "/v1/facts", key="read").status_code == 200


def test_nor_when_that_is_all_that_a_new_process_sees(world: World) -> None:
    _, token = world.service.keys.add("short", ["read"], expires_at=NOON + HOUR)
    world.clock.ms += HOUR
    world.ask("The journal takes the time.")
    world.clock.ms = NOON
    keys = type(world.service.keys)(world.service.house.journal, world.service.keys._pepper, world.clock)
    keys.refresh()
    assert keys.check(token) is None


def test_a_level_that_ended_is_not_told_again_when_the_clock_is_set_back(world: World) -> None:
    body = {"policy": "retry-quota", "level": "enforce", "why": "for an hour", "until": "1h"}
    assert world.post("/v1/levels", body).status_code == 200

    def told() -> tuple[str, str, str]:
        (line,) = [one for one in world.get("/v1/levels")["levels"] if one["policy"] == "retry-quota"]
        (shown,) = [one for one in world.get("/v1/policies")["policies"] if one["name"] == "retry-quota"]
        case = {"facts": {"turn.status": "running"}}
        decided = world.post("/v1/decide?levels=true&policy=retry-quota", case).json()["decisions"]
        return line["level"], shown["level"], decided[0]["level"]

    assert told() == ("enforce",) * 3
    world.clock.ms += HOUR
    before = told()
    assert "enforce" not in before
    world.ask("The journal takes the time.")
    world.clock.ms = NOON
    assert told() == before
