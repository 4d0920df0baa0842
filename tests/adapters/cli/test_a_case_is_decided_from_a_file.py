"""`decide` and `explain --facts`: the answer, and how it is told by the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import FIVE_MISTAKES, POLICY, case, continuation


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return continuation(tmp_path / "rules")


def test_a_case_that_fires_is_a_yes(run: Run, rules: Path, tmp_path: Path) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json"), "--policies", rules)
    assert answer.exit_code == 0
    told = json.loads(answer.stdout)
    assert (told["outcome"], told["fired"]) == ("fire", POLICY)
    record = told["decisions"][0]
    assert (record["stage"], record["origin"], record["level"]) == ("asked", "posted", None)


@pytest.mark.parametrize(
    ("fact", "value", "outcome", "gate"),
    [
        ("turn__ended_ago", "10s", "wait", "backoff"),
        ("source__state", "edited", "hold", "source-unchanged"),
        ("attempts__work", 1, "deny", "nothing-used"),
        ("turn__status", "running", "not_concerned", None),
    ],
)
def test_any_other_answer_is_a_no(
    run: Run, rules: Path, tmp_path: Path, fact: str, value: object, outcome: str, gate: str | None
) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json", **{fact: value}), "--policies", rules)
    assert answer.exit_code == 1
    told = json.loads(answer.stdout)
    assert (told["outcome"], told["fired"]) == (outcome, None)
    assert told["decisions"][0]["reason"]["gate"] == gate


def test_unknown_evidence_is_neither(run: Run, rules: Path, tmp_path: Path) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json", missing=("native.read",)), "--policies", rules)
    assert answer.exit_code == 4
    assert json.loads(answer.stdout)["decisions"][0]["reason"] == {"kind": "evidence_missing", "gate": "native-read"}


def test_unknown_evidence_that_decides_nothing_leaves_it_a_no(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", missing=("native.read",), source__state="edited")
    assert run("decide", "--facts", facts, "--policies", rules).exit_code == 1


def test_a_policy_in_shadow_does_not_fire_by_its_level(run: Run, rules: Path, tmp_path: Path) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json"), "--policies", rules, "--levels")
    assert answer.exit_code == 1
    record = json.loads(answer.stdout)["decisions"][0]
    assert (record["outcome"], record["level"]) == ("fire", "shadow")


def test_a_level_is_named_with_what_it_makes_of_the_answer(run: Run, rules: Path, tmp_path: Path) -> None:
    fires = case(tmp_path / "case.json")
    told = run("decide", "--facts", fires, "--policies", rules, "--levels", "--format", "pretty").stdout
    assert told.startswith(f"{POLICY} would fire; in shadow, so nothing would be done.\n")
    assert "may be done" not in told
    (rules / "levels.yaml").write_text(f"{POLICY}: enforce\n")
    told = run("decide", "--facts", fires, "--policies", rules, "--levels", "--format", "pretty").stdout
    assert "may be done. Its level is enforce." in told.splitlines()[0]
    told = run("decide", "--facts", fires, "--policies", rules, "--format", "pretty").stdout
    assert "level" not in told.splitlines()[0]


def test_policies_that_are_all_off_are_said_to_be(run: Run, rules: Path, tmp_path: Path) -> None:
    (rules / "levels.yaml").write_text(f"{POLICY}: off\n")
    facts = case(tmp_path / "case.json")
    answer = run("decide", "--facts", facts, "--policies", rules, "--levels", "--format", "pretty")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "every one is off" in answer.stderr


def test_a_case_may_come_from_standard_input(run: Run, rules: Path, tmp_path: Path) -> None:
    text = case(tmp_path / "case.json").read_text()
    answer = run("decide", "--facts", "-", "--policies", rules, stdin=text)
    assert (answer.exit_code, json.loads(answer.stdout)["outcome"]) == (0, "fire")
    answer = run("decide", "--facts", "-", "--policies", rules, stdin=text[:-3])
    assert answer.exit_code == 2
    assert "--> <stdin>:1:" in answer.stderr and "not JSON" in answer.stderr


def test_a_policy_that_is_not_concerned_is_told_by_its_when_alone(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", turn__status="running")
    told = run("explain", "--facts", facts, "--policies", rules).stdout
    assert "turn.status is running, wanted == completed" in told
    assert "backoff" not in told
    assert "backoff" in run("explain", "--facts", facts, "--policies", rules, "--all-gates").stdout


def test_no_sentence_is_told_twice_to_the_person_who_asked(run: Run, rules: Path, tmp_path: Path) -> None:
    text = (rules / f"{POLICY}.yaml").read_text("utf-8")
    (rules / "other.yaml").write_text(text.replace(f"policy: {POLICY}", "policy: other"))
    facts = case(tmp_path / "case.json")
    told = run("explain", "--facts", facts, "--policies", rules, "--audience", "user").stdout
    assert told == "Somebody has to look at it.\n"
    assert len(run("explain", "--facts", facts, "--policies", rules).stdout.split("none of them acts")) == 3


def test_one_policy_can_be_asked_alone(run: Run, tmp_path: Path) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json"), "--policy", POLICY)
    assert [record["policy"]["name"] for record in json.loads(answer.stdout)["decisions"]] == [POLICY]


def test_a_policy_that_is_not_there_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    answer = run("decide", "--facts", case(tmp_path / "case.json"), "--policy", "continue-unfinished-wrok")
    assert answer.exit_code == 2
    assert POLICY in answer.stderr


def test_a_bad_facts_file_is_framed_whole(run: Run, rules: Path, tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text("facts:\n  turn.statsu: completed\n  turn.ended_ago: -3s\n")
    answer = run("decide", "--facts", file, "--policies", rules)
    assert answer.exit_code == 2
    assert answer.stderr.count(f"--> {file}:") == 2
    assert answer.stdout == ""


def test_rules_that_do_not_load_are_framed(run: Run, rules: Path, tmp_path: Path) -> None:
    (rules / "five.yaml").write_text(FIVE_MISTAKES)
    answer = run("decide", "--facts", case(tmp_path / "case.json"), "--policies", rules)
    assert answer.exit_code == 3
    assert answer.stderr.count("error[") == 5


def test_which_policies_are_used_is_said(
    run: Run, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = case(tmp_path / "case.json")
    assert "(shipped)" in run("decide", "--facts", facts).stderr
    rules.rename(tmp_path / "policies")
    assert "policies: policies (the current folder)" in run("decide", "--facts", facts).stderr
    other = continuation(tmp_path / "other")
    monkeypatch.setenv("ONCEMORE_POLICIES", str(other))
    assert f"policies: {other} (ONCEMORE_POLICIES)" in run("decide", "--facts", facts).stderr
    assert "policies: policies (--policies)" in run("decide", "--facts", facts, "--policies", "policies").stderr


def test_the_same_case_at_the_same_time_gives_the_same_bytes(run: Run, rules: Path, tmp_path: Path) -> None:
    file = case(tmp_path / "case.json")
    file.write_text(json.dumps({"now": "2026-11-30T12:00:00Z", **json.loads(file.read_text())}))
    first = run("decide", "--facts", file, "--policies", rules).stdout
    assert first == run("decide", "--facts", file, "--policies", rules).stdout
    assert '"at":"2026-11-30T12:00:00.000Z"' in first


def test_a_case_from_a_file_is_explained(run: Run, rules: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json", turn__ended_ago="37s")
    answer = run("explain", "--facts", facts, "--policies", rules)
    assert answer.exit_code == 0
    assert "backoff" in answer.stdout.splitlines()[0]
    assert "37s" in answer.stdout and ">= 60s" in answer.stdout.replace("1m", "60s")


def test_explain_wants_exactly_one_thing_to_explain(run: Run, tmp_path: Path) -> None:
    assert run("explain").exit_code == 2
    assert run("explain", "abc", "--facts", case(tmp_path / "case.json")).exit_code == 2
    for arguments in (["--request", ""], [""]):
        answer = run("explain", *arguments)
        assert answer.exit_code == 2
        assert "is empty" in answer.stderr


USUAL = ["ONCEMORE_POLICIES", "./policies if it holds a policy", "the shipped ones"]


@pytest.mark.parametrize(
    ("command", "order"),
    [
        ("check", ["left out:", "ONCEMORE_POLICIES", "./policies if it holds a policy", "the shipped ones"]),
        ("test", ["Left out: those beside the test file", *USUAL]),
        ("decide", ["Left out:", *USUAL]),
        ("explain", ["Left out:", *USUAL]),
        ("work", ["Left out: `policies:` of oncemore.yaml", *USUAL]),
        ("levels", ["Left out: `policies:` of oncemore.yaml", *USUAL]),
    ],
)
def test_help_says_in_which_order_policies_are_looked_for(run: Run, command: str, order: list[str]) -> None:
    told = " ".join(run(command, "--help").stdout.split())
    begin = told.index(order[0])
    places = [told.index(part, begin) for part in order]
    assert places == sorted(places)
