"""docs/crash-points.md is true: the worker dies at each point, another one goes on, and nothing happened twice."""

from __future__ import annotations

import pytest
from tests.engine.executor.world import BACKOFF, ROOT, World, hanging

from oncemore.engine import events, prompts
from oncemore.engine.crashpoints import CrashPoint

LINES = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs" / "crash-points.md").read_text().splitlines()
    if line.startswith(("| after_", "| while_"))
]
ASKED_ONCE = ("after_start_call", "after_start_receipt", "while_running")
"""Points at which the model is running: it hangs, so that the worker surely dies before the Turn's end."""


def test_the_table_has_every_point() -> None:
    assert {line[0] for line in LINES} == {point.value for point in CrashPoint}


@pytest.mark.parametrize("line", LINES, ids=[f"{line[0]}-{line[1]}" for line in LINES])
def test_after_a_kill_another_worker_ends_it_as_the_table_says(w: World, line: list[str]) -> None:
    point, about, _, settled_by, turns, calls, replies, notices, state, attempt = line
    request = w.ask()
    second = about in ("work-1", "recovery:work-1", "continuation")
    if second:
        w.work()
        w.offset = BACKOFF
        artifact, first = w.artifact(), w.first_turn(request)
    if point in ASKED_ONCE:
        setattr(w.plot, "second" if second else "first", hanging(w))
    process = w.work_until(point, "" if about == "continuation" else about)
    if point in ASKED_ONCE:
        assert w.model.wait_for_calls(int(calls))
    w.kill(process)
    w.offset = BACKOFF
    w.work()
    w.offset = 2 * BACKOFF
    w.work()

    assert len(w.native_turns()) == int(turns)
    assert w.model.calls == int(calls)
    assert len(w.replies()) == int(replies)
    assert sum(text in (prompts.FAILED["en"], prompts.NOT_CONTINUED["en"]) for text in w.replies()) == int(notices)
    assert w.row("select state from request")["state"] == state
    attempts = [row["state"] for row in w.rows("select state from attempt")]
    assert attempts == ([] if attempt == "-" else [attempt])
    found = w.rows('select * from event where body like \'%"proof":"found"%\'')
    assert len(found) == (settled_by == "found")
    absent = w.rows("select * from event where kind in ('absent', 'not_sent')")
    assert len(absent) == (settled_by == "absent")
    if second:
        assert w.artifact() == artifact
        assert w.first_turn(request) == first
    with w.house():
        assert events.verify(request) is None
