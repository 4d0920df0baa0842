"""`check`, `test` and `facts` say what they found, and tell it by their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import FIVE_MISTAKES, POLICY, continuation

from oncemore.engine import decision
from oncemore.rules.cases import TEST_NOW
from oncemore.rules.examples import EXAMPLES
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.vocabulary import FACTS


@pytest.fixture
def five(tmp_path: Path) -> Path:
    file = tmp_path / "five.yaml"
    file.write_text(FIVE_MISTAKES)
    return file


def cases(folder: Path, text: str) -> Path:
    file = folder / f"{POLICY}_test.yaml"
    file.write_text(f"policy: {POLICY}\nbase: {{turn.status: running}}\ncases:\n{text}")
    return file


def test_the_shipped_policies_are_clean(run: Run) -> None:
    answer = run("check", shipped_policies())
    assert (answer.exit_code, answer.stdout) == (0, "")


def test_five_mistakes_in_twelve_lines_are_five_frames_and_keep_rules_from_loading(run: Run, five: Path) -> None:
    answer = run("check", five)
    assert answer.exit_code == 3
    frames = [line for line in answer.stdout.splitlines() if line.startswith("error[")]
    places = [line.strip() for line in answer.stdout.splitlines() if line.lstrip().startswith("-->")]
    assert len(frames) == len(places) == 5
    lines = [int(place.split(":")[1]) for place in places]
    assert lines == sorted(lines)
    assert answer.stdout.splitlines()[-1] == "5 errors, 0 warnings in 1 file"


def test_an_inverted_condition_is_shown_as_it_should_be_written(run: Run, five: Path) -> None:
    assert "request.opted_out == false" in run("check", five).stdout


@pytest.mark.parametrize("style", ["compact", "json", "github"])
def test_every_format_tells_all_five(run: Run, five: Path, style: str) -> None:
    answer = run("check", five, "--format", style)
    assert answer.exit_code == 3
    found = json.loads(answer.stdout) if style == "json" else answer.stdout.splitlines()
    assert len(found) == 5
    if style == "compact":
        assert all(line.startswith(f"{five}:") for line in found)
    if style == "github":
        assert all(line.startswith("::error file=") for line in found)


def test_a_warning_alone_means_no_and_not_broken(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    (folder / "levels.yaml").write_text("no-such-policy: shadow\n")
    answer = run("check", folder)
    assert answer.exit_code == 1
    assert "warning[" in answer.stdout and "0 errors, 1 warning in 1 file" in answer.stdout


def test_nothing_to_check_is_not_clean(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("check", "empty").exit_code == 5


def test_nothing_to_run_is_not_a_pass(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = run("test", "empty")
    assert answer.exit_code == 5
    assert "no case ran" in answer.stdout and "*_test.yaml" in answer.stdout


def test_a_word_that_no_case_holds_runs_nothing(run: Run) -> None:
    assert run("test", shipped_policies(), "-k", "no case is called so").exit_code == 5


def test_the_shipped_tests_pass_through_the_real_engine(run: Run) -> None:
    answer = run("test", shipped_policies(), "-k", "edited")
    assert answer.exit_code == 0
    assert answer.stdout.endswith("passed, 0 failed, 0 errors\n") and not answer.stdout.startswith("0 ")


def test_a_failure_shows_what_was_expected_and_the_ladder_of_gates(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    cases(folder, "  - {name: it fires, expect: {outcome: fire}}\n")
    answer = run("test", folder)
    assert answer.exit_code == 1
    assert "expected fire" in answer.stdout and "actual   not_concerned" in answer.stdout
    assert "turn.status" in answer.stdout
    assert "0 passed, 1 failed, 0 errors" in answer.stdout


def test_a_gate_that_is_not_there_is_framed_before_anything_of_the_file_runs(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    file = cases(folder, "  - {name: odd, expect: {blocked_by: [backof]}}\n  - {name: good, expect: {outcome: wait}}\n")
    for command in ("test", "check"):
        answer = run(command, folder)
        assert answer.exit_code == 3
        assert f"{file}:4:" in answer.stdout and "did you mean `backoff`?" in answer.stdout
    assert "0 passed, 0 failed, 0 errors, 1 file that did not load" in run("test", folder).stdout


def test_tests_of_a_policy_that_is_not_there_are_framed(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    file = cases(folder, "")
    file.write_text("policy: continue-unfinished-wrok\ncases:\n  - {name: any, expect: {outcome: fire}}\n")
    for command in ("test", "check"):
        answer = run(command, folder)
        assert answer.exit_code == 3
        assert f"{file}:1:9" in answer.stdout and "did you mean `continue-unfinished-work`?" in answer.stdout


def test_a_file_that_is_no_test_file_by_its_name_is_told_how_tests_are_named(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    cases(folder, "  - {name: runs, expect: {outcome: not_concerned}}\n")
    answer = run("test", folder / f"{POLICY}.yaml")
    assert answer.exit_code == 2
    assert "tests are named *_test.yaml" in answer.stderr and f"{POLICY}_test.yaml?" in answer.stderr


def test_a_test_file_that_does_not_load_is_framed_and_the_others_still_run(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    cases(folder, "  - {name: runs, expect: {outcome: not_concerned}}\n")
    (folder / "broken_test.yaml").write_text(f"policy: {POLICY}\ncases:\n  - {{name: says nothing}}\n")
    answer = run("test", folder)
    assert answer.exit_code == 3
    assert "broken_test.yaml:3" in answer.stdout
    assert "1 passed, 0 failed, 0 errors, 1 file that did not load" in answer.stdout


def test_tests_of_rules_that_do_not_load_do_not_run(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    cases(folder, "  - {name: runs, expect: {outcome: not_concerned}}\n")
    (folder / "five.yaml").write_text(FIVE_MISTAKES)
    answer = run("test", folder)
    assert answer.exit_code == 3
    assert "Traceback" not in answer.output


def test_junit_tells_failures_from_errors(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = continuation(tmp_path / "rules")
    cases(
        folder,
        "  - {name: passes, expect: {outcome: not_concerned}}\n"
        "  - {name: fails, expect: {outcome: fire}}\n"
        "  - {name: errs, now: 2026-06-01T00:00:00Z, expect: {outcome: fire}}\n",
    )
    really = decision.decide

    def sometimes(evaluator: Any, case: Any, **how: Any) -> Any:
        if case.now != TEST_NOW:
            raise ArithmeticError("no answer")
        return really(evaluator, case, **how)

    monkeypatch.setattr(decision, "decide", sometimes)
    answer = run("test", folder, "--junit", "out.xml")
    assert answer.exit_code == 1
    assert "1 passed, 1 failed, 1 error" in answer.stdout
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [len(case) for case in suite] == [0, 1, 1]
    assert [case[0].tag for case in suite if len(case)] == ["failure", "error"]


def test_json_holds_every_case_and_the_record_of_those_that_did_not_pass(run: Run, tmp_path: Path) -> None:
    folder = continuation(tmp_path / "rules")
    cases(
        folder,
        "  - {name: passes, expect: {outcome: not_concerned}}\n  - {name: fails, expect: {outcome: fire}}\n",
    )
    told = json.loads(run("test", folder, "--format", "json").stdout)
    assert (told["passed"], told["failed"], told["errors"]) == (1, 1, 0)
    assert told["cases"][0]["record"] is None
    assert told["cases"][1]["record"]["outcome"] == "not_concerned"


@pytest.mark.parametrize(("columns", "widest"), [("", 80), ("60", 60), ("120", 120)])
def test_facts_are_listed_as_wide_as_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = run("facts").stdout.splitlines()
    assert max(map(len, lines)) <= widest
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(FACTS)
    told = " ".join(" ".join(lines).split())
    assert all(fact.meaning in told and EXAMPLES[fact.name] in told for fact in FACTS.values())


def test_one_fact_is_described_with_an_example(run: Run) -> None:
    described = json.loads(run("facts", "turn.ended_ago", "--format", "json").stdout)
    assert (described["type"], described["example"]) == ("duration", EXAMPLES["turn.ended_ago"])
    told = run("facts", "turn.ended_ago").stdout
    assert "rises with the clock" in told and f"for example  {EXAMPLES['turn.ended_ago']}" in told


def test_an_unknown_fact_is_answered_with_the_nearest(run: Run) -> None:
    answer = run("facts", "native.raed")
    assert answer.exit_code == 2
    assert "native.read" in answer.stderr


def test_a_rule_file_of_another_ending_is_said_to_be_passed_over(run: Run, tmp_path: Path) -> None:
    rules = continuation(tmp_path / "rules")
    assert "passed over" not in run("check", rules).stderr
    (rules / "groups").mkdir(exist_ok=True)
    for file in ("more.yml", "groups/shared.yml", "more_test.yml"):
        (rules / file).write_text("nobody: reads this\n")
    told = run("check", rules)
    assert (told.exit_code, told.stderr.count("is passed over: the names of rule files end in .yaml")) == (0, 3)
    (rules / f"{POLICY}.yaml").rename(rules / f"{POLICY}.yml")
    told = run("check", rules)
    assert (told.exit_code, told.stderr.count("passed over")) == (5, 4)


def test_a_fact_that_is_nothing_alike_is_answered_with_where_all_of_them_are(run: Run) -> None:
    told = run("facts", "nope")
    assert (told.exit_code, told.stderr) == (
        2, "error[R302] there is no fact 'nope'; `oncemore facts` lists all of them\n"
    )  # fmt: skip
