"""An operator stops, releases and changes levels; each is recorded with its reason, and nothing else is overridden."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run, Story
from tests.adapters.cli.rule_files import POLICY


def events(run: Run, home: Path, request: str, kind: str) -> list[dict[str, object]]:
    told = json.loads(run("show", request, "--format", "json", "--home", home).stdout)
    return [entry for entry in told["timeline"] if entry["kind"] == kind]


def test_a_stop_is_recorded_with_its_reason_and_listed(run: Run, story: Story, waiting: Path) -> None:
    assert run("stop", story.request, "--why", "no longer wanted", "--home", waiting).exit_code == 0
    assert events(run, waiting, story.request, "stopped")[0]["why"] == "no longer wanted"
    assert json.loads(run("requests", "--format", "json", "--home", waiting).stdout) == []
    listed = json.loads(run("requests", "--state", "stopped", "--format", "json", "--home", waiting).stdout)
    assert listed[0]["request"] == story.request


def test_what_has_ended_is_not_stopped_again(run: Run, story: Story, waiting: Path) -> None:
    run("stop", story.request, "--why", "no longer wanted", "--home", waiting)
    answer = run("stop", story.request, "--why", "twice", "--home", waiting)
    assert answer.exit_code == 1
    assert "E202" in answer.stderr


@pytest.mark.parametrize("command", ["stop", "release"])
def test_a_reason_is_needed(run: Run, story: Story, waiting: Path, command: str) -> None:
    assert run(command, story.request, "--home", waiting).exit_code == 2
    assert run(command, story.request, "--why", "  ", "--home", waiting).exit_code == 2


def test_a_release_is_recorded_and_overrides_no_gate(run: Run, story: Story, waiting: Path) -> None:
    answer = run("release", story.request, "--why", "looked at it", "--home", waiting)
    assert answer.exit_code == 0
    assert answer.stdout == f"{story.request} was not held; looked at again now\n"
    entry = events(run, waiting, story.request, "released")[0]
    assert (entry["why"], entry["saw"], entry["close"]) == ("looked at it", None, False)
    assert events(run, waiting, story.request, "reserved") == []


def test_a_release_of_what_is_held_says_released(run: Run, story: Story, waiting: Path) -> None:
    standing(run, waiting, "update request set due_at = null, held = 'a-policy: a-gate'")
    answer = run("release", story.request, "--why", "looked at it", "--home", waiting)
    assert answer.stdout == f"{story.request} released\n"
    shown = run("show", story.request, "--home", waiting).stdout
    assert "released by hand: looked at it" in shown
    assert "saw" not in shown and "close False" not in shown


def test_a_running_turn_is_not_released_but_can_be_stopped(run: Run, story: Story, waiting: Path) -> None:
    one = standing(run, waiting, *RUNNING)
    assert one["doing"] == "running"
    assert one["running_for"].endswith("s")
    listed = run("requests", "--home", waiting).stdout.splitlines()
    assert f"running {one['running_for']}"[:-2] in listed[1]
    for option in ([], ["--close"]):
        answer = run("release", story.request, "--why", "hurry", *option, "--home", waiting)
        assert answer.exit_code == 1
        assert f"oncemore stop --home {waiting} {story.request} --why TEXT" in answer.stderr
    assert events(run, waiting, story.request, "released") == []


def test_a_stop_is_shown_in_words(run: Run, story: Story, waiting: Path) -> None:
    run("stop", story.request, "--why", "no longer wanted", "--home", waiting)
    assert "stopped by the operator: no longer wanted" in run("show", story.request, "--home", waiting).stdout


def test_a_decision_is_shown_in_words(run: Run, story: Story) -> None:
    shown = run("show", story.request, "--home", story.waiting).stdout
    assert "wait, gate backoff does not hold, until" in shown
    assert "gate_failed" not in shown


def test_a_release_may_close(run: Run, story: Story, waiting: Path) -> None:
    assert run("release", story.request, "--why", "done by hand", "--close", "--home", waiting).exit_code == 0
    listed = json.loads(run("requests", "--state", "answered", "--format", "json", "--home", waiting).stdout)
    assert listed[0]["request"] == story.request


def test_what_is_not_uncertain_is_not_settled_by_a_person(run: Run, story: Story, waiting: Path) -> None:
    for saw in ("--delivered", "--not-delivered", "--ran", "--did-not-run"):
        answer = run("release", story.request, "--why", "saw it", saw, "--home", waiting)
        assert answer.exit_code == 1, saw
        assert "ambiguous" in answer.stderr


RUNNING = (
    "update session set active_turn = (select id from turn)",
    "update turn set status = 'running', ended_at = null",
)


def standing(run: Run, home: Path, *statements: str) -> dict[str, str]:
    """How the one Request stands after the journal was brought into another state."""
    with sqlite3.connect(home / "data" / "oncemore.db") as database:
        for (trigger,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f"drop trigger {trigger}")
        for statement in statements:
            database.execute(statement)
    database.close()
    listed = json.loads(run("requests", "--format", "json", "--home", home).stdout)
    assert len(listed) == 1
    one: dict[str, str] = listed[0]
    return one


def test_a_held_request_is_listed_with_its_release(run: Run, story: Story, waiting: Path) -> None:
    one = standing(run, waiting, "update request set due_at = null, held = 'a-policy: a-gate'")
    assert (one["doing"], one["gate"], one["until"]) == ("held", "a-policy: a-gate", None)
    assert one["helps"] == f"oncemore release --home {waiting} {story.request} --why TEXT"


def test_an_uncertain_start_is_listed_with_what_a_person_can_say(run: Run, story: Story, waiting: Path) -> None:
    one = standing(
        run,
        waiting,
        f"update request set held = '{story.request}-business-1 may have run: no answer'",
        "update turn set status = 'starting', ended_at = null",
    )
    assert one["helps"].endswith("--why TEXT --ran|--did-not-run")


def test_an_uncertain_reply_is_listed_with_what_a_person_can_say(run: Run, waiting: Path) -> None:
    one = standing(
        run,
        waiting,
        "update request set held = 'the reply answer may have been sent'",
        "update delivery set state = 'ambiguous'",
    )
    assert one["helps"].endswith("--why TEXT --delivered|--not-delivered")


def test_a_policy_that_only_watches_is_named_with_the_command_that_lets_it_act(run: Run, waiting: Path) -> None:
    one = standing(
        run,
        waiting,
        "update request set due_at = null",
        "update decision set outcome = 'fire', level = 'shadow'",
    )
    assert (one["doing"], one["gate"]) == ("rests", f"{POLICY}: would fire, is at shadow")
    assert one["helps"] == f"oncemore levels --home {waiting} {POLICY} enforce --why TEXT"


RESTS = "update request set due_at = null"


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["update decision set outcome = 'not_concerned'"], "no policy concerns it"),
        (["delete from decision"], "every policy is off"),
        (["update decision set outcome = 'deny', reason_gate = 'nothing-used'"], f"denied: {POLICY}: nothing-used"),
        (
            [
                "insert into attempt values ('{request}', 'work', 1, 'a-turn', 'sha256:0', 'failed', 0, "
                "'hard_timeout', 1, 2)",
            ],
            "the one continuation failed: hard_timeout",
        ),
    ],
)
def test_a_request_that_rests_says_why_and_what_helps(
    run: Run, story: Story, waiting: Path, statements: list[str], why: str
) -> None:
    one = standing(run, waiting, RESTS, *(each.format(request=story.request) for each in statements))
    assert (one["doing"], one["gate"]) == ("rests", why)
    assert "write again (oncemore ask" in one["helps"]
    assert f"oncemore release --home {waiting} {story.request} --why TEXT --close" in one["helps"]


def test_a_request_that_nobody_works_on_yet_is_listed_with_the_worker(run: Run) -> None:
    run("init", "home")
    run("ask", "first", "hello", "--home", "home")
    listed = json.loads(run("requests", "--format", "json", "--home", "home").stdout)
    assert (listed[0]["doing"], listed[0]["helps"]) == ("queued", "oncemore work --home home")


def test_levels_are_shown_and_changed_with_a_reason_and_an_end(run: Run, waiting: Path) -> None:
    before = json.loads(run("levels", "--format", "json", "--home", waiting).stdout)
    assert {one["policy"]: one["level"] for one in before}[POLICY] == "enforce"
    changed = run("levels", POLICY, "off", "--why", "an audit", "--until", "8h", "--format", "json", "--home", waiting)
    assert changed.exit_code == 0
    own = next(one for one in json.loads(changed.stdout) if one["policy"] == POLICY)
    assert (own["level"], own["why"]) == ("off", "an audit")
    assert own["until"] > own["since"]
    assert own["who"].startswith("operator")


def test_a_change_before_the_first_start_keeps_the_levels_file(run: Run) -> None:
    run("init", "home")
    Path("home/policies/levels.yaml").write_text(f"{POLICY}: advise\n")
    told = json.loads(run("levels", "--format", "json", "--home", "home").stdout)
    own = next(one for one in told if one["policy"] == POLICY)
    assert (own["level"], own["who"]) == ("advise", "levels file")


def test_to_look_at_levels_begins_no_journal(run: Run) -> None:
    run("init", "home")
    file = Path("home/policies/levels.yaml")
    for level in ("advise", "enforce"):
        file.write_text(f"{POLICY}: {level}\n")
        told = run("levels", POLICY, "--format", "json", "--home", "home")
        expected = {"level": level, "since": None, "until": None, "who": "levels file", "why": "before the first start"}
        assert json.loads(told.stdout) == [{"policy": POLICY, **expected}]
    assert not Path("home/data/oncemore.db").exists()
    run("ask", "first", "hello", "--home", "home")
    assert json.loads(run("levels", POLICY, "--format", "json", "--home", "home").stdout)[0]["level"] == "enforce"
    file.write_text(f"{POLICY}: shadow\n")
    run("levels", "retry-quota", "off", "--why", "an audit", "--home", "home")
    own = json.loads(run("levels", POLICY, "--format", "json", "--home", "home").stdout)[0]
    assert (own["level"], own["why"], own["since"] is None) == ("shadow", "first start", False)


def test_one_policys_level_can_be_looked_at(run: Run, waiting: Path) -> None:
    told = run("levels", POLICY, "--home", waiting)
    assert (told.exit_code, [line.split()[0] for line in told.stdout.splitlines()]) == (0, ["POLICY", POLICY])
    told = run("levels", "nothing-alike", "--home", waiting)
    assert (told.exit_code, f"there is {POLICY}" in told.stderr) == (2, True)


def test_a_change_that_is_not_whole_is_a_usage_error(run: Run, waiting: Path) -> None:
    for arguments in (
        [POLICY, "off"],
        [POLICY, "--why", "x"],
        [POLICY, "loud", "--why", "x"],
        ["no-such-policy", "off", "--why", "x"],
        [POLICY, "off", "--why", "x", "--until", "soon"],
        [POLICY, "off", "--why", "x", "--until", "2001-01-01T00:00:00Z"],
    ):
        answer = run("levels", *arguments, "--home", waiting)
        assert answer.exit_code == 2, arguments
        assert "Traceback" not in answer.output


def test_a_message_may_come_from_standard_input(run: Run) -> None:
    run("init", "home")
    answer = run("ask", "first", "-", "--home", "home", stdin="two\nlines\n")
    assert answer.exit_code == 0
    told = json.loads(run("show", answer.stdout.strip(), "--format", "json", "--home", "home").stdout)
    assert told["timeline"][0]["text"] == "two\nlines\n"


def test_an_empty_message_and_an_unknown_workspace_are_refused(run: Run) -> None:
    run("init", "home")
    assert run("ask", "first", "  ", "--home", "home").exit_code == 2
    answer = run("ask", "frist", "hello", "--home", "home")
    assert (answer.exit_code, "did you mean 'first'?" in answer.stderr) == (2, True)
    assert run("requests", "--state", "all", "--home", "home").stdout == ""
