"""U+0000 is refused alike on either database, wherever it stands, and leaves no row."""

from __future__ import annotations

import re

import pytest
from tests import postgres
from tests.adapters.api.conftest import World, rows

pytestmark = postgres.both


@pytest.mark.parametrize("text", ["a\0b", "/status \0", "/stop\0"])
def test_a_message_with_it_is_refused(world: World, text: str) -> None:
    before = rows()
    answer = world.post("/v1/requests", {"workspace": "notes", "text": text, "message": "m-1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "E202")
    assert rows() == before


def test_a_reason_with_it_is_refused(world: World) -> None:
    before = rows()
    answer = world.post("/v1/levels", {"policy": "retry-quota", "level": "shadow", "why": "a\0b"})
    assert (answer.status_code, answer.json()["code"]) == (409, "E202")
    assert rows() == before


def test_or_is_kept_where_it_can_be(world: World) -> None:
    request = world.ask()
    for step in ("release", "stop"):
        assert world.post(f"/v1/requests/{request}/{step}", {"why": "a\0b"}).status_code == 200
    assert world.get(f"/v1/requests/{request}")["state"] == "stopped"


@pytest.mark.parametrize(
    "path", ["/requests/%00", "/decisions/%00", "/policies/%00", "/v1/requests/%00", "/v1/conversations/%00", "/%00"]
)
def test_nothing_is_at_an_address_with_it(world: World, path: str) -> None:
    assert world.call("GET", path).status_code == 404


@pytest.mark.parametrize("step", ["act", "stop", "release"])
def test_nothing_is_done_at_an_address_with_it(world: World, step: str) -> None:
    def token(html: str) -> str:
        found = re.search(r'name="token" value="([0-9a-f]{64})"', html)
        assert found is not None
        return found[1]

    door = world.call("GET", "/login", key=None)
    form = {"key": world.tokens["all"], "token": token(door.text)}
    cookie = {"cookie": door.headers["set-cookie"].split(";")[0]}
    inside = world.call("POST", "/login", key=None, headers=cookie, data=form)
    (session,) = [one for one in inside.headers.get_list("set-cookie") if one.startswith("oncemore_session=")]
    cookie = {"cookie": session.split(";")[0]}
    page = world.call("GET", f"/requests/{world.ask()}", key=None, headers=cookie)
    sent = {"token": token(page.text), "why": "because", "policy": "\0"}
    assert world.call("POST", f"/requests/%00/{step}", key=None, headers=cookie, data=sent).status_code == 404
