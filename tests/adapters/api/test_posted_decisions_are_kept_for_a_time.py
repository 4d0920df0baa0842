"""Decisions on posted cases that were kept go with their time, whole, and nothing of a Request goes with them."""

from __future__ import annotations

import pytest
from tests import postgres
from tests.adapters.api.conftest import World, rows

from oncemore.engine import retention
from oncemore.engine.retention import Retention, drop_posted

pytestmark = postgres.both

DAY = 86_400_000


def kept(world: World, attempt: int) -> list[str]:
    """A case is posted, and its decisions kept; their ids."""
    answer = world.post("/v1/decide?store=true", {"facts": {"turn.attempt": attempt}, "now": 1_796_040_000_000})
    assert answer.status_code == 200
    return [one["decision_id"] for one in answer.json()["decisions"]]


def shown(world: World, decision: str) -> int:
    return world.call("GET", f"/v1/decisions/{decision}").status_code


def dropped(world: World, days: int, *, only_count: bool = False) -> int:
    journal = world.service.house.journal
    with journal.connected():
        return drop_posted(journal, world.clock.ms - days * DAY, only_count=only_count)


def test_they_go_whole_once_they_are_old_enough(world: World) -> None:
    old = kept(world, 1)
    world.clock.ms += 31 * DAY
    young = kept(world, 2)
    assert dropped(world, 30, only_count=True) == 1
    assert [shown(world, one) for one in (old[0], young[0])] == [200, 200]
    assert dropped(world, 30) == 1
    assert [shown(world, one) for one in old] == [404] * len(old)
    assert [shown(world, one) for one in young] == [200] * len(young)
    assert len(rows()["PostedDecision"]) == len(young)
    assert dropped(world, 30) == 0


def test_a_case_that_is_posted_again_is_kept_from_then_on(world: World) -> None:
    first = kept(world, 1)
    world.clock.ms += 31 * DAY
    assert kept(world, 1) == first
    assert dropped(world, 30) == 0
    world.clock.ms += 31 * DAY
    assert dropped(world, 30) == 1
    assert kept(world, 1) == first
    assert shown(world, first[0]) == 200


def test_many_go_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for attempt in range(1, 6):
        kept(world, attempt)
    world.clock.ms += 31 * DAY
    assert dropped(world, 30) == 5
    assert rows()["PostedPass"] == rows()["PostedDecision"] == []


def test_nothing_else_goes_with_them_whatever_its_age(world: World) -> None:
    world.ask()
    kept(world, 1)
    before = rows()
    world.clock.ms += 400 * DAY
    assert dropped(world, 30) == 1
    after = rows()
    assert {name for name in before if before[name] != after[name]} == {"PostedPass", "PostedDecision"}


def test_a_worker_drops_them_where_texts_are_kept_for_ever(world: World) -> None:
    journal = world.service.house.journal
    told: list[int] = []
    kept(world, 1)
    world.clock.ms += 31 * DAY
    with journal.connected():
        Retention(journal, None, told.append, posted=32 * DAY).look()
        assert len(rows()["PostedPass"]) == 1
        Retention(journal, None, told.append, posted=30 * DAY).look()
    assert rows()["PostedPass"] == []
    assert told == []
