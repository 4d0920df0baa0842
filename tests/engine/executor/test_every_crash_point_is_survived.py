"""docs/crash-points.md is true: the worker dies at each point, another one goes on, and nothing happened twice."""

from __future__ import annotations

import pytest
from tests.engine.executor.crash_tables import RUNS, Row, table
from tests.engine.executor.world import BACKOFF, World, hanging

from oncemore.engine import events, prompts
from oncemore.engine.crashpoints import CrashPoint

ROWS = table("continue-unfinished-work")


def test_the_table_has_every_point() -> None:
    assert {row.point for row in ROWS} == {point.value for point in CrashPoint}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_after_a_kill_another_worker_ends_it_as_the_table_says(w: World, row: Row) -> None:
    request = w.ask()
    second = row.about in ("work-1", "recovery:work-1", "continuation")
    if second:
        w.work()
        w.offset = BACKOFF
        artifact, first = w.artifact(), w.first_turn(request)
    if row.point in RUNS:
        setattr(w.plot, "second" if second else "first", hanging(w))
    process = w.work_until(row.point, row.subject)
    if row.point in RUNS:
        assert w.model.wait_for_calls(row.calls)
    w.kill(process)
    w.offset = BACKOFF
    w.work()
    w.offset = 2 * BACKOFF
    w.work()

    assert len(w.native_turns()) == row.turns
    assert w.model.calls == row.calls
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
        assert w.artifact() == artifact
        assert w.first_turn(request) == first
    with w.house():
        assert events.verify(request) is None
