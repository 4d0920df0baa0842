"""A header that decides something stands once: whoever passed the call on may have gone by the other one."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from tests.adapters.api.conftest import World


def called(world: World, *headers: tuple[str, str], method: str = "GET", content: bytes = b"") -> httpx.Response:
    async def call() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app)) as client:
            address = "http://localhost/v1/decide" if method == "POST" else "http://localhost/v1/levels"
            return await client.request(method, address, headers=list(headers), content=content)

    return asyncio.run(call())


@pytest.mark.parametrize("second", ["evil.example", "localhost"])
def test_two_hosts_are_none_of_ours(world: World, second: str) -> None:
    key = ("authorization", f"Bearer {world.tokens['read']}")
    assert called(world, key).status_code == 200
    answer = called(world, key, ("host", "localhost"), ("host", second))
    assert (answer.status_code, answer.json()["code"]) == (403, "A207")


@pytest.mark.parametrize("first", ["http://localhost", "https://evil.example"])
def test_two_origins_are_none_of_ours(world: World, first: str) -> None:
    key = ("authorization", f"Bearer {world.tokens['read']}")
    answer = called(world, key, ("origin", first), ("origin", "http://localhost"))
    assert (answer.status_code, answer.json()["code"]) == (403, "A207")


@pytest.mark.parametrize("second", ["read", "all"])
def test_two_keys_open_nothing(world: World, second: str) -> None:
    keys = [("authorization", f"Bearer {world.tokens[name]}") for name in ("read", second)]
    answer = called(world, *keys)
    assert (answer.status_code, answer.json()["code"]) == (401, "A205")


@pytest.mark.parametrize("second", ["text/plain", "application/json"])
def test_a_body_of_two_types_is_of_none(world: World, second: str) -> None:
    key = ("authorization", f"Bearer {world.tokens['decide']}")
    types = [("content-type", one) for one in ("application/json", second)]
    answer = called(world, key, *types, method="POST", content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (415, "A204")


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//[", "[", "http://localhost]"])
@pytest.mark.parametrize("path", ["/v1/levels", "/"])
def test_an_origin_that_is_none_is_of_another_place(world: World, origin: str, path: str) -> None:
    answer = world.call("GET", path, headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "A207")
