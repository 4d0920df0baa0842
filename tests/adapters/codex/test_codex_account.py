"""When does the account of Codex stand for room on the route? By its vendor's own word, where it is the route's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.codex.stage import Fake
from tests.adapters.codex.vendor import RESETS, Vendor, vendor

from oncemore.adapters.codex import account, binary
from oncemore.adapters.codex.home import write_config
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.rules import times
from oncemore.rules.case import Reading

NOW = 1_800_000_000_000


@pytest.fixture
def told() -> Iterator[Vendor]:
    with vendor() as made:
        yield made


def ask(home: Path, program: Path | None = None) -> Reading:
    runtime = CodexRuntime(program, clock=lambda: NOW, request_seconds=10)
    try:
        return runtime.account(home).read()
    finally:
        runtime.close()


def limit(allowed: bool | None = True, used: int = 12, **more: Any) -> dict[str, Any]:
    window = {"used_percent": used, "limit_window_seconds": 18_000, "reset_after_seconds": 9, "reset_at": RESETS}
    return {"rate_limit": {"allowed": allowed, "limit_reached": False, "primary_window": window}, **more}


@pytest.mark.parametrize(
    ("usage", "status", "state"),
    [
        (limit(True), "known", "available"),
        (limit(False), "known", "exhausted"),
        (limit(False, 100), "known", "exhausted"),
        (limit(True, 100), "conflict", None),
        (limit(True, rate_limit_reached_type={"type": "rate_limit_reached"}), "conflict", None),
    ],
    ids=["allowed", "not allowed", "used up", "allowed and used up", "allowed and reached"],
)
def test_the_vendors_word_comes_through_codex(
    told: Vendor, tmp_path: Path, usage: dict[str, Any], status: str, state: str | None
) -> None:
    told.usage = usage
    found = ask(told.log_in(tmp_path / "home"))
    assert (found.status, found.value, told.asked) == (status, state, 1)
    assert found.evidence is not None
    assert (found.evidence.source, found.evidence.observed_at) == ("codex", NOW)
    used = usage["rate_limit"]["primary_window"]["used_percent"]
    assert found.evidence.details["primary"] == f"{used}% used, resets at {times.format_ms(RESETS * 1000)}"


def test_an_answer_about_another_account_is_not_the_accounts(told: Vendor, tmp_path: Path) -> None:
    told.account = "acc-2"
    found = ask(told.log_in(tmp_path / "home"))
    assert (found.status, found.value, told.asked) == ("missing", None, 1)
    assert found.evidence is not None and "does not say" in found.evidence.details["why"]


def test_a_vendor_that_does_not_answer_leaves_it_missing(told: Vendor, tmp_path: Path) -> None:
    told.usage = None
    found = ask(told.log_in(tmp_path / "home"))
    assert (found.status, found.value) == ("missing", None)
    assert found.evidence is not None
    # Codex's own words quote what the vendor answered.
    assert dict(found.evidence.details) == {"why": "codex does not tell the limits of an account"}


def test_an_account_beside_another_provider_says_nothing_of_the_route(told: Vendor, tmp_path: Path) -> None:
    found = ask(told.log_in(tmp_path / "home", provider="other"))
    assert (found.status, found.value, told.asked) == ("missing", None, 0)


def test_a_provider_with_a_key_has_no_account(tmp_path: Path) -> None:
    write_config(tmp_path / "home", "http://127.0.0.1:9/v1", "MODEL_KEY")
    assert (ask(tmp_path / "home").status, ask(tmp_path / "home").value) == ("missing", None)


CONFIG: dict[str, Any] = {"config/read": [{"result": {"config": {}}}]}
READ = "account/rateLimits/read"


@pytest.mark.parametrize(
    "answer", [{"silent": True}, {"exit": True}, {"error": {"code": -1, "message": "no"}}, {"result": None}, {}]
)
def test_a_question_without_an_answer_leaves_it_missing(fake: Fake, answer: dict[str, Any]) -> None:
    fake.tell({**CONFIG, READ: [answer]})
    runtime = CodexRuntime(fake.program, clock=lambda: NOW, request_seconds=0.5)
    found = runtime.account(fake.home).read()
    assert (found.status, found.value) == ("missing", None)


def test_a_program_that_does_not_tell_its_provider_is_not_asked(fake: Fake) -> None:
    fake.tell({READ: [{"result": {"ordinaryUsageAllowed": True, "rateLimits": {}}}]})
    assert ask(fake.home, fake.program).status == "missing"
    assert [one["method"] for one in fake.heard()] == ["initialize", "initialized", "config/read"]


def said(**more: Any) -> dict[str, Any]:
    """An answer as the real program gives it, with something else in it."""
    window = {"usedPercent": 12, "windowDurationMins": 300, "resetsAt": RESETS}
    limits = {"limitId": "codex", "primary": window, "secondary": None, "rateLimitReachedType": None}
    return {"ordinaryUsageAllowed": True, "rateLimits": {**limits, "spendControlReached": None}, **more}


def limits(**more: Any) -> dict[str, Any]:
    return said(rateLimits={**said()["rateLimits"], **more})


@pytest.mark.parametrize(
    ("answer", "status", "state"),
    [
        (said(), "known", "available"),
        (said(rateLimits={}), "known", "available"),
        (said(unheard_of=1), "known", "available"),
        (said(ordinaryUsageAllowed=None), "missing", None),
        ({"rateLimits": said()["rateLimits"]}, "missing", None),
        (limits(spendControlReached=True), "conflict", None),
        (limits(secondary={"usedPercent": 100}), "conflict", None),
        (limits(secondary={"usedPercent": 100, "resetsAt": NOW // 1000}), "known", "available"),
        (limits(secondary={"usedPercent": 100, "resetsAt": NOW // 1000 + 1}), "conflict", None),
        ({**limits(rateLimitReachedType="a_new_word"), "ordinaryUsageAllowed": None}, "known", "exhausted"),
        ({**limits(secondary={"usedPercent": 100}), "ordinaryUsageAllowed": None}, "known", "exhausted"),
    ],
)
def test_room_needs_the_word_and_nothing_against_it(answer: dict[str, Any], status: str, state: str | None) -> None:
    found = account.reading(answer, NOW)
    assert (found.status, found.value) == (status, state)


@pytest.mark.parametrize(
    "answer",
    [
        said(rateLimits=[]),
        said(ordinaryUsageAllowed="true"),
        said(ordinaryUsageAllowed=1),
        limits(primary=12),
        limits(primary={}),
        limits(primary={"usedPercent": None}),
        limits(primary={"usedPercent": "12"}),
        limits(primary={"usedPercent": 12.5}),
        limits(primary={"usedPercent": True}),
        limits(primary={"usedPercent": -4}),
        limits(primary={"usedPercent": 12, "resetsAt": "soon"}),
        limits(primary={"usedPercent": 12, "resetsAt": -1}),
        limits(primary={"usedPercent": 12, "resetsAt": 1 << 60}),
        limits(rateLimitReachedType=7),
        limits(rateLimitReachedType={"type": "rate_limit_reached"}),
        limits(spendControlReached="no"),
    ],
)
def test_what_is_not_of_the_protocols_form_is_reported_and_no_value(answer: dict[str, Any]) -> None:
    found = account.reading(answer, NOW)
    # Not missing: a probe does not overrule an answer that was given and not understood.
    assert (found.status, found.value) == ("reported", None)
    assert found.evidence is not None and "protocol" in found.evidence.details["why"]


@pytest.mark.parametrize("answer", [{}, {"ordinaryUsageAllowed": True}, said(rateLimits=None)])
def test_an_answer_without_limits_is_missing(answer: dict[str, Any]) -> None:
    found = account.reading(answer, NOW)
    assert (found.status, found.value) == ("missing", None)


@pytest.mark.parametrize("limits", [{"primary": {"usedPercent": 99.5}}, {"primary": 12}, [], None])
def test_a_plain_no_stands_whatever_else_is_not_understood(limits: Any) -> None:
    found = account.reading(said(ordinaryUsageAllowed=False, rateLimits=limits), NOW)
    assert (found.status, found.value) == ("known", "exhausted")


def test_the_form_is_that_of_the_programs_own_schema(tmp_path: Path) -> None:
    command = [str(binary.find()), "app-server", "generate-json-schema", "--experimental", "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    schema = json.loads((tmp_path / "v2" / "GetAccountRateLimitsResponse.json").read_text())
    snapshot, window = (schema["definitions"][name] for name in ("RateLimitSnapshot", "RateLimitWindow"))
    assert schema["required"] == ["rateLimits"] and "required" not in snapshot
    assert schema["properties"]["ordinaryUsageAllowed"]["type"] == ["boolean", "null"]
    assert schema["properties"]["rateLimits"]["allOf"] == [{"$ref": "#/definitions/RateLimitSnapshot"}]
    for name in ("primary", "secondary"):
        assert snapshot["properties"][name]["anyOf"] == [{"$ref": "#/definitions/RateLimitWindow"}, {"type": "null"}]
    assert snapshot["properties"]["spendControlReached"]["type"] == ["boolean", "null"]
    reached = {"$ref": "#/definitions/RateLimitReachedType"}
    assert snapshot["properties"]["rateLimitReachedType"]["anyOf"] == [reached, {"type": "null"}]
    assert schema["definitions"]["RateLimitReachedType"]["type"] == "string"
    assert (window["required"], window["properties"]["usedPercent"]["type"]) == (["usedPercent"], "integer")
    assert window["properties"]["resetsAt"]["type"] == ["integer", "null"]
    params = json.loads((tmp_path / "v2" / "NullableGetAccountRateLimitsParams.json").read_text())
    asked = params["definitions"]["GetAccountRateLimitsParams"]["properties"]
    assert asked["excludeResetCreditDetails"]["type"] == "boolean"
