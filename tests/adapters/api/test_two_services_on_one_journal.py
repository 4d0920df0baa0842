"""Two services on one journal are asked for the same at the same moment: it is done once, and both say so."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest
from tests import postgres
from tests.adapters.api.conftest import World, rows, shipped_rules

from oncemore.adapters.api.app import application
from oncemore.adapters.api.service import Service

pytestmark = postgres.both

CALLS = 4
Call = Callable[[World, int], httpx.Response]


@pytest.fixture
def two(world: World) -> Iterator[list[World]]:
    """The same house behind two applications, each with a thread that commits and a connection of its own."""
    with closing(Service(world.service.house, shipped_rules())) as other:
        both = [world, World(other, application(other, world.clock.ticks), world.clock, world.tokens)]
        for one in both:
            one.get("/v1/levels")  # an application makes its routes at its first call, in one thread
        yield both


def at_once(two: list[World], call: Call) -> Counter[int]:
    """How often which status was answered."""
    begin, found = threading.Barrier(CALLS), []

    def one(number: int) -> None:
        begin.wait()
        found.append(call(two[number % 2], number).status_code)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(found)


@pytest.mark.parametrize("attempt", range(1, 4))
def test_a_case_that_is_kept_by_both_is_kept_once(two: list[World], attempt: int) -> None:
    case = {"facts": {"turn.attempt": attempt}}
    said = at_once(two, lambda world, _: world.post("/v1/decide?store=true", case))
    assert said == {200: CALLS}
    assert len(rows()["PostedPass"]) == 1


def test_a_message_that_is_posted_to_both_is_taken_in_once(two: list[World]) -> None:
    body = {"workspace": "notes", "text": "Please.", "message": "m-1"}
    assert at_once(two, lambda world, _: world.post("/v1/requests", body)) == {201: 1, 200: CALLS - 1}
    assert len(rows()["Request"]) == len(rows()["InboxMessage"]) == 1


def test_of_one_id_with_other_contents_one_is_taken_in(two: list[World]) -> None:
    body = {"workspace": "notes", "message": "m-1"}
    said = at_once(two, lambda world, number: world.post("/v1/requests", {**body, "text": f"text {number}"}))
    assert said == {201: 1, 409: CALLS - 1}
    assert len(rows()["Request"]) == len(rows()["InboxMessage"]) == 1


def test_a_request_is_stopped_once(two: list[World]) -> None:
    request = two[0].ask()
    said = at_once(two, lambda world, _: world.post(f"/v1/requests/{request}/stop", {"why": "not needed"}))
    assert said == {200: 1, 409: CALLS - 1}
