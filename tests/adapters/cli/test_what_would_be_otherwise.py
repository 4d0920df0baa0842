"""`explain --nearest`, `explain --since` and `try`: what if, what changed, and an edited rule on a case that was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run, Story
from tests.adapters.cli.rule_files import POLICY, case, continuation

LATER = "2099-01-01T00:00:00Z"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return continuation(tmp_path / "rules")


def nearest(run: Run, rules: Path, facts: Path, *options: str) -> str:
    told = run("explain", "--facts", facts, "--policies", rules, "--nearest", *options)
    assert told.exit_code == 0, told.output
    return told.stdout


def test_a_wait_that_is_enough_is_told_with_its_end(run: Run, rules: Path, tmp_path: Path) -> None:
    told = nearest(run, rules, case(tmp_path / "case.json", turn__ended_ago="37s"))
    assert re.search(r"\nNearest change: only time\. In 23s, at \S+Z, it would fire if nothing else changes\.\n", told)


def test_a_change_is_told_with_what_is_now_in_both_languages(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", session__state="active")
    assert nearest(run, rules, facts).endswith(
        "\nNearest change: with session.state idle (now active) it would fire now.\n"
    )
    assert nearest(run, rules, facts, "--lang", "zh").endswith(
        "\n最小改变：若 session.state 为 idle（现为 active），现在即可触发。\n"
    )


def test_the_change_that_is_told_makes_it_fire(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", session__state="active", native__background="running", turn__ended_ago="37s")
    told = json.loads(nearest(run, rules, facts, "--format", "json"))["nearest"]
    assert told["change"]["facts"] == {"session.state": "idle", "native.background": "none"}
    assert told["change"]["wait"] == "23s"
    changed = case(tmp_path / "changed.json", turn__ended_ago="60s")
    assert run("decide", "--facts", changed, "--policies", rules).exit_code == 0


def test_none_is_said_plainly_with_what_stands_in_the_way(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", source__state="edited")
    assert nearest(run, rules, facts).endswith(
        "\nNearest change: none. What source-unchanged asks for no person can change, and no time does.\n"
    )
    unconcerned = case(tmp_path / "case.json", turn__status="running")
    assert "The policy is not concerned" in nearest(run, rules, unconcerned)


def test_a_patience_that_ends_before_the_wait_is_named(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", turn__ended_ago="10s")
    stated = json.loads(facts.read_text())
    facts.write_text(json.dumps(stated | {"now": "2026-01-02T00:00:00Z", "waiting_since": "2026-01-01T00:00:30Z"}))
    assert nearest(run, rules, facts).endswith(
        "\nNearest change: none. Time would change what backoff asks for, but not within the patience of 24h; "
        "then a person has to look.\n"
    )
    assert nearest(run, rules, facts, "--lang", "zh").endswith(
        "\n最小改变：无。backoff 所要求的会随时间满足，但已超出等待上限 24h，届时由人查看。\n"
    )
    assert json.loads(nearest(run, rules, facts, "--format", "json"))["nearest"]["patience"] == "24h"


def test_what_fires_needs_no_change(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json")
    assert "Nearest" not in nearest(run, rules, facts)
    assert json.loads(nearest(run, rules, facts, "--format", "json"))["nearest"] is None


def test_the_person_who_asked_is_not_told_what_could_be_changed(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json")
    told = run("explain", "--facts", facts, "--policies", rules, "--nearest", "--audience", "user")
    assert (told.exit_code, "not for the person who asked" in told.stderr) == (2, True)


def test_a_stored_decision_has_a_nearest_change_too(run: Run, story: Story) -> None:
    told = run("explain", "--request", story.request, "--nearest", "--home", story.waiting)
    assert told.exit_code == 0
    assert re.search(r"Nearest change: only time\. In \w+, at ", told.stdout)


# What changed ---------------------------------------------------------------------------------------------------------


def test_what_changed_since_a_time_is_told_gate_by_gate(run: Run, story: Story) -> None:
    decided = json.loads(run("show", story.request, "--format", "json", "--home", story.done).stdout)["timeline"]
    first = next(entry["at"] for entry in decided if entry["kind"] == "decided")
    told = run("explain", "--request", story.request, "--since", first, "--home", story.done)
    assert told.exit_code == 0, told.output
    assert re.search(r"^Since \S+Z: wait -> fire\.$", told.stdout, re.MULTILINE)
    assert "  backoff: fail -> pass\n" in told.stdout
    assert re.search(r"\n    turn\.ended_ago: \d+\S* -> \S+\n", told.stdout)


def test_a_time_before_everything_stands_for_the_first_decision(run: Run, story: Story) -> None:
    told = run("explain", "--request", story.request, "--since", "99999h", "--home", story.done)
    assert "wait -> fire." in told.stdout


def test_that_nothing_changed_is_said(run: Run, story: Story) -> None:
    told = run("explain", "--request", story.request, "--since", LATER, "--home", story.waiting)
    assert told.exit_code == 0
    assert "Nothing changed since 20" in told.stdout


def test_what_changed_is_told_to_programs(run: Run, story: Story) -> None:
    told = run("explain", "--request", story.request, "--since", LATER, "--home", story.waiting, "--format", "json")
    [one] = json.loads(told.stdout)
    assert (one["policy"], one["outcome"], one["gates"]) == (POLICY, {"before": "wait", "after": "wait"}, [])


@pytest.mark.parametrize(
    ("since", "said"),
    [("yesterday", "how long ago"), ("2026-13-01T00:00:00Z", "no moment")],
)
def test_a_time_that_is_none_is_refused(run: Run, story: Story, since: str, said: str) -> None:
    told = run("explain", "--request", story.request, "--since", since, "--home", story.done)
    assert (told.exit_code, said in told.stderr) == (2, True), told.stderr


# An edited rule on a case that was ------------------------------------------------------------------------------------


def edited(story: Story, folder: Path, old: str, new: str) -> Path:
    rules = continuation(folder / "edited")
    file = rules / f"{POLICY}.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return file


def test_an_edited_policy_is_asked_about_the_case_that_was(run: Run, story: Story, tmp_path: Path) -> None:
    file = edited(story, tmp_path, 'duration("60s")', 'duration("0s")')
    told = run("try", file, "--request", story.request, "--home", story.waiting)
    assert told.exit_code == 0, told.output
    assert "wait -> fire" in told.stdout
    assert "  backoff: fail -> pass\n" in told.stdout
    assert '    - turn.ended_ago >= duration("60s")\n    + turn.ended_ago >= duration("0s")\n' in told.stdout


def test_nothing_is_stored_by_trying(run: Run, story: Story, tmp_path: Path) -> None:
    before = run("show", story.request, "--format", "json", "--home", story.waiting).stdout
    run("try", edited(story, tmp_path, "60s", "0s"), "--request", story.request, "--home", story.waiting)
    assert run("show", story.request, "--format", "json", "--home", story.waiting).stdout == before


def test_a_policy_as_it_is_gives_what_was_decided(run: Run, story: Story) -> None:
    told = run("try", POLICY, "--request", story.request, "--home", story.waiting)
    assert told.exit_code == 1
    assert "Nothing changed since 20" in told.stdout


def test_a_gate_that_is_taken_out_is_told(run: Run, story: Story, tmp_path: Path) -> None:
    gate = """\
  - id: backoff
    require: turn.ended_ago >= duration("60s")
    otherwise: wait
    why:
      en: A completed turn is left alone for a minute.
      zh: 轮次结束后先静置一分钟。
"""
    told = run("try", edited(story, tmp_path, gate, ""), "--request", story.request, "--home", story.waiting)
    assert told.exit_code == 0
    assert "  backoff: was fail, is not there any more\n" in told.stdout


def test_a_fact_that_was_not_read_then_is_unknown(run: Run, story: Story, tmp_path: Path) -> None:
    file = edited(story, tmp_path, 'turn.ended_ago >= duration("60s")', "material.bytes < 100")
    told = run("try", file, "--request", story.request, "--home", story.waiting, "--format", "json")
    assert told.exit_code == 4
    [gate] = [one for one in json.loads(told.stdout)["difference"]["gates"] if one["id"] == "backoff"]
    assert (gate["before"], gate["after"]) == ("fail", "unknown")
    assert {fact["fact"] for fact in gate["facts"]} == {"turn.ended_ago", "material.bytes"}


def test_a_policy_that_was_not_asked_then_says_so(run: Run, story: Story, tmp_path: Path) -> None:
    file = edited(story, tmp_path, f"policy: {POLICY}", "policy: another")
    told = run("try", file, "--request", story.request, "--home", story.waiting)
    assert "The policy was not asked then." in told.stdout


@pytest.mark.parametrize(
    ("policy", "request_", "exit_code", "said"),
    [
        ("continue-unfinished-wrok", None, 2, "did you mean 'continue-unfinished-work'?"),
        ("nowhere.yaml", None, 2, "nowhere.yaml is not there"),
        (POLICY, "r-0", 2, "there is no Request r-0"),
    ],
)
def test_what_is_not_there_is_said(
    run: Run, story: Story, policy: str, request_: str | None, exit_code: int, said: str
) -> None:
    told = run("try", policy, "--request", request_ or story.request, "--home", story.waiting)
    assert (told.exit_code, said in told.stderr) == (exit_code, True), told.output


@pytest.mark.parametrize("since", [(), ("--since", "1h")])
def test_a_policy_that_did_not_decide_is_answered_with_those_that_did(
    run: Run, story: Story, since: tuple[str, ...]
) -> None:
    asked = ("explain", "--request", story.request, *since, "--home", story.waiting, "--policy")
    told = run(*asked, "continue-unfinished-wrok")
    assert (told.exit_code, f"did you mean '{POLICY}'?" in told.stderr) == (2, True)
    told = run(*asked, "nope")
    assert (told.exit_code, f"'nope' is there; there is {POLICY}" in told.stderr) == (2, True)
