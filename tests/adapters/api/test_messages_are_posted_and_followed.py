"""A message is taken in once, its conversation read, and a person steps in."""

from __future__ import annotations

import asyncio

import pytest
from tests.adapters.api.conftest import World, rows
from tests.postgres import both

from oncemore.adapters.api.requests import NewRequest, posted
from oncemore.adapters.api.service import Service
from oncemore.engine import advice, intake
from oncemore.engine.allowance_tables import Advice
from oncemore.engine.tables import Event, InboxMessage, Request, Turn


@both
def test_a_message_that_is_posted_again_is_the_same_request(world: World) -> None:
    body = {"workspace": "notes", "text": "Please write it.", "message": "m-1"}
    first = world.post("/v1/requests", body)
    assert (first.status_code, first.json()["replayed"]) == (201, False)
    before = rows()
    again = world.post("/v1/requests", body)
    assert (again.status_code, again.json()) == (200, {**first.json(), "replayed": True})
    assert rows() == before


@pytest.mark.parametrize("change", [{"text": "Please write two."}, {"language": "zh"}])
def test_the_same_message_with_other_content_is_refused(world: World, change: dict[str, str]) -> None:
    body = {"workspace": "notes", "text": "Please write it.", "message": "m-1"}
    world.post("/v1/requests", body)
    before = rows()
    answer = world.post("/v1/requests", {**body, **change})
    assert (answer.status_code, answer.json()["code"]) == (409, "E202")
    assert rows() == before


def test_messages_without_an_id_are_each_their_own(world: World) -> None:
    assert world.ask("one") != world.ask("one")


def test_another_workspace_is_not_there(world: World) -> None:
    before = rows()
    answer = world.post("/v1/requests", {"workspace": "other", "text": "x"})
    assert (answer.status_code, answer.json()["code"]) == (404, "E204")
    assert rows() == before


@both
def test_a_queue_that_is_full_takes_no_more(world: World) -> None:
    answers = [world.post("/v1/requests", {"workspace": "notes", "text": f"{n}"}) for n in range(22)]
    refused = [one for one in answers if one.status_code != 201]
    assert refused and {(one.status_code, one.json()["code"]) for one in refused} == {(409, "E202")}
    assert InboxMessage.select().count() == Request.select().count() == 22 - len(refused)


@both
def test_a_listing_comes_in_parts_and_misses_nothing(world: World) -> None:
    asked = []
    for number in range(7):
        world.clock.ms += number % 2
        asked.append(world.ask(f"message {number}"))
    found, cursor = [], ""
    while cursor is not None:
        part = world.get(f"/v1/requests?limit=3{cursor and '&cursor=' + cursor}")
        found += [one["request"] for one in part["requests"]]
        cursor = part["next"]
        assert len(part["requests"]) <= 3
    assert sorted(found) == sorted(asked) and len(found) == 7


def test_a_listing_is_of_a_state(world: World) -> None:
    open_, stopped = world.ask("one"), world.ask("two")
    world.post(f"/v1/requests/{stopped}/stop", {"why": "not needed"})
    assert [one["request"] for one in world.get("/v1/requests")["requests"]] == [open_]
    assert [one["request"] for one in world.get("/v1/requests?state=stopped")["requests"]] == [stopped]
    assert len(world.get("/v1/requests?state=all")["requests"]) == 2


@pytest.mark.parametrize("cursor", ["x", "MTI", "Li4v", "%00", "OTk5OTk5OTk5OTk5OTk5OTk5OTk6YQ"])
def test_a_cursor_that_is_none_of_ours_is_refused(world: World, cursor: str) -> None:
    answer = world.call("GET", f"/v1/requests?cursor={cursor}")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "cursor")


def test_a_request_is_shown_with_everything_that_happened(world: World) -> None:
    request = world.ask("Please write it.")
    shown = world.get(f"/v1/requests/{request}")
    assert (shown["request"], shown["workspace"], shown["standing"]["doing"]) == (request, "notes", "queued")
    assert [one["kind"] for one in shown["timeline"]] == ["message", "queued"]
    assert world.call("GET", "/v1/requests/r-000000000000").status_code == 404


@both
def test_a_stop_is_recorded_with_who_and_why(world: World) -> None:
    request = world.ask()
    answer = world.post(f"/v1/requests/{request}/stop", {"why": "not needed"}, key="act")
    assert (answer.status_code, answer.json()["state"]) == (200, "stopped")
    row, turn = Request.get_by_id(request), Turn.get(Turn.request == request)
    assert (row.stop_origin, turn.status) == ("operator", "withdrawn")
    told = Event.get(Event.request == request, Event.kind == "stopped").body
    assert "not needed" in told and world.tokens["act"].split("_")[1] in told
    again = world.post(f"/v1/requests/{request}/stop", {"why": "not needed"})
    assert (again.status_code, again.json()["code"]) == (409, "E202")


def test_a_release_settles_nothing_that_is_not_ambiguous(world: World) -> None:
    request = world.ask()
    before = rows()
    answer = world.post(f"/v1/requests/{request}/release", {"why": "seen", "saw": "delivered"})
    assert (answer.status_code, answer.json()["code"]) == (409, "E202")
    assert rows() == before


def test_a_release_closes_what_was_answered_by_hand(world: World) -> None:
    request = world.ask()
    answer = world.post(f"/v1/requests/{request}/release", {"why": "answered by hand", "close": True})
    assert (answer.status_code, answer.json()["state"]) == (200, "answered")


@both
def test_a_conversation_is_read_and_stopped_in_its_own_words(world: World) -> None:
    for text in ("first", "second", "/stop"):
        world.ask(text)
        world.clock.ms += 1_000
    told = world.get("/v1/conversations/notes")
    assert [one["text"] for one in told["messages"]] == ["first", "second", "/stop"]
    assert [one["command"] for one in told["messages"]] == [False, False, True]
    assert [one["request"]["state"] for one in told["messages"]] == ["open", "stopped", "answered"]
    assert [one["turns"][0]["kind"] for one in told["messages"][:2]] == ["queued", "queued"]
    first = world.get("/v1/conversations/notes?limit=2")
    second = world.get(f"/v1/conversations/notes?limit=2&cursor={first['next']}")
    assert first["messages"] + second["messages"] == told["messages"]
    assert world.call("GET", "/v1/conversations/other").status_code == 404


def test_what_is_answered_is_committed(world: World) -> None:
    """The id that the answer names is there for every other connection."""
    request = world.ask()
    assert intake.known("inbox", Request.get_by_id(request).message) is not None


def test_what_is_advised_is_done_on_a_word(world: World) -> None:
    request = world.ask()
    refused = world.post(f"/v1/requests/{request}/act", {"why": "yes"})
    assert (refused.status_code, "advises" in refused.json()["detail"]) == (409, True)
    world.post("/v1/levels", {"policy": "retry-quota", "level": "advise", "why": "watched"})
    with world.service.house.journal.transaction():
        Advice.insert(
            request=request, policy="retry-quota", decision="sha256:0", state=advice.WAITING, offered_at=world.clock.ms
        ).execute()
    answer = world.post(f"/v1/requests/{request}/act", {"why": "looked at it"}, key="act")
    assert answer.status_code == 200, answer.text
    row = Advice.get()
    assert (row.state, row.why, row.who.split()[0]) == (advice.TAKEN, "looked at it", "key")
    assert world.post("/v1/requests/r-000000000000/act", {"why": "w"}).status_code == 404


@both
def test_an_answer_is_of_one_moment(world: World) -> None:
    """What is committed between two reads of one answer is in neither."""
    world.ask("before")
    seen = []

    def read() -> None:
        seen.append(Request.select().count())
        asyncio.run(world.service.write(lambda: world.service.house.ask("notes", "meanwhile")))
        seen.append(Request.select().count())

    asyncio.run(world.service.read(read))
    assert seen == [1, 1]
    assert Request.select().count() == 2


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_message_that_is_posted_to_two_services_at_once_is_taken_in_once(world: World) -> None:
    others = [Service(world.service.house, world.service.rules) for _ in range(3)]
    new = NewRequest(workspace="notes", text="Please write it.", message="m-1")

    async def post() -> list[dict[str, object]]:
        return await asyncio.gather(*(posted(one, new) for one in others))

    try:
        for number in range(5):
            new = NewRequest(workspace="notes", text="Please write it.", message=f"m-{number}")
            answers = asyncio.run(post())
            assert len({one["request"] for one in answers}) == 1
            assert sorted(bool(one["replayed"]) for one in answers) == [False, True, True]
    finally:
        for one in others:
            one.close()
    assert Request.select().count() == 5
