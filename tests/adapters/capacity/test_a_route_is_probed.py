"""When does an answer say that there is room? Only with the one configured value; everything else is no value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.capacity.route import Page, page

from oncemore.adapters.capacity import Probe
from oncemore.adapters.demo.model import Say, ScriptedModel
from oncemore.adapters.entries import CapacityEntry
from oncemore.adapters.wire import Wire
from oncemore.rules.case import Reading, judge
from oncemore.rules.vocabulary import FACTS

NOW = 1_800_000_000_000


@pytest.fixture
def route() -> Iterator[Page]:
    with page() as made:
        yield made


def read(route: Page, path: str = "state", available: Any = "open", exhausted: Any = "closed", **other: Any) -> Reading:
    entry = CapacityEntry(route.base, "/quota?of=team", tuple(path.split(".")), available, exhausted, 10_000)
    with Wire([route.base]) as wire:
        return Probe(wire, replace(entry, **other), clock=lambda: NOW).read()


@pytest.mark.parametrize(("said", "state"), [("open", "available"), ("closed", "exhausted")])
def test_the_two_configured_values_are_known(route: Page, said: str, state: str) -> None:
    route.says({"state": said})
    found = read(route)
    assert (found.status, found.value) == ("known", state)
    assert route.asked == [("GET", "/quota?of=team")]


def test_the_evidence_bears_the_moment_before_the_question(route: Page) -> None:
    route.says({"state": "open"})
    evidence = read(route).evidence
    assert evidence is not None
    assert (evidence.source, evidence.observed_at, evidence.max_age) == ("probe", NOW, None)


def test_an_answer_counts_no_longer_than_the_vocabulary_says(route: Page) -> None:
    route.says({"state": "open"})
    found, limit = read(route), FACTS["route.state"].max_age
    assert limit == 60_000
    assert judge(NOW + limit, found.value, found.evidence, limit).status == "known"
    assert judge(NOW + limit + 1, found.value, found.evidence, limit).status == "stale"


def test_the_value_may_lie_deep_in_the_answer(route: Page) -> None:
    route.says({"quota": [{"state": "no"}, {"state": 1}]})
    assert read(route, "quota.1.state", available=1, exhausted=0).value == "available"


@pytest.mark.parametrize(
    ("said", "available"), [(True, 1), (1, True), ("1", 1), (1, "1"), ("Open", "open"), (1.0, 1), ("open ", "open")]
)
def test_a_value_that_is_only_like_a_configured_one_is_none(route: Page, said: Any, available: Any) -> None:
    route.says({"state": said})
    assert (read(route, available=available).status, read(route, available=available).value) == ("reported", None)


@pytest.mark.parametrize("said", ["unknown", "", None, 3, ["open"], {"open": True}])
def test_any_other_value_was_reported_and_is_no_value(route: Page, said: Any) -> None:
    route.says({"state": said})
    assert (read(route).status, read(route).value) == ("reported", None)


@pytest.mark.parametrize(
    "content", [{}, [], "open", 7, None, {"State": "open"}, {"states": {"state": "open"}}, [{"state": "open"}]]
)
def test_an_answer_without_the_value_is_missing(route: Page, content: Any) -> None:
    route.says(content)
    found = read(route)
    assert (found.status, found.value) == ("missing", None)


def test_an_index_beyond_the_list_is_missing(route: Page) -> None:
    route.says(["open"])
    assert read(route, "1").status == "missing"
    assert read(route, "9" * 200).status == "missing"


@pytest.mark.parametrize("status", [201, 204, 301, 401, 404, 429, 500, 503])
def test_any_other_status_is_missing_whatever_its_content(route: Page, status: int) -> None:
    route.says({"state": "open"}, status)
    if status == 204:
        route.content = b""
    assert (read(route).status, read(route).value) == ("missing", None)


def test_what_is_no_json_is_missing_and_the_cause_is_kept(route: Page) -> None:
    route.content = b"<html>open</html>"
    found = read(route)
    assert found.status == "missing" and found.evidence is not None
    assert "not JSON" in found.evidence.details["cause"]


def test_nobody_there_is_missing() -> None:
    with page() as gone:
        pass
    assert (read(gone).status, read(gone).value) == ("missing", None)


def test_an_address_that_the_client_may_not_ask_is_missing(route: Page) -> None:
    route.says({"state": "open"})
    assert read(route, base="https://elsewhere.example").status == "missing"
    assert route.asked == []


def test_the_scripted_model_can_be_asked() -> None:
    with ScriptedModel(lambda request: Say("x")) as model, Wire([model.base_url.removesuffix("/v1")]) as wire:
        entry = CapacityEntry(
            model.base_url.removesuffix("/v1"), "/capacity", ("state",), "available", "exhausted", 10_000
        )
        probe = Probe(wire, entry, clock=lambda: NOW)
        assert probe.read().value == "available"
        model.capacity = "exhausted"
        assert probe.read().value == "exhausted"
        model.capacity = "unavailable"
        assert probe.read().status == "reported"
