"""`test --coverage`, `--mutate` and `--watch`, and `cases`, say how much of the rules their tests hold."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.shipped import shipped_policies

RULES = policy(
    gate("native.latest"),
    gate("native.steps < 3", "few").replace("wait", "hold"),
    then="{action: settle_turn}",
)
HEAD = "policy: p\nbase: {turn.status: completed, native.latest: true, native.steps: 2}\ncases:\n"
FIRES = "  - name: fires\n    expect: {outcome: fire}\n"
REST = """\
  - name: of a failed turn nothing is said
    facts: {turn.status: failed}
    expect: {outcome: not_concerned}
  - name: an older turn waits
    facts: {native.latest: false}
    expect: {outcome: wait, blocked_by: [one]}
  - name: three steps are too many
    facts: {native.steps: 3}
    expect: {outcome: hold, blocked_by: [few]}
  - name: what is not known waits
    missing: [native.latest, native.steps]
    expect: {outcome: wait, unknown: [one, few]}
"""


def written(folder: Path, cases: str = FIRES + REST) -> Path:
    write(folder, RULES)
    return write(folder, HEAD + cases, "p_test.yaml")


def test_the_tests_of_the_shipped_policies_see_everything_and_notice_every_mutant(run: Run) -> None:
    told = run("test", shipped_policies(), "--coverage", "--min-coverage", "100", "--mutate")
    assert told.exit_code == 0, told.stdout
    found = re.findall(r"^([a-z-]+): (\d+) of (\d+) (results|mutants)", told.stdout, re.MULTILINE)
    assert len(found) == 14
    assert all(seen == all_ and int(all_) > 20 for _, seen, all_, _ in found)


def test_what_no_test_has_seen_is_named(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path, FIRES), "--coverage")
    assert told.exit_code == 0
    assert "p: 3 of 10 results and outcomes seen (30.0 %)\n" in told.stdout
    for line in ("gate one is never false", "gate few is never unknown", "the outcome not_concerned never comes"):
        assert f"  {line}\n" in told.stdout


@pytest.mark.parametrize(("least", "exit_code"), [("30", 0), ("30.1", 1), ("100", 1)])
def test_tests_that_see_too_little_fail(run: Run, tmp_path: Path, least: str, exit_code: int) -> None:
    told = run("test", written(tmp_path, FIRES), "--min-coverage", least)
    assert told.exit_code == exit_code
    assert (f"below {least} %" in told.stdout) is bool(exit_code)


def test_a_whole_set_of_tests_sees_everything(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path), "--min-coverage", "100", "--format", "json")
    assert told.exit_code == 0
    [of_policy] = json.loads(told.stdout)["coverage"]
    assert of_policy["gates"]["few"] == {"pass": 2, "fail": 1, "unknown": 1}
    assert of_policy["outcomes"] == {"fire": 1, "wait": 2, "hold": 1, "not_concerned": 1}


def test_a_mutant_that_survives_is_shown_with_a_test_that_notices_it(run: Run, tmp_path: Path) -> None:
    weaker = REST.replace("native.steps: 3", "native.steps: 4")
    file = written(tmp_path, FIRES + weaker)
    told = run("test", file, "--mutate")
    assert told.exit_code == 1
    survivor = r"survives \S+/p\.yaml:11:14 gate few: `native\.steps < 3` became `native\.steps <= 3`\n"
    assert re.search(survivor + "  no test fails; this one would:\n", told.stdout)
    shown = re.findall(r"^  - name:.*\n(?:    .*\n)*", told.stdout, re.MULTILINE)
    assert len(shown) == 1
    file.write_text(file.read_text() + shown[0])
    again = run("test", file, "--mutate")
    assert (again.exit_code, "(100.0 %)" in again.stdout) == (0, True), again.stdout


def test_survivors_are_told_to_programs_as_well(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path, FIRES), "--mutate", "--format", "json")
    assert told.exit_code == 1
    [found] = json.loads(told.stdout)["mutation"]
    alive = [one for one in found["mutants"] if one["killed_by"] is None]
    assert found["percent"] < 100
    assert {one["gate"] for one in alive} == {None, "one", "few"}
    assert all(one["test"].startswith("  - name: ") for one in alive)


def test_one_test_that_notices_several_survivors_is_shown_once(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path, FIRES), "--mutate")
    names = re.findall(r"- name: (.*)", told.stdout)
    assert len(names) == len(set(names)) < told.stdout.count("survives ")
    assert not any(name.endswith("(2)") for name in names)


def test_no_mutant_is_tried_while_a_test_fails(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path, FIRES.replace("fire}", "wait}")), "--mutate")
    assert told.exit_code == 1
    assert "no mutant was tried" in told.stderr
    assert "mutants" not in told.stdout


@pytest.mark.parametrize("option", ["--coverage", "--mutate", "--min-coverage=5"])
def test_a_part_of_the_tests_is_not_measured(run: Run, tmp_path: Path, option: str) -> None:
    told = run("test", written(tmp_path), "-k", "fires", option)
    assert (told.exit_code, "instead of -k" in told.stderr) == (2, True)


def test_a_failing_test_marks_the_gate_that_is_otherwise(run: Run, tmp_path: Path) -> None:
    told = run("test", written(tmp_path, FIRES + REST.replace("blocked_by: [one]", "blocked_by: [few]")))
    assert told.exit_code == 1
    lines = [line for line in told.stdout.splitlines() if line.startswith("  | > ")]
    assert [line.split()[3] for line in lines] == ["one", "few"]
    # What passed although it was expected to fail is shown with its operands.
    assert "native.steps is 2, wanted < 3" in told.stdout


# Boundary cases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted(shipped_policies().glob("[!l]*.yaml")) if "_test" not in path.stem]
)
def test_boundary_cases_of_a_shipped_policy_pass_as_its_tests(run: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / "boundaries_test.yaml"
    assert run("cases", name, "--policies", shipped_policies(), "--write", file).exit_code == 0
    told = run("test", file, "--policies", shipped_policies(), "--coverage")
    assert told.exit_code == 0
    assert int(told.stdout.splitlines()[-1].split()[0]) > 40


def test_every_boundary_of_a_fact_is_a_case(run: Run, tmp_path: Path) -> None:
    written(tmp_path)
    told = run("cases", "p", "--policies", tmp_path)
    assert told.exit_code == 0
    names = re.findall(r"- name: (.*)", told.stdout)
    assert [name for name in names if "native.steps" in name] == [
        "native.steps is 3", "native.steps is 4", "without native.steps", "native.steps is stale",
    ]  # fmt: skip
    assert [name for name in names if "native.latest" in name] == [
        "native.latest is false", "without native.latest", "native.latest is stale",
    ]  # fmt: skip
    assert sum("turn.status is" in name for name in names) == 9
    assert told.stdout.startswith("policy: p\nbase:\n  turn.status: completed\n  native.latest: true\n")


def test_what_a_policy_that_never_fires_does_is_not_written(run: Run, tmp_path: Path) -> None:
    write(tmp_path, policy(gate('native.coverage == "partial"')))
    told = run("cases", "p", "--policies", tmp_path)
    assert (told.exit_code, told.stdout) == (1, "")
    assert "can never fire" in told.stderr


def test_editors_find_the_schema_of_written_cases_where_they_find_that_of_the_policy(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run("init", home)
    line = "# yaml-language-server: $schema="
    for file, schema in ((home / "policies" / "x_test.yaml", "../docs"), (home / "x_test.yaml", "docs")):
        assert run("cases", "retry-quota", "--policies", home / "policies", "--write", file).exit_code == 0
        assert file.read_text().startswith(f"{line}{schema}/test.schema.json\npolicy: retry-quota\n")
    (home / "docs" / "test.schema.json").unlink()
    file = home / "policies" / "y_test.yaml"
    run("cases", "retry-quota", "--policies", home / "policies", "--write", file)
    assert file.read_text().startswith("policy: retry-quota\n")


def test_a_policy_that_is_nothing_alike_is_answered_with_those_that_are_there(run: Run) -> None:
    for command in (["cases"], ["docs"]):
        told = run(*command, "nope", "--policies", shipped_policies())
        assert (told.exit_code, "there is continue-unfinished-work, retry-quota," in told.stderr) == (2, True)


def test_a_file_that_is_there_is_not_written_over(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path)
    before = file.read_bytes()
    told = run("cases", "p", "--policies", tmp_path, "--write", file)
    assert (told.exit_code, "nothing was written" in told.stderr) == (2, True)
    assert file.read_bytes() == before


def test_a_policy_that_is_not_there_is_answered_with_the_nearest(run: Run, tmp_path: Path) -> None:
    told = run("cases", "retry-quote", "--policies", shipped_policies())
    assert (told.exit_code, "did you mean 'retry-quota'?" in told.stderr) == (2, True)


# Watching -------------------------------------------------------------------------------------------------------------


def test_watching_runs_again_on_every_change_until_interrupted(tmp_path: Path) -> None:
    file = written(tmp_path, FIRES)
    with subprocess.Popen(
        [sys.executable, "-m", "oncemore.adapters.cli", "test", str(file), "--watch"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Below a shell's `&` interrupts are ignored, which a child would inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None

        def until(words: str) -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if words in line:
                    return
            raise AssertionError(f"it ended without {words!r}")

        until("1 passed, 0 failed")
        until("watching")
        file.write_text(HEAD + FIRES + REST)
        until("5 passed, 0 failed")
        until("watching")
        write(tmp_path, RULES.replace("native.steps", "native.stepps"))
        until("did you mean `native.steps`")
        until("watching")
        write(tmp_path, RULES.replace("< 3", "< 9"))
        until("4 passed, 1 failed")
        until("watching")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 1


@pytest.mark.parametrize("option", [("--format", "json"), ("--junit", "x.xml")])
def test_watching_is_for_a_person(run: Run, tmp_path: Path, option: tuple[str, str]) -> None:
    told = run("test", written(tmp_path), "--watch", *option)
    assert (told.exit_code, "for a person" in told.stderr) == (2, True)
