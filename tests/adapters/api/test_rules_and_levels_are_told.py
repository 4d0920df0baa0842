"""Policies, facts and levels; AuthZEN's question; and whether the service can work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.adapters.api.conftest import CONFIGURATION, World, opened
from tests.adapters.api.test_a_posted_case_is_decided import CONTINUE, firing

from oncemore.adapters.api.working import Work
from oncemore.adapters.codex.home import write_config
from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.worker import Worker
from oncemore.rules.shipped import shipped_pages, shipped_policies
from oncemore.rules.vocabulary import FACTS


def test_policies_are_listed_with_their_levels(world: World) -> None:
    listed = world.get("/v1/policies")["policies"]
    files = [file.stem for file in shipped_policies().glob("*-*.yaml") if not file.stem.endswith("_test")]
    assert [one["name"] for one in listed] == sorted(files)
    assert {one["level"] for one in listed} == {"shadow"}


def test_a_policy_is_shown_with_its_gates_and_its_text(world: World) -> None:
    shown = world.get(f"/v1/policies/{CONTINUE}")
    assert "backoff" in [gate["id"] for gate in shown["gates"]]
    text = (shipped_policies() / f"{CONTINUE}.yaml").read_text("utf-8")
    assert text in shown["texts"].values()
    assert world.call("GET", "/v1/policies/none").status_code == 404


@pytest.mark.parametrize("path", ["/v1/policies", f"/v1/policies/{CONTINUE}", "/v1/facts"])
def test_what_the_caller_has_is_not_sent_again(world: World, path: str) -> None:
    first = world.call("GET", path)
    same = world.call("GET", path, headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
    assert world.call("GET", path, headers={"if-none-match": '"other"'}).status_code == 200


def test_a_change_of_level_is_another_version(world: World) -> None:
    tag = world.call("GET", "/v1/policies").headers["etag"]
    world.post("/v1/levels", {"policy": CONTINUE, "level": "enforce", "why": "tried"})
    assert world.call("GET", "/v1/policies", headers={"if-none-match": tag}).status_code == 200


def test_the_vocabulary_is_whole(world: World) -> None:
    assert [one["name"] for one in world.get("/v1/facts")["facts"]] == list(FACTS)


def test_a_level_is_changed_with_who_why_and_until_when(world: World) -> None:
    body = {"policy": CONTINUE, "level": "enforce", "why": "tried for a week", "until": "8h"}
    answer = world.post("/v1/levels", body, key="admin")
    assert (answer.status_code, answer.json()["until"]) == (200, "2026-11-30T20:00:00.000Z")
    row = LevelChange.get()
    assert (row.why, row.who.split()[0]) == ("tried for a week", "key")
    told = {one["policy"]: one["level"] for one in world.get("/v1/levels")["levels"]}
    assert (told[CONTINUE], told["retry-quota"]) == ("enforce", "shadow")
    world.clock.ms += 8 * 3_600_000
    assert {one["level"] for one in world.get("/v1/levels")["levels"]} == {"shadow"}


def test_a_level_of_no_policy_changes_nothing(world: World) -> None:
    assert world.post("/v1/levels", {"policy": "none", "level": "off", "why": "w"}).status_code == 404
    assert not LevelChange.select().exists()


def question(name: str, context: dict[str, Any]) -> dict[str, Any]:
    return {
        "subject": {"type": "service", "id": "bot"},
        "action": {"name": name},
        "resource": {"type": "request", "id": "42", "properties": {"any": ["thing"]}},
        "context": context,
    }


def test_an_agent_may_do_what_the_rules_fire_for(world: World) -> None:
    said = world.post("/access/v1/evaluation", question("continue_work", firing())).json()
    assert said["decision"] is True
    assert (said["context"]["outcome"], said["context"]["fired"]) == ("fire", CONTINUE)


@pytest.mark.parametrize("name", ["review_answer", "anything"])
def test_and_nothing_else(world: World, name: str) -> None:
    assert world.post("/access/v1/evaluation", question(name, firing())).json()["decision"] is False


def test_unknown_evidence_is_no_permission_and_says_so(world: World) -> None:
    case = firing()
    del case["facts"]["native.read"]
    said = world.post("/access/v1/evaluation", question("continue_work", case)).json()
    assert (said["decision"], said["context"]["outcome"]) == (False, "wait")
    reason = next(one["reason"] for one in said["context"]["reasons"] if one["policy"] == CONTINUE)
    assert reason["kind"] == "evidence_missing"
    assert "native.read" in said["context"]["reason_admin"]["en"]
    assert "native.read" not in str(said["context"]["reason_user"])


def test_the_service_is_ready_when_what_it_needs_is_so(world: World) -> None:
    told = world.get("/readyz")
    assert told["ready"] is True
    assert [check["name"] for check in told["checks"]] == ["journal", "rules", "worker", "runtime codex"]


def test_a_worker_that_does_not_run_makes_it_unready(world: World) -> None:
    world.service.worker = Work(world.service.house.journal, cast(Worker, None))  # never started
    answer = world.call("GET", "/readyz")
    assert answer.status_code == 503
    (failing,) = [check for check in answer.json()["checks"] if check["needed"] and not check["ok"]]
    assert (failing["name"], failing["says"]) == ("worker", "it does not run")


def test_a_journal_that_takes_no_commit_makes_it_unready(world: World) -> None:
    world.service.close()
    answer = world.call("GET", "/readyz")
    assert answer.status_code == 503
    assert [check["name"] for check in answer.json()["checks"] if check["needed"] and not check["ok"]] == ["journal"]


def test_what_lies_outside_is_told_and_does_not_make_it_unready(tmp_path: Path) -> None:
    missing = CONFIGURATION.replace("{home: codex}", "{home: codex, binary: nothing}")
    with opened(tmp_path, missing) as world:
        told = world.get("/readyz")
        (failing,) = [check for check in told["checks"] if not check["ok"]]
        assert (told["ready"], failing["name"], failing["needed"]) == (True, "runtime codex", False)
        assert str(tmp_path) not in str(told)


def codex(world: World) -> tuple[bool, bool, str]:
    """Whether the service is ready, and what it says of Codex."""
    world.clock.ms += 15_000  # what was seen outside is remembered for so long
    told = world.get("/readyz")
    (check,) = [one for one in told["checks"] if one["name"] == "runtime codex"]
    return told["ready"], check["ok"], check["says"]


def test_a_codex_that_nobody_is_logged_in_to_is_told_of(world: World, tmp_path: Path) -> None:
    nobody = "its program is there, and nobody is logged in; `oncemore doctor` says what mends it"
    assert codex(world) == (True, False, nobody)
    (tmp_path / "codex").mkdir()
    assert codex(world) == (True, False, nobody)
    (tmp_path / "codex" / "auth.json").write_text("{}")
    assert codex(world) == (True, True, "its program is there, with what it reaches its model by")


def test_a_provider_whose_key_is_not_there_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    passed_on = CONFIGURATION.replace("{home: codex}", "{home: codex, environment: [A_KEY]}")
    write_config(tmp_path / "codex", "http://127.0.0.1:9", "A_KEY")
    with opened(tmp_path, passed_on) as world:
        ready, ok, says = codex(world)
        assert (ready, ok) == (True, False)
        assert says.startswith("its program is there, and the key of its provider is not;")
        assert str(tmp_path) not in says and "A_KEY" not in says
        monkeypatch.setenv("A_KEY", "none")
        assert codex(world)[1]


def test_no_probe_starts_a_program(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a probe started a program")

    monkeypatch.setattr("subprocess.Popen.__init__", started)
    assert codex(world)[0]


@pytest.mark.parametrize("code", sorted(page.stem for page in shipped_pages().glob("A2*.md")))
def test_every_code_has_its_page_where_a_problem_says(world: World, code: str) -> None:
    assert world.call("GET", f"/errors/{code}").text.startswith(f"# {code}: ")


@pytest.mark.parametrize("code", ["README", "..%2FREADME", "A999", "%00"])
def test_nothing_else_is_a_page(world: World, code: str) -> None:
    assert world.call("GET", f"/errors/{code}").status_code == 404


def test_what_is_measured_is_mounted(world: World) -> None:
    assert world.call("GET", "/metrics").status_code == 404
    world.service.metrics = lambda: (b"oncemore_up 1\n", "text/plain; version=0.0.4")
    assert world.call("GET", "/metrics").text == "oncemore_up 1\n"
