"""A program asks the service through its client, over a real socket, and is told a no with its code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.api.conftest import World, opened, served

from oncemore.adapters.client import TOGETHER, CallFailed, Client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[tuple[Client, World]]:
    with opened(tmp_path) as world, served(world.service) as url, Client(url, world.tokens["all"]) as found:
        yield found, world


def test_a_case_is_decided_and_explained(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    decided = oncemore.decide({"facts": {"turn.status": "running"}}, policy="retry-quota", store=True)
    assert (decided["outcome"], decided["fired"]) == ("not_concerned", None)
    (record,) = decided["decisions"]
    assert oncemore.decision(record["decision_id"]) == record
    assert "retry-quota" in oncemore.explain(record["decision_id"][:20])["sentence"]


def test_many_cases_keep_their_order(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    waited = [f"{seconds}s" for seconds in range(1, TOGETHER + 6)]
    cases = [{"facts": {"turn.ended_ago": one}} for one in waited]
    decided = list(oncemore.decide_many(cases, policy="continue-unfinished-work"))
    assert [one["decisions"][0]["facts"]["turn.ended_ago"] for one in decided] == [
        "1m" if one == "60s" else one for one in waited
    ]


def test_a_conversation_is_led(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    accepted = oncemore.post("notes", "Please write it.", message="m-1")
    assert oncemore.post("notes", "Please write it.", message="m-1") == {**accepted, "replayed": True}
    (line,) = oncemore.requests()
    assert (line["request"], line["doing"]) == (accepted["request"], "queued")
    stopped = oncemore.stop(accepted["request"], "not needed any more")
    assert stopped["state"] == "stopped"
    (message,) = oncemore.conversation("notes")
    assert message["text"] == "Please write it." and message["request"]["state"] == "stopped"
    assert oncemore.request(accepted["request"])["state"] == "stopped"


def test_levels_are_changed(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    assert {one["level"] for one in oncemore.levels()} == {"shadow"}  # as long as nobody said otherwise
    assert oncemore.change_level("retry-quota", "enforce", "tried for a week", until="8h")["level"] == "enforce"
    assert {one["name"]: one["level"] for one in oncemore.policies()}["retry-quota"] == "enforce"


def test_the_breaker_is_opened_and_closed(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    assert oncemore.breaker() == {
        "breaker": {"state": "closed", "since": None, "who": None, "why": None},
        "budgets": [],
    }
    opened = oncemore.change_breaker("open", "the provider has trouble")["breaker"]
    assert (opened["state"], opened["why"]) == ("open", "the provider has trouble")
    assert opened["who"].startswith("key ") and opened["who"].endswith(" all")
    with pytest.raises(CallFailed, match="open already") as failed:
        oncemore.change_breaker("open", "again")
    assert (failed.value.status, failed.value.problem) == (409, "E202")
    assert oncemore.change_breaker("close", "it is back")["breaker"]["state"] == "closed"
    assert oncemore.breaker()["breaker"]["why"] == "it is back"


def test_a_no_is_told_with_its_code_and_its_place(client: tuple[Client, World]) -> None:
    oncemore, _ = client
    with pytest.raises(CallFailed) as failed:
        oncemore.decide({"facts": {"turn.attempt": True}})
    assert (failed.value.status, failed.value.problem) == (422, "A202")
    assert failed.value.mistakes[0].pointer == "/facts/turn.attempt"


def test_the_key_is_shown_nowhere(client: tuple[Client, World]) -> None:
    oncemore, world = client
    assert world.tokens["all"] not in repr(oncemore)
