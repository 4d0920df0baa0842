"""Whether recoveries may begin is read and changed over HTTP, with the budgets beside it."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.api.conftest import CONFIGURATION, World, opened, rows

BUDGETS = "budgets: {per_hour: 7, routes: {codex: {in_flight: 2}}}\n"


def test_the_budgets_stand_beside_it(tmp_path: Path) -> None:
    with opened(tmp_path, CONFIGURATION + BUDGETS) as world:
        told = world.get("/v1/breaker", key="read")
        assert told["breaker"]["state"] == "closed"
        assert {one["budget"]: (one["used"], one["limit"], one["waiting"]) for one in told["budgets"]} == {
            "per_hour": (0, 7, 0),
            "in_flight:codex": (0, 2, 0),
        }


def test_a_change_is_recorded_with_who_and_why(world: World) -> None:
    answer = world.post("/v1/breaker", {"change": "open", "why": "maintenance"}, key="admin")
    assert answer.status_code == 200
    world.clock.ms += 1_000
    told = world.get("/v1/breaker")["breaker"]
    assert told == answer.json()["breaker"]
    assert (told["state"], told["since"], told["why"]) == ("open", "2026-11-30T12:00:00.000Z", "maintenance")
    assert told["who"].endswith(" admin")
    assert world.post("/v1/breaker", {"change": "close", "why": "done"}, key="admin").status_code == 200
    assert [row[1] for row in rows()["BreakerChange"]] == ["open", "closed"]


def test_what_stands_so_already_is_not_changed_again(world: World) -> None:
    before = rows()
    answer = world.post("/v1/breaker", {"change": "close", "why": "to be sure"}, key="admin")
    assert (answer.status_code, answer.json()["code"]) == (409, "E202")
    assert rows() == before


def test_a_change_needs_a_reason_that_says_something(world: World) -> None:
    before = rows()
    assert world.post("/v1/breaker", {"change": "open", "why": "  "}, key="admin").status_code == 422
    assert rows() == before


def test_a_reason_that_no_database_holds_is_refused(world: World) -> None:
    before = rows()
    answer = world.post("/v1/breaker", {"change": "open", "why": "a\0b"})
    assert (answer.status_code, "NUL" in answer.json()["detail"]) == (409, True)
    assert rows() == before
