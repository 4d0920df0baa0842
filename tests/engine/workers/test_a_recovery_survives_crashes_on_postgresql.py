"""On PostgreSQL too a worker may die at any point of a continuation: another one goes on, and nothing happens twice.

docs/crash-points.md says what is left; Codex is the scripted app-server. A few points are tried here, all of them where
every journal stands on PostgreSQL (`make postgres`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import postgres
from tests.adapters.codex.scripted import install
from tests.engine.executor.crash_aftermath import SECOND, continued_by_another
from tests.engine.executor.crash_tables import Row, table
from tests.engine.executor.world import KEY, World, reported, world

from oncemore.adapters.demo.model import Say

SOME = ("after_reserve", "after_claim", "after_start_intent", "after_start_call", "after_settle", "after_send")
EVERYTHING = os.environ.get("ONCEMORE_TESTS_ON") == "postgresql"
ROWS = [row for row in table("continue-unfinished-work") if EVERYTHING or (row.point in SOME and row.about in SECOND)]


@pytest.fixture
def w(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv(KEY, "none")
    url = postgres.server().fresh()
    with world(tmp_path, url) as made:
        made.program = install(tmp_path)
        made.configure()
        made.plot.first = lambda request: Say(f"Part one is written. {reported(request)}")
        made.plot.second = lambda request: Say("Part two is written.")
        yield made
    postgres.drop(url)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_after_a_kill_another_worker_ends_it_as_the_table_says(w: World, row: Row) -> None:
    continued_by_another(w, row, 2 if row.about in SECOND else 1)
    assert w.rows("select * from lease") == []
