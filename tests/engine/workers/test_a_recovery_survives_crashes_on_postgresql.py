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
from tests.engine.executor.crash_tables import RUNS, Row, table
from tests.engine.executor.world import BACKOFF, KEY, World, hanging, reported, world

from oncemore.adapters.demo.model import Say
from oncemore.engine import events, prompts

SOME = ("after_reserve", "after_claim", "after_start_intent", "after_start_call", "after_settle", "after_send")
SECOND = ("work-1", "recovery:work-1", "continuation")
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
    request = w.ask()
    second = row.about in SECOND
    if second:
        w.work()
        w.offset = BACKOFF
        first = w.first_turn(request)
    if row.point in RUNS:
        setattr(w.plot, "second" if second else "first", hanging(w))
    process = w.work_until(row.point, row.subject)
    if row.point in RUNS:
        assert w.model.wait_for_calls(2 if second else 1)
    w.kill(process)
    w.offset = BACKOFF
    w.work()
    w.offset = 2 * BACKOFF
    w.work()

    assert len(w.native_turns()) == row.turns
    assert len(w.replies()) == row.replies
    assert sum(text in (prompts.FAILED["en"], prompts.NOT_CONTINUED["en"]) for text in w.replies()) == row.notices
    assert w.row("select state from request")["state"] == row.request
    attempts = [one["state"] for one in w.rows("select state from attempt")]
    assert attempts == ([] if row.attempt == "-" else [row.attempt])
    found = w.rows('select * from event where body like \'%"proof":"found"%\'')
    assert len(found) == (row.settled_by == "found")
    absent = w.rows("select * from event where kind in ('absent', 'not_sent')")
    assert len(absent) == (row.settled_by == "absent")
    if second:
        assert w.first_turn(request) == first
    assert w.rows("select * from lease") == []
    with w.house():
        assert events.verify(request) is None
