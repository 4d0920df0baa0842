"""A file of rule tests that runs with `oncemore test` runs under pytest too, and each case can be chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.cli.rule_files import POLICY, continuation

pytest_plugins = ["pytester"]

CASE = "{name: a running turn, facts: {turn.status: running}, expect: {outcome: not_concerned}}"

PLAIN = ("-p", "no:randomly", "-p", "no:cacheprovider")


@pytest.fixture
def rules(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ONCEMORE_POLICIES", raising=False)
    return continuation(pytester.path / "rules")


@pytest.mark.parametrize(
    "written",
    [
        f"\ufeffpolicy: {POLICY}\ncases:\n  - {CASE}\n",
        f"policy: {POLICY}\r\ncases:\r\n  - {CASE}\r\n",
        f"\"policy\": {POLICY}\n'cases':\n  - {CASE}\n",
        f"base: {{}}\ncases:\n  - {CASE}\npolicy: {POLICY}\n",
        f"cases:\n  - {CASE}\npolicy: {POLICY}\n",
    ],
    ids=["byte order mark", "line ends of Windows", "keys in quotes", "base first", "cases first"],
)
def test_rule_tests_are_found_however_they_are_written(pytester: pytest.Pytester, rules: Path, written: str) -> None:
    (rules / "written_test.yaml").write_bytes(written.encode())
    pytester.runpytest_subprocess(*PLAIN).assert_outcomes(passed=1)


@pytest.mark.parametrize("setting", ["../rules", "../link", "../rules/../link"])
def test_the_setting_may_name_a_folder_in_any_way(pytester: pytest.Pytester, rules: Path, setting: str) -> None:
    (rules / "odd_test.yaml").write_text("{policy: x, cases: [}\n")
    (pytester.path / "link").symlink_to("rules")
    (pytester.path / "settings").mkdir()
    configuration = pytester.path / "settings" / "pytest.ini"
    configuration.write_text(f"[pytest]\noncemore_policies = {setting}\n")
    pytester.runpytest_subprocess("-c", configuration, rules, *PLAIN).assert_outcomes(errors=1)


def test_a_setting_that_names_no_folder_is_refused(pytester: pytest.Pytester, rules: Path) -> None:
    pytester.makeini("[pytest]\noncemore_policies = nowhere\n")
    ran = pytester.runpytest_subprocess(*PLAIN)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert f"oncemore_policies: {pytester.path / 'nowhere'} is not there" in ran.stderr.str()


def test_cases_are_chosen_though_names_differ_in_blanks_alone_or_hold_colons(
    pytester: pytest.Pytester, rules: Path
) -> None:
    alike = [CASE.replace("a running turn", name) for name in ("two words", '"two  words"', '"a::b"')]
    (rules / "alike_test.yaml").write_text(f"policy: {POLICY}\ncases:\n" + "".join(f"  - {one}\n" for one in alike))
    found = pytester.runpytest_subprocess("--collect-only", "-q", *PLAIN).outlines[:3]
    assert found == [f"rules/alike_test.yaml::{name}" for name in ("two words", "two words (2)", "a:b")]
    for one in found:
        pytester.runpytest_subprocess(one, *PLAIN).assert_outcomes(passed=1)


def test_hidden_files_of_editors_are_no_tests(pytester: pytest.Pytester, rules: Path) -> None:
    (rules / "it_test.yaml").write_text(f"policy: {POLICY}\ncases:\n  - {CASE}\n")
    (rules / f"._{POLICY}_test.yaml").write_bytes(b"\0\5\26\7")
    (rules / f".#{POLICY}_test.yaml").symlink_to("ann@host.1")
    pytester.makeini("[pytest]\noncemore_policies = rules\n")
    pytester.runpytest_subprocess(*PLAIN).assert_outcomes(passed=1)
