"""The plugin in real runs of pytest: each case a test with its line, failures with the ladder, errors told apart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.adapters.cli.rule_files import POLICY, continuation

pytest_plugins = ["pytester"]

ALIKE = "policy: {policy}\nbase: {{turn.status: running}}\ncases:\n{cases}"

CASES = """\
  - {name: a running turn is none of our business, expect: {outcome: not_concerned}}

  - name: it fires although it runs
    expect: {outcome: fire}
  - {name: nothing is blocked either, expect: {outcome: not_concerned}}
"""

PLAIN = ("-p", "no:randomly", "-p", "no:cacheprovider")

# A decision that cannot be made: the engine's own failure, on the case that says so.
ERRING = """
import pytest
from oncemore.engine import decision
from oncemore.rules.cases import TEST_NOW

really = decision.decide

def decide(evaluator, case, **how):
    if case.now != TEST_NOW:
        raise ArithmeticError("no answer")
    return really(evaluator, case, **how)

decision.decide = decide
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one policy and its tests, of which one fails."""
    monkeypatch.delenv("ONCEMORE_POLICIES", raising=False)
    monkeypatch.setenv("COLUMNS", "250")  # lines of the summary are cut at the terminal's width
    folder = continuation(pytester.path / "rules")
    write(folder, CASES)
    return pytester


def write(folder: Path, cases: str, name: str = POLICY) -> Path:
    file = folder / f"{name}_test.yaml"
    file.write_text(ALIKE.format(policy=POLICY, cases=cases))
    return file


def test_each_case_is_a_test_named_by_its_sentence(project: pytest.Pytester) -> None:
    found = project.runpytest_subprocess("--collect-only", "-q", *PLAIN).outlines
    assert found[:3] == [
        f"rules/{POLICY}_test.yaml::a running turn is none of our business",
        f"rules/{POLICY}_test.yaml::it fires although it runs",
        f"rules/{POLICY}_test.yaml::nothing is blocked either",
    ]


def test_a_failure_shows_what_oncemore_test_shows(project: pytest.Pytester) -> None:
    ran = project.runpytest_subprocess(*PLAIN)
    ran.assert_outcomes(passed=2, failed=1)
    shown = subprocess.run(
        [sys.executable, "-m", "oncemore.adapters.cli", "test", "rules"],
        capture_output=True,
        text=True,
        cwd=project.path,
        check=False,
    ).stdout
    block = shown.rpartition("\n\n")[0]
    assert "| " in block and f"rules/{POLICY}_test.yaml:6" in block
    assert block.strip() in ran.stdout.str()
    ran.stdout.fnmatch_lines([f"FAILED rules/{POLICY}_test.yaml::it fires although it runs*outcome is not_concerned*"])
    assert "Traceback" not in ran.stdout.str()


def test_what_cannot_be_judged_is_an_error_and_not_a_failure(project: pytest.Pytester) -> None:
    project.makeconftest(ERRING)
    write(project.path / "rules", CASES + "  - {name: errs, now: 2026-06-01T00:00:00Z, expect: {outcome: fire}}\n")
    ran = project.runpytest_subprocess("--junit-xml=out.xml", *PLAIN)
    ran.assert_outcomes(passed=2, failed=1, errors=1)
    ran.stdout.fnmatch_lines(["ERROR rules/*::errs*the case could not be decided: no answer*"])
    cases = ElementTree.parse(project.path / "out.xml").getroot().iter("testcase")
    assert {case.get("name"): [one.tag for one in case if one.tag != "properties"] for case in cases} == {
        "a running turn is none of our business": [],
        "it fires although it runs": ["failure"],
        "nothing is blocked either": [],
        "errs": ["error"],
    }


def test_reports_name_the_line_of_the_case_and_its_policy(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("--junit-xml=out.xml", "-o", "junit_family=xunit1", *PLAIN)
    cases = list(ElementTree.parse(project.path / "out.xml").getroot().iter("testcase"))
    # pytest counts lines from nought.
    assert [case.get("line") for case in cases] == ["3", "5", "7"]
    assert {one.get("value") for case in cases for one in case.iter("property") if one.get("name") == "policy"} == {
        POLICY
    }


@pytest.mark.parametrize(
    ("word", "passed", "failed"), [("running", 1, 0), ("fires", 0, 1), (f"{POLICY} and not fires", 2, 0)]
)
def test_words_choose_cases(project: pytest.Pytester, word: str, passed: int, failed: int) -> None:
    project.runpytest_subprocess("-k", word, *PLAIN).assert_outcomes(
        passed=passed, failed=failed, deselected=3 - passed - failed
    )


def test_one_case_is_chosen_by_its_name(project: pytest.Pytester) -> None:
    project.runpytest_subprocess(f"rules/{POLICY}_test.yaml::nothing is blocked either", *PLAIN).assert_outcomes(
        passed=1
    )


def test_a_run_stops_at_the_first_failure_and_begins_with_it_again(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("-x", "-p", "no:randomly").assert_outcomes(passed=1, failed=1)
    again = project.runpytest_subprocess("--lf", "-v", "-p", "no:randomly")
    again.assert_outcomes(failed=1, deselected=0)


def test_two_processes_share_the_cases(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("-n", "2", "-v").assert_outcomes(passed=2, failed=1)


def test_a_file_that_does_not_load_is_a_collection_error_with_every_mistake_framed(project: pytest.Pytester) -> None:
    write(project.path / "rules", "  - {name: odd, expect: {blocked_by: [backof]}}\n  - {nmae: x}\n", "broken")
    ran = project.runpytest_subprocess(*PLAIN)
    ran.assert_outcomes(errors=1)
    told = ran.stdout.str()
    assert "ERROR collecting rules/broken_test.yaml" in told
    assert "rules/broken_test.yaml:5:6" in told and "did you mean `name`?" in told
    assert "Traceback" not in told


def test_policies_that_do_not_load_are_a_collection_error(project: pytest.Pytester) -> None:
    policy = project.path / "rules" / f"{POLICY}.yaml"
    policy.write_text(policy.read_text().replace("otherwise: wait", "otherwise: wiat", 1))
    ran = project.runpytest_subprocess(*PLAIN)
    ran.assert_outcomes(errors=1)
    assert re.search(rf"rules/{POLICY}\.yaml:\d+:\d+", ran.stdout.str())


def test_other_yaml_tests_of_a_project_are_none_of_ours(project: pytest.Pytester) -> None:
    (project.path / "deploy_test.yaml").write_text("kind: Deployment\npolicy: x\ncases: []\n")
    (project.path / "half_test.yaml").write_text("policy: x\nstatements: []\n")
    (project.path / "bytes_test.yaml").write_bytes(b"\xff\xfe\x00policy: x")
    (project.path / "list_test.yaml").write_text("- policy: x\n  cases: []\n")
    (project.path / "empty_test.yaml").touch()
    (project.path / "gone_test.yaml").symlink_to("nowhere")
    project.runpytest_subprocess(*PLAIN).assert_outcomes(passed=2, failed=1)


def test_in_a_folder_that_the_configuration_names_every_test_file_is_one_of_ours(project: pytest.Pytester) -> None:
    (project.path / "rules" / "odd_test.yaml").write_text("{policy: x, cases: [}\n")
    project.runpytest_subprocess(*PLAIN).assert_outcomes(passed=2, failed=1)
    project.makeini("[pytest]\noncemore_policies = rules\n")
    ran = project.runpytest_subprocess("--strict-config", *PLAIN)
    ran.assert_outcomes(errors=1)
    assert "rules/odd_test.yaml:1:" in ran.stdout.str()


def test_a_project_without_such_files_pays_for_one_small_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys

        def test_nothing_of_oncemore_was_imported():
            assert "pytest_oncemore" in sys.modules
            heavy = ("oncemore", "pydantic", "yaml", "lark", "click", "peewee", "httpx", "durable_rules_engine")
            assert [name for name in sys.modules if name.partition(".")[0] in heavy] == []
    """)
    # Hypothesis and others bring modules of their own; here only the plugin is there.
    alone = ("-p", "pytest_oncemore", "-W", "error", "--strict-config")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *alone],
        cwd=pytester.path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_shipped_tests_pass_under_pytest(pytester: pytest.Pytester) -> None:
    file = Path(__file__).parents[3] / "policies" / "settle-cancelled-turn_test.yaml"
    ran = pytester.runpytest_subprocess(file, *PLAIN)
    assert ran.ret == 0
    assert ran.parseoutcomes()["passed"] == len(re.findall(r"^  - name:", file.read_text(), re.MULTILINE))
