"""On PostgreSQL too a worker may die at any point of a continuation: another one goes on, and nothing happens twice.

docs/crash-points.md says what is left; Codex is the scripted app-server. A few points are tried here, all of them where
every journal stands on PostgreSQL (`make postgres`).
"""

from __future__ import annotations

import os

import pytest
from tests.engine.executor.crash_aftermath import SECOND, continued_by_another
from tests.engine.executor.crash_tables import Row, table
from tests.engine.executor.world import World, reported

from oncemore.adapters.demo.model import Say

SOME = ("after_reserve", "after_claim", "after_start_intent", "after_start_call", "after_settle", "after_send")
EVERYTHING = os.environ.get("ONCEMORE_TESTS_ON") == "postgresql"
ROWS = [row for row in table("continue-unfinished-work") if EVERYTHING or (row.point in SOME and row.about in SECOND)]


@pytest.fixture
def w(on_a_server: World) -> World:
    on_a_server.plot.first = lambda request: Say(f"Part one is written. {reported(request)}")
    on_a_server.plot.second = lambda request: Say("Part two is written.")
    return on_a_server


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_after_a_kill_another_worker_ends_it_as_the_table_says(w: World, row: Row) -> None:
    continued_by_another(w, row, 2 if row.about in SECOND else 1)
    assert w.rows("select * from lease") == []
