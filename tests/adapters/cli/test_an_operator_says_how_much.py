"""An operator opens and closes the breaker, acts on advice and has texts dropped, each only when that is said."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

from tests.adapters.cli.conftest import Run, Story

POLICY = "continue-unfinished-work"


def budgets(home: Path, text: str) -> None:
    """These instead of those that `init` writes at the end of the file."""
    file = home / "oncemore.yaml"
    written = file.read_text()
    file.write_text(f"{written[: written.index('budgets:')]}budgets: {text}\n")


def test_a_breaker_that_never_opened_is_closed(run: Run, waiting: Path) -> None:
    budgets(waiting, "{}")
    answer = run("breaker", "--home", waiting)
    assert (answer.exit_code, answer.stdout) == (0, "the breaker is closed; it never opened\n")


def test_opened_and_closed_by_hand_with_reasons(run: Run, waiting: Path) -> None:
    budgets(waiting, "{per_hour: 3, routes: {codex: {in_flight: 2}}}")
    opened = run("breaker", "open", "--why", "the provider fails", "--home", waiting)
    assert opened.exit_code == 0
    assert "the provider fails" in opened.stdout
    assert f"oncemore breaker --home {waiting} close --why TEXT" in opened.stdout
    assert run("breaker", "open", "--why", "again", "--home", waiting).exit_code == 1
    told = json.loads(run("breaker", "--format", "json", "--home", waiting).stdout)
    assert (told["breaker"]["state"], told["breaker"]["why"]) == ("open", "the provider fails")
    assert told["budgets"] == [
        {"budget": "per_hour", "used": 0, "limit": 3, "waiting": 0},
        {"budget": "in_flight:codex", "used": 0, "limit": 2, "waiting": 0},
    ]
    assert run("breaker", "close", "--why", "it is back", "--home", waiting).exit_code == 0
    assert run("breaker", "close", "--why", "again", "--home", waiting).exit_code == 1


def test_a_change_of_the_breaker_needs_a_reason_and_a_reason_a_change(run: Run, waiting: Path) -> None:
    for arguments in (["open"], ["open", "--why", " "], ["--why", "x"], ["burn", "--why", "x"]):
        assert run("breaker", *arguments, "--home", waiting).exit_code == 2, arguments


def test_nothing_is_acted_on_that_nobody_advised(run: Run, story: Story, waiting: Path) -> None:
    answer = run("act", story.request, "--why", "hurry", "--home", waiting)
    assert (answer.exit_code, "E202" in answer.stderr) == (1, True)
    assert run("act", "r-none", "--why", "hurry", "--home", waiting).exit_code == 2
    assert run("act", story.request, "--home", waiting).exit_code == 2


def test_texts_are_counted_and_dropped_only_when_that_is_said(run: Run, story: Story, tmp_path: Path) -> None:
    home = tmp_path / "done"
    shutil.copytree(story.done, home)
    assert run("retention", "--home", home).exit_code == 2
    assert run("retention", "--older-than", "soon", "--home", home).exit_code == 2
    answer = run("retention", "--older-than", "90d", "--home", home)
    assert (answer.exit_code, answer.stdout) == (
        0,
        "0 texts of 0 characters and the decisions on 0 posted cases would be dropped; --drop does it\n",
    )
    with sqlite3.connect(home / "data" / "oncemore.db") as database:
        database.execute("update text set stored_at = 1")
        database.execute("update request set created_at = 1")
        database.execute("drop trigger event_update")
        database.execute("update event set at = 1")
    database.close()
    counted = json.loads(run("retention", "--older-than", "90d", "--format", "json", "--home", home).stdout)
    assert counted["texts"] > 3
    dropped = json.loads(run("retention", "--older-than", "90d", "--drop", "--format", "json", "--home", home).stdout)
    assert dropped == counted | {"dropped": True}
    shown = run("show", story.request, "--home", home).stdout
    assert "(no longer kept)" in shown
    assert "Part one" not in shown


def test_what_a_worker_does_may_be_told_as_json_with_ids_and_no_words(run: Run, story: Story, waiting: Path) -> None:
    # A stop leaves something to do that needs no model.
    assert run("stop", story.request, "--why", "zugunruhe", "--home", waiting).exit_code == 0
    answer = run("work", "--once", "--log", "json", "--home", waiting)
    assert answer.exit_code == 0, answer.output
    told = [json.loads(line) for line in answer.stdout.splitlines()]
    assert {one["request"] for one in told} == {story.request}
    assert "frozen" in {one["event"] for one in told}
    assert all({"time", "request", "event"} <= one.keys() for one in told)
    assert "zugunruhe" not in answer.output
