"""Hosts, origins, content types, sizes, attempts: refused before anything of a call is read."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.adapters.api.conftest import CONFIGURATION, World, opened, rows

from oncemore.adapters.api.doors import MAX_BYTES
from oncemore.adapters.errors import ConfigurationInvalid


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8711", ""])
def test_another_host_is_none_of_ours(world: World, host: str) -> None:
    answer = world.call("GET", "/v1/facts", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "A207")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8711", "LOCALHOST:8711"])
def test_the_loopback_is(world: World, host: str) -> None:
    assert world.call("GET", "/v1/facts", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "https://localhost:8711.evil"]
)
def test_pages_of_another_origin_may_not_call(world: World, origin: str) -> None:
    before = rows()
    answer = world.post("/v1/requests", {"workspace": "notes", "text": "x"}, headers={"origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "A207")
    assert rows() == before


def test_pages_of_our_own_may(world: World) -> None:
    answer = world.call("GET", "/v1/facts", headers={"origin": "http://localhost:8711"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_hosts_and_origins_are_the_operators(tmp_path: Path) -> None:
    more = "serve: {hosts: [oncemore.example], origins: ['https://desk.example']}\n"
    with opened(tmp_path, CONFIGURATION + more) as world:
        headers = {"host": "oncemore.example", "origin": "https://desk.example"}
        assert world.call("GET", "/v1/facts", headers=headers).status_code == 200
        assert world.call("GET", "/v1/facts", headers={"host": "other.example"}).status_code == 403


@pytest.mark.parametrize(
    "serve",
    [
        "{hosts: [UPPER.example]}",
        "{hosts: ['http://a.example']}",
        "{origins: [a.example]}",
        "{port: 65536}",
        "{rate: 0}",
    ],
)
def test_how_the_service_is_reached_is_checked(tmp_path: Path, serve: str) -> None:
    with pytest.raises(ConfigurationInvalid), opened(tmp_path, f"{CONFIGURATION}serve: {serve}\n"):
        pass


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize(
    "path", ["/v1/decide", "/v1/decide/batch", "/v1/requests", "/v1/levels", "/access/v1/evaluation"]
)
def test_only_json_is_taken_for_json(world: World, path: str, kind: str) -> None:
    answer = world.call("POST", path, content=b"{}", headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "A204")


@pytest.mark.parametrize("path", ["/v1/decide", "/v1/requests"])
def test_a_body_that_is_too_large_is_not_read(world: World, path: str) -> None:
    answer = world.call("POST", path, content=b" " * (MAX_BYTES + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "A203")


def test_nor_is_one_that_does_not_say_how_large_it_is(world: World) -> None:
    async def pieces() -> object:
        for _ in range(20):
            yield b" " * (MAX_BYTES // 16)

    answer = world.call("POST", "/v1/requests", content=pieces())
    assert (answer.status_code, answer.json()["code"]) == (413, "A203")


def test_wrong_keys_of_one_address_are_limited_and_keep_out_no_good_one(tmp_path: Path) -> None:
    with opened(tmp_path, f"{CONFIGURATION}serve: {{attempts: 3}}\n") as world:
        for _ in range(3):
            assert world.call("GET", "/v1/facts", key="om_wrong").status_code == 401
        refused = world.call("GET", "/v1/facts", key="om_wrong")
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, "A208", "20")
        assert world.call("GET", "/v1/facts").status_code == 200
        world.clock.ms += 20_000
        assert world.call("GET", "/v1/facts", key="om_wrong").status_code == 401
        assert world.call("GET", "/v1/facts", key="om_wrong").status_code == 429
        assert world.call("GET", "/v1/facts").status_code == 200


def test_calls_of_one_key_are_limited_and_of_another_are_not(tmp_path: Path) -> None:
    with opened(tmp_path, f"{CONFIGURATION}serve: {{rate: 2}}\n") as world:
        answers = [world.call("GET", "/v1/facts", key="read").status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        assert world.call("GET", "/v1/facts", key="all").status_code == 200
        world.clock.ms += 500
        assert world.call("GET", "/v1/facts", key="read").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/v1/facts", "/v1/nothing", "/nothing"])
def test_every_answer_carries_what_keeps_browsers_from_harm(world: World, path: str) -> None:
    headers = world.call("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] in ("no-store", "private, no-cache")
    assert "server" not in headers


def test_an_unknown_parameter_is_not_passed_over(world: World) -> None:
    for path in ("/v1/requests?stat=open", "/v1/facts?x=1", "/v1/requests?state=open&state=all"):
        answer = world.call("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (422, "A202"), path
        assert answer.json()["errors"][0]["parameter"] in ("stat", "x", "state")


def test_a_method_that_is_not_there_names_those_that_are(world: World) -> None:
    answer = world.call("DELETE", "/v1/decide")
    assert (answer.status_code, answer.headers["allow"], answer.json()["code"]) == (405, "POST", "A209")


@pytest.mark.parametrize("path", ["/v1/decide", "/v1/requests", "/v1/decide/batch"])
def test_a_caller_who_leaves_in_the_middle_leaves_nothing(
    world: World, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = rows()
    sent = []
    messages = iter([{"type": "http.request", "body": b'{"facts"', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, object]:
        return next(messages)

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    kind = b"application/x-ndjson" if path.endswith("batch") else b"application/json"
    headers = [(b"host", b"localhost"), (b"content-type", kind)]
    headers.append((b"authorization", f"Bearer {world.tokens['all']}".encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
    }
    asyncio.run(world.app(scope, receive, send))  # type: ignore[arg-type]
    assert not any(message.get("status") == 500 for message in sent)
    assert not [record for record in caplog.records if record.name == "oncemore.api"]
    assert rows() == before
