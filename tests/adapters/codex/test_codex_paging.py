"""Is a history counted only when all of it was read, twice alike, and understood?"""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.codex.stage import Fake, Stage, values

from oncemore.adapters.codex import marker
from oncemore.adapters.codex.runtime import CodexRuntime
from oncemore.engine.errors import Unreadable
from oncemore.engine.ports import Inventory, NativeTurn, SessionView, Thread, TurnView

THREAD = "0190-thread"
PARTIAL = {"read": "unreadable", "coverage": "partial"}


def user(client_id: str | None) -> dict[str, Any]:
    return {"type": "userMessage", "id": f"u-{client_id}", "clientId": client_id, "content": []}


def answered(name: str, **other: Any) -> dict[str, Any]:
    items = [user(f"request-{name}"), {"type": "agentMessage", "id": "m", "text": f"answer {name}", "phase": None}]
    told = {"id": f"turn-{name}", "items": items, "itemsView": "full", "status": "completed", "error": None}
    return {**told, "startedAt": 1, "completedAt": 2, **other}


def page(*turns: dict[str, Any], following: str | None = None) -> dict[str, Any]:
    return {"result": {"data": list(turns), "nextCursor": following}}


def scenario(turns: Any, **about: Any) -> dict[str, Any]:
    thread = {"id": THREAD, "status": {"type": "notLoaded"}, "historyMode": "paginated", "path": "/nowhere", **about}
    return {
        "thread/read": [{"result": {"thread": thread}}],
        "thread/turns/list": turns,
        "config/read": [{"result": {"config": {"features": {}, "mcp_servers": {}}}}],
    }


def take(fake: Fake, turn: str = "1", seconds: float = 20.0) -> Inventory:
    runtime = CodexRuntime(fake.program, request_seconds=seconds)
    ids = frozenset({"request-1", "request-2", "request-3"})
    session = SessionView("s", "codex", str(fake.home), (Thread("codex", str(fake.home), THREAD),), ids)
    return runtime.inventory(session, TurnView(f"request-{turn}", NativeTurn(THREAD, f"turn-{turn}")))


def why(inventory: Inventory) -> str:
    evidence = inventory.readings["native.read"].evidence
    assert evidence is not None
    return evidence.details["why"]


def test_pages_are_followed_to_the_last_oldest_first_with_all_items(fake: Fake) -> None:
    pages = {"None": page(answered("1"), following="a"), "a": page(answered("2"), following="b"), "b": page()}
    fake.tell(scenario(pages))
    inventory = take(fake, "2")
    assert inventory.complete
    assert [record.native.turn_id for record in inventory.turns] == ["turn-1", "turn-2"]
    assert values(inventory, "read", "latest") == {"read": "stable", "latest": True}
    asked = [message["params"] for message in fake.heard() if message["method"] == "thread/turns/list"]
    assert len(asked) == 6
    assert all((one["sortDirection"], one["itemsView"], one["limit"]) == ("asc", "full", 100) for one in asked)


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ({"None": page(answered("1"), following="a"), "a": page(answered("2"), following="a")}, "same cursor twice"),
        ({"None": page(answered("1"), following="a"), "a": {"error": {"message": "gone"}}}, "gone"),
        ({"None": page(answered("1"), following="a"), "a": {"result": {"nextCursor": None}}}, "without turns"),
        ({"None": {"result": {"data": [answered("1")]}}}, "whether more follow"),
        ({"None": page(answered("1"), answered("1"))}, "listed a turn twice"),
        ({"None": page(answered("1", status="paused"))}, "unknown status 'paused'"),
        ({"None": page(answered("1", itemsView="summary"))}, "without all of its items"),
        ({"None": page(answered("1", items=[]))}, "completed turn was listed without items"),
        ({"None": page(answered("1", items=[{"id": "i"}]))}, "without a type"),
        ({"None": page(answered("1", completedAt="soon"))}, "is not a time"),
        ({"None": page({"items": []})}, "without an id"),
    ],
)
def test_a_history_that_is_not_whole_is_partial_and_proves_no_absence(
    fake: Fake, pages: dict[str, Any], reason: str
) -> None:
    fake.tell(scenario(pages))
    inventory = take(fake, "3")
    assert not inventory.complete
    assert values(inventory, "read", "coverage") == PARTIAL
    assert values(inventory, "status", "turn_bound") == {"status": "reported", "turn_bound": "reported"}
    assert reason in why(inventory)


def test_a_page_that_does_not_come_is_partial(fake: Fake) -> None:
    fake.tell(scenario({"None": page(answered("1"), following="a"), "a": {"silent": True}}))
    inventory = take(fake, seconds=0.2)
    assert values(inventory, "read", "coverage") == PARTIAL
    assert [record.native.turn_id for record in inventory.turns] == ["turn-1"]


def test_a_turn_that_lost_its_items_tells_nothing_of_them(fake: Fake) -> None:
    fake.tell(scenario({"None": page(answered("1", items=[], status="completed"))}))
    unknown = dict.fromkeys(("user_inputs", "final_answers", "user_only", "effects"), "reported")
    assert values(take(fake), *unknown) == unknown


def test_two_readings_that_differ_are_changing(fake: Fake) -> None:
    grown = answered("1", items=[*answered("1")["items"], {"type": "reasoning", "id": "r"}])
    fake.tell(scenario([page(answered("1")), page(grown)]))
    inventory = take(fake)
    assert values(inventory, "read", "coverage") == {"read": "changing", "coverage": "complete"}
    assert not inventory.complete


def test_unknown_items_are_counted_from_the_turn_on_and_make_its_effects_unknown(fake: Fake) -> None:
    new = {"type": "holographicProjection", "id": "h"}
    with_new = [answered(name, items=[*answered(name)["items"], new]) for name in "123"]
    fake.tell(scenario({"None": page(*with_new)}))
    inventory = take(fake, "2")
    assert inventory.complete
    assert values(inventory, "unknown_items", "effects") == {"unknown_items": 2, "effects": "reported"}


def test_a_legacy_history_does_not_keep_its_commands_and_is_partial(fake: Fake) -> None:
    fake.tell(scenario({"None": page(answered("1"))}, historyMode="legacy"))
    inventory = take(fake)
    assert values(inventory, "coverage") == {"coverage": "partial"}
    assert "legacy" in why(inventory)


def test_a_description_of_another_thread_is_partial(fake: Fake) -> None:
    fake.tell(scenario({"None": page(answered("1"))}, id="0190-other"))
    assert values(take(fake), "coverage") == {"coverage": "partial"}


def test_a_log_that_codex_does_not_know_is_partial(fake: Fake) -> None:
    fake.tell({**scenario({"None": page()}), "thread/read": [{"error": {"message": "thread not loaded"}}]})
    marker.make(fake.home, THREAD)
    assert take(fake).complete
    (fake.home / "sessions").mkdir()
    (fake.home / "sessions" / f"rollout-{THREAD}.jsonl").write_text("")
    assert values(take(fake), "coverage") == {"coverage": "partial"}


def test_a_log_outside_the_home_is_not_read(fake: Fake) -> None:
    fake.tell(scenario({"None": page(answered("1"))}, path="/etc/passwd"))
    assert values(take(fake), "effects") == {"effects": "reported"}


def test_a_reader_that_does_not_start_is_unreadable(fake: Fake) -> None:
    fake.tell({"initialize": [{"error": {"message": "not today"}}]})
    with pytest.raises(Unreadable, match="not today"):
        take(fake)


def test_a_configuration_that_is_not_told_leaves_the_restriction_unknown(fake: Fake) -> None:
    fake.tell({**scenario({"None": page(answered("1"))}), "config/read": [{"error": {"message": "no"}}]})
    assert take(fake).readings["route.restricted_profile"].status == "reported"


def test_more_turns_than_a_page_holds_are_all_read_from_the_real_program(stage: Stage) -> None:
    for number in range(101):
        native, seen = stage.run(f"request-{number}", f"{number}")
        assert seen.ended
    inventory = stage.inventory("request-100", native)
    assert inventory.complete
    assert [record.client_ids for record in inventory.turns] == [(f"request-{number}",) for number in range(101)]
    assert inventory.answer == "answer to 100"
