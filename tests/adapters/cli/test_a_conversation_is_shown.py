"""What `requests`, `show`, `explain`, `work` and `verify` say of a recovery that really happened."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import ASKED, Run, Story

from oncemore.adapters.cli.progress import Progress
from oncemore.adapters.wiring import opened
from oncemore.engine import executor
from oncemore.engine.crashpoints import CrashPoint


def test_a_request_that_waits_is_listed_with_its_gate_and_time_and_the_command_that_helps(
    run: Run, story: Story
) -> None:
    listed = json.loads(run("requests", "--format", "json", "--home", story.waiting).stdout)
    assert len(listed) == 1
    one = listed[0]
    assert (one["request"], one["workspace"], one["doing"]) == (story.request, "first", "waits")
    assert one["gate"] == "continue-unfinished-work: backoff"
    assert one["until"] > one["since"]
    assert one["helps"] == f"oncemore explain --home {story.waiting} --request {story.request}"


def test_the_command_that_helps_runs_as_it_is_written(run: Run, story: Story) -> None:
    listed = json.loads(run("requests", "--format", "json", "--home", story.waiting).stdout)
    helped = run(*listed[0]["helps"].split()[1:])
    assert helped.exit_code == 0
    assert "waits" in helped.stdout and "backoff" in helped.stdout


def test_an_answered_request_is_listed_only_when_asked_for(run: Run, story: Story) -> None:
    assert run("requests", "--home", story.done).stdout == ""
    listed = run("requests", "--state", "all", "--home", story.done).stdout
    assert story.request in listed and "answered" in listed


def test_show_tells_the_recovery_in_order_with_native_ids_and_both_replies(run: Run, story: Story) -> None:
    told = json.loads(run("show", story.request, "--format", "json", "--home", story.done).stdout)
    entries = told["timeline"]
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert entries[0]["kind"] == "message" and entries[0]["text"] == ASKED
    started = [entry for entry in entries if entry["kind"] == "started"]
    assert [entry["turn"] for entry in started] == [f"{story.request}-business-1", f"{story.request}-work-1"]
    assert {entry["native"]["thread"] for entry in started} == set(told["threads"])
    assert len({entry["native"]["turn"] for entry in started}) == 2
    replies = [(entry["stage"], entry["state"]) for entry in entries if entry["kind"] == "reply"]
    assert replies == [("answer", "verified"), ("recovery:work-1", "verified")]
    outcomes = [entry["outcome"] for entry in entries if entry["kind"] == "decided"]
    assert outcomes[0] == "wait" and "fire" in outcomes
    assert [entry["state"] for entry in entries if entry["kind"] == "settled"] == ["answered"]


def test_a_report_is_shown_as_a_quotation_without_control_characters(run: Run, story: Story) -> None:
    shown = run("show", story.request, "--home", story.done).stdout
    assert "in the agent's words" in shown
    assert "> completed: one.md" in shown and "> remaining: two.md" in shown
    assert "\x1b" not in shown and "\u200b" not in shown


def test_a_stored_decision_is_explained_by_the_beginning_of_its_id(run: Run, story: Story) -> None:
    told = json.loads(run("show", story.request, "--format", "json", "--home", story.done).stdout)
    fired = next(entry for entry in told["timeline"] if entry.get("outcome") == "fire")
    whole = run("explain", fired["decision"], "--format", "json", "--home", story.done)
    short = run("explain", fired["decision"][7:19], "--format", "json", "--home", story.done)
    assert whole.exit_code == short.exit_code == 0
    assert json.loads(whole.stdout) == json.loads(short.stdout)
    assert json.loads(whole.stdout)["decision"] == fired["decision"]
    assert json.loads(whole.stdout)["outcome"] == "fire"


def test_a_stored_decision_is_explained_from_what_was_stored_and_not_from_todays_rules(
    run: Run, story: Story, waiting: Path
) -> None:
    before = run("explain", "--request", story.request, "--home", waiting).stdout
    for file in (waiting / "policies").rglob("*.yaml"):
        file.unlink()
    after = run("explain", "--request", story.request, "--home", waiting)
    assert after.exit_code == 0
    assert after.stdout == before


def test_the_explanation_speaks_chinese_and_to_the_person_who_asked(run: Run, story: Story) -> None:
    said = run("explain", "--request", story.request, "--lang", "zh", "--audience", "user", "--home", story.waiting)
    assert "轮次结束后先静置一分钟" in said.stdout
    assert "turn." not in said.stdout


def test_an_unknown_decision_is_a_usage_error(run: Run, story: Story) -> None:
    answer = run("explain", "ffffffffffffffffffff", "--home", story.done)
    assert answer.exit_code == 2
    assert "E204" in answer.stderr and "Traceback" not in answer.output


def test_an_id_that_several_decisions_begin_with_is_refused(run: Run, story: Story) -> None:
    answer = run("explain", "sha256:", "--home", story.done)
    assert answer.exit_code == 2
    assert "more than one" in answer.stderr


def test_an_unknown_request_is_a_usage_error(run: Run, story: Story) -> None:
    for command in (["show", "r-none"], ["explain", "--request", "r-none"], ["stop", "r-none", "--why", "x"]):
        assert run(*command, "--home", story.done).exit_code == 2, command


def test_work_prints_ids_and_states_and_nobodys_words(story: Story) -> None:
    lines = story.worked.splitlines()
    assert all(story.request in line for line in lines)
    kinds = [line.split()[2] for line in lines]
    assert kinds.index("start_intent") < kinds.index("ended") < kinds.index("verified") < kinds.index("decided")
    assert len(lines) == len(set(lines))
    for words in (ASKED, "Part one", "one.md", "two.md"):
        assert words not in story.worked


def test_an_untouched_history_is_whole(run: Run, story: Story) -> None:
    answer = run("verify", "--home", story.done)
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "1 chain checked, 0 broken" in answer.stderr


def test_a_history_that_somebody_edited_is_broken(run: Run, waiting: Path) -> None:
    with sqlite3.connect(waiting / "data" / "oncemore.db") as database:
        triggers = [row[0] for row in database.execute("select name from sqlite_master where type = 'trigger'")]
        for trigger in triggers:
            database.execute(f"drop trigger {trigger}")
        database.execute("update event set body = '{}' where seq = 3")
    database.close()
    answer = run("verify", "--home", waiting)
    assert answer.exit_code == 1
    assert "event 3 was changed" in answer.stdout


def test_a_journal_without_requests_verifies_nothing(run: Run) -> None:
    run("init", "home")
    assert run("verify", "--home", "home").exit_code == 5


def test_work_goes_on_when_nobody_reads_what_it_prints(
    run: Run, story: Story, waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    with opened(waiting / "oncemore.yaml"):
        progress = Progress(0)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", Closed())
            progress.checkpoint(CrashPoint.AFTER_SETTLE, story.request)
        progress.tell()


def test_a_step_that_fails_is_told_in_one_line_without_what_the_error_says(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("somebody's words")

    run("init", "home")
    request = run("ask", "first", "hello", "--home", "home").stdout.strip()
    monkeypatch.setattr(executor, "advance", broken)
    answer = run("work", "--once", "--home", "home")
    assert answer.exit_code == 0
    assert f"error a step failed {request} ValueError" in answer.stderr.splitlines()
    assert "somebody's words" not in answer.output and "Traceback" not in answer.output
    listed = json.loads(run("requests", "--format", "json", "--home", "home").stdout)
    assert (listed[0]["doing"], listed[0]["gate"]) == ("held", "a step failed: ValueError")
