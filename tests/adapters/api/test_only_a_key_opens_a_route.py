"""Without a key, with one that is not in force, or with one for something else: nothing is read and nothing changed."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.api.conftest import World, opened, rows
from tests.adapters.api.document import FILE

from oncemore.adapters.api.keys import SCOPES, Keys, pepper, pepper_file
from oncemore.adapters.errors import ConfigurationRefused
from oncemore.engine.errors import Conflict, NotFound
from oncemore.engine.service_tables import ApiKey

SCOPE = {
    "POST /access/v1/evaluation": "decide",
    "GET /errors/{code}": "read",
    "GET /metrics": "read",
    "GET /readyz": "read",
    "GET /v1/breaker": "read",
    "POST /v1/breaker": "admin",
    "GET /v1/conversations/{workspace}": "read",
    "POST /v1/decide": "decide",
    "POST /v1/decide/batch": "decide",
    "GET /v1/decisions/{decision}": "read",
    "GET /v1/decisions/{decision}/explain": "read",
    "GET /v1/facts": "read",
    "GET /v1/levels": "read",
    "POST /v1/levels": "admin",
    "GET /v1/policies": "read",
    "GET /v1/policies/{policy}": "read",
    "GET /v1/requests": "read",
    "POST /v1/requests": "act",
    "GET /v1/requests/{request}": "read",
    "POST /v1/requests/{request}/act": "act",
    "POST /v1/requests/{request}/release": "act",
    "POST /v1/requests/{request}/stop": "act",
    "GET /openapi.json": "read",
}
"""Every route that takes a key, and what the key is for."""

BODIES = {
    "POST /access/v1/evaluation": {
        "subject": {"type": "agent", "id": "a"},
        "action": {"name": "continue_work"},
        "resource": {"type": "request", "id": "r"},
    },
    "POST /v1/breaker": {"change": "open", "why": "w"},
    "POST /v1/decide": {},
    "POST /v1/decide/batch": [{}],
    "POST /v1/levels": {"policy": "retry-quota", "level": "enforce", "why": "w"},
    "POST /v1/requests": {"workspace": "notes", "text": "Hello."},
    "POST /v1/requests/{request}/act": {"why": "w"},
    "POST /v1/requests/{request}/release": {"why": "w"},
    "POST /v1/requests/{request}/stop": {"why": "w"},
}

SECRET = "PLUM-CANARY of a person"


@pytest.fixture
def path(world: World) -> Any:
    """Paths that lead to something."""
    request = world.ask(SECRET)
    decision = world.post("/v1/decide?store=true", {}).json()["decisions"][0]["decision_id"]
    known = {"request": request, "decision": decision, "workspace": "notes", "policy": "retry-quota", "code": "A205"}
    return lambda label: re.sub(r"\{(\w+)\}", lambda found: known[found[1]], label.split(" ")[1])


def test_the_list_of_routes_is_whole() -> None:
    """What is asked below is asked of every route that there is."""
    paths = json.loads(FILE.read_text("utf-8"))["paths"]
    declared = {f"{method.upper()} {one}" for one, methods in paths.items() for method in methods}
    without = {"GET /healthz", "POST /v1/sources/{source}/events"}
    assert declared - without == set(SCOPE) - {"GET /openapi.json"}


@pytest.mark.parametrize("key", [None, "om_000000000000_" + "0" * 64, "om_short", "ümlaut"])
def test_without_a_key_no_route_tells_or_does_anything(world: World, path: Any, key: str | None) -> None:
    before = rows()
    for label in SCOPE:
        world.clock.ms += 60_000  # attempts are limited, which is another matter
        answer = world.call(label.split(" ")[0], path(label), key=key, json=BODIES.get(label))
        assert (answer.status_code, answer.json()["code"]) == (401, "A205"), label
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert SECRET not in answer.text and "retry-quota" not in answer.text
    assert rows() == before


def test_a_key_for_something_else_reads_and_changes_nothing(world: World, path: Any) -> None:
    before = rows()
    for label, scope in SCOPE.items():
        for other in set(SCOPES) - {scope}:
            answer = world.call(label.split(" ")[0], path(label), key=other, json=BODIES.get(label))
            assert (answer.status_code, answer.json()["code"]) == (403, "A206"), (label, other)
            assert SECRET not in answer.text
    assert rows() == before


def test_a_key_for_it_opens_each_route(world: World, path: Any) -> None:
    for label, scope in SCOPE.items():
        answer = world.call(label.split(" ")[0], path(label), key=scope, json=BODIES.get(label))
        # Nothing is measured in this world, and nothing is advised.
        expected = {"GET /metrics": 404, "POST /v1/requests/{request}/act": 409}.get(label)
        assert answer.status_code in ((200, 201) if expected is None else (expected,)), (label, answer.text)


def test_decisions_are_kept_only_by_a_key_that_may_act(world: World) -> None:
    before = rows()
    assert world.post("/v1/decide?store=true", {}, key="decide").status_code == 403
    assert rows() == before


def test_health_needs_no_key_and_says_nothing(world: World) -> None:
    answer = world.call("GET", "/healthz", key=None, headers={"host": "10.0.0.1"})
    assert (answer.status_code, answer.text) == (200, "ok\n")


def test_an_address_that_does_not_exist_tells_strangers_nothing(world: World) -> None:
    assert world.call("GET", "/v1/nothing", key=None).status_code == 401
    assert world.call("GET", "/v1/nothing").status_code == 404


def test_a_key_opens_nothing_after_its_end(world: World) -> None:
    _, world.tokens["short"] = world.service.keys.add("short", ["read"], expires_at=world.clock.ms + 5_000)
    assert world.call("GET", "/v1/facts", key="short").status_code == 200
    world.clock.ms += 5_000
    assert world.call("GET", "/v1/facts", key="short").status_code == 401


def test_a_revoked_key_opens_nothing_at_once(world: World) -> None:
    key, world.tokens["gone"] = world.service.keys.add("gone", ["read"])
    assert world.call("GET", "/v1/facts", key="gone").status_code == 200
    assert world.service.keys.revoke(key.id).revoked_at is not None
    assert world.call("GET", "/v1/facts", key="gone").status_code == 401


def test_a_key_that_another_process_revoked_opens_nothing_after_a_second(world: World) -> None:
    elsewhere = Keys(world.service.house.journal, pepper(pepper_file(world.service.house.configuration)), world.clock)
    key, world.tokens["gone"] = elsewhere.add("gone", ["read"])
    world.clock.ms += 1_000
    assert world.call("GET", "/v1/facts", key="gone").status_code == 200
    elsewhere.revoke(key.id)
    world.clock.ms += 1_000
    assert world.call("GET", "/v1/facts", key="gone").status_code == 401


def test_the_journal_holds_no_key(world: World) -> None:
    secret = world.tokens["all"].rpartition("_")[2]
    assert secret not in str(rows())
    assert ApiKey.get(ApiKey.name == "all").digest != secret


def test_the_digests_are_worth_nothing_without_the_pepper(world: World, tmp_path: Path) -> None:
    stranger = Keys(world.service.house.journal, b"\0" * 32, world.clock)
    stranger.refresh()
    assert stranger.check(world.tokens["all"]) is None


def test_it_is_kept_when_a_key_was_used_to_the_minute(world: World) -> None:
    def used() -> int | None:
        world.service.note(lambda: None)
        found = next(one for one in world.service.keys.listed() if one.name == "read")
        return found.used_at

    assert used() is None
    world.call("GET", "/v1/facts", key="read")
    world.call("GET", "/v1/facts", key="read")
    first = world.clock.ms
    world.service.close()
    assert used_at(world, "read") == first


def used_at(world: World, name: str) -> int | None:
    return next(one.used_at for one in world.service.keys.listed() if one.name == name)


def test_the_pepper_is_its_owners_alone(tmp_path: Path) -> None:
    with opened(tmp_path):
        file = tmp_path / "data" / "pepper"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)
    with pytest.raises(ConfigurationRefused, match="chmod 600"), opened(tmp_path):
        pass
    file.chmod(0o600)
    file.write_text("")
    with pytest.raises(ConfigurationRefused, match="does not hold the pepper"), opened(tmp_path):
        pass


def test_a_key_is_made_for_something(world: World) -> None:
    with pytest.raises(Conflict, match="scopes"):
        world.service.keys.add("nothing", [])
    with pytest.raises(Conflict, match="name"):
        world.service.keys.add(" ", ["read"])
    with pytest.raises(NotFound, match="no key"):
        world.service.keys.revoke("000000000000")
