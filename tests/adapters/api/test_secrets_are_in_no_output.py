"""What people wrote is told to those who may read it, and to nobody else; keys and secrets are told to nobody."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.adapters.api.conftest import World, rows
from tests.adapters.api.test_only_a_key_opens_a_route import BODIES, SCOPE

from oncemore.adapters.api.logs import logged
from oncemore.adapters.cli.commands import cli
from oncemore.engine.tables import Text

CANARY = "PLUM-CANARY-7391"


def keys_of(world: World) -> list[str]:
    return [token.rpartition("_")[2] for token in world.tokens.values()]


def test_words_reach_readers_alone(world: World) -> None:
    request = world.ask(f"Please look at {CANARY}.", message="m-1")
    world.post(f"/v1/requests/{request}/stop", {"why": f"because of {CANARY}"})
    told = [world.call("GET", path).text for path in (f"/v1/requests/{request}", "/v1/conversations/notes")]
    assert all(CANARY in one for one in told)
    for label in SCOPE:
        method, path = label.split(" ")
        path = path.replace("{request}", request).replace("{workspace}", "notes").replace("{policy}", "retry-quota")
        for key in ("decide", "act", "admin", None):
            world.clock.ms += 10_000
            answer = world.call(method, path, key=key, json=BODIES.get(label))
            assert CANARY not in answer.text + str(answer.headers), (label, key)


def test_refusals_do_not_repeat_what_was_refused(world: World) -> None:
    world.post("/v1/requests", {"workspace": "notes", "text": CANARY, "message": "m-1"})
    refused = [
        world.post("/v1/requests", {"workspace": "notes", "text": f"other {CANARY}", "message": "m-1"}),
        world.post("/v1/requests", {"workspace": "notes", "text": CANARY * 20_000}),
        world.post("/v1/requests", {"workspace": "notes", "text": [CANARY]}),
        world.call("POST", "/v1/requests", content=f'{{"text": "{CANARY}", "text": 1}}'.encode()),
        world.call("POST", "/v1/requests", content=f'{{"text": "{CANARY}'.encode()),
        world.call("GET", f"/v1/requests?cursor={CANARY}"),
        world.call("GET", f"/v1/{CANARY}"),
        world.call("GET", "/v1/facts", key=f"om_{CANARY}"),
    ]
    for answer in refused:
        assert answer.status_code >= 400
        assert CANARY not in answer.text + str(answer.headers)


def test_no_answer_holds_a_key(world: World) -> None:
    for label in SCOPE:
        method, path = label.split(" ")
        answer = world.call(method, path, json=BODIES.get(label))
        for secret in keys_of(world):
            assert secret not in answer.text + str(answer.headers), label


def test_the_log_holds_neither_words_nor_keys(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ValueError(f"cannot read {CANARY}")

    with logged():
        request = world.ask(f"Please look at {CANARY}.")
        world.post(f"/v1/requests/{request}/stop", {"why": CANARY})
        world.call("GET", f"/v1/{CANARY}?{CANARY}={CANARY}")
        world.call("POST", "/v1/requests", content=f'{{"text": "{CANARY}'.encode())
        world.call("GET", "/v1/facts", key=world.tokens["all"] + CANARY)
        world.service.rules = None  # type: ignore[assignment]
        failed = world.call("GET", "/v1/policies")
        try:
            broken()
        except ValueError:
            logging.getLogger("oncemore.worker").exception("a step failed", extra={"request": request})
    written = capsys.readouterr().err
    lines = [json.loads(line) for line in written.splitlines()]
    assert (failed.status_code, failed.json()["code"]) == (500, "A299")
    assert {"AttributeError", "ValueError"} <= {line.get("error") for line in lines}
    assert request in written
    for secret in (CANARY, *keys_of(world), *world.tokens.values()):
        assert secret not in written


def test_the_list_of_keys_holds_no_secret(world: World, tmp_path: Path) -> None:
    tokens = dict(world.tokens)
    world.service.close()
    world.service.house.journal.close()
    said = CliRunner().invoke(cli, ["keys", "list", "--home", str(tmp_path), "--format", "json"])
    listed = json.loads(said.stdout)
    assert {one["name"] for one in listed} == set(tokens)
    for token in tokens.values():
        assert token.rpartition("_")[2] not in said.output


def test_words_stand_in_the_texts_alone(world: World) -> None:
    world.ask(f"Please look at {CANARY}.", message="m-1")
    kept = rows()
    assert CANARY in str(kept.pop(Text.__name__))
    assert CANARY not in str(kept)
