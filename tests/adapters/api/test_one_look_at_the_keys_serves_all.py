"""However many calls come in, what another process did to the keys is read once in a while, not once for each call."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from tests.adapters.api.conftest import World

from oncemore.adapters.api.keys import REFRESH_MS


@pytest.fixture
def looks(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The times at which the keys were read."""
    found: list[int] = []
    refresh = world.service.keys.refresh

    def counted() -> None:
        found.append(world.clock.ms)
        refresh()

    monkeypatch.setattr(world.service.keys, "refresh", counted)
    return found


async def calls(world: World, count: int) -> list[int]:
    headers = {"authorization": f"Bearer {world.tokens['decide']}", "content-type": "application/json"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app), base_url="http://localhost") as client:
        made = [client.post("/v1/decide", headers=headers, content=b'{"facts":{}}') for _ in range(count)]
        return [answer.status_code for answer in await asyncio.gather(*made)]


def test_calls_that_come_together_wait_for_the_same_look(world: World, looks: list[int]) -> None:
    world.clock.ms += REFRESH_MS
    assert asyncio.run(calls(world, 32)) == [200] * 32
    assert len(looks) == 1


def test_a_look_that_will_be_due_soon_is_taken_while_calls_go_on(world: World, looks: list[int]) -> None:
    async def story() -> None:
        assert await calls(world, 1) == [200]
        world.clock.ms += REFRESH_MS - 1
        # This one does not wait for the keys, and has them read.
        assert await calls(world, 1) == [200]
        task = world.service._keys_read
        assert task is not None
        await task
        world.clock.ms += 1
        assert await calls(world, 8) == [200] * 8

    asyncio.run(story())
    assert len(looks) == 2


def test_a_key_that_is_revoked_during_a_look_opens_nothing_after_it(world: World) -> None:
    key, world.tokens["decide"] = world.service.keys.add("other", ["decide"])
    refresh = world.service.keys.refresh

    async def story() -> list[int]:
        first = asyncio.ensure_future(calls(world, 1))
        await asyncio.sleep(0)
        world.service.keys.revoke(key.id)
        await first
        return await calls(world, 1)

    refresh()
    world.clock.ms += REFRESH_MS
    assert asyncio.run(story()) == [401]
