"""What an author is told of policies that meet: by `check` of one file, `levels`, `explain --policy` and `facts`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.cli.conftest import Run
from tests.adapters.cli.rule_files import POLICY, case, continuation
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths

ALLOW = "# oncemore: allow R408, it is in shadow until it takes the place of the other\n"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder in which the continuation and its twin fire on the same cases."""
    rules = continuation(tmp_path / "rules")
    text = (rules / f"{POLICY}.yaml").read_text()
    (rules / "twin.yaml").write_text(text.replace(f"policy: {POLICY}", "policy: twin"))
    return rules


def test_one_file_alone_is_said_to_be_compared_with_no_other(run: Run, two: Path) -> None:
    told = run("check", two / "twin.yaml")
    assert (told.exit_code, f"compared with no other policy of {two}" in told.stderr) == (0, True)
    assert "compared with no other" not in run("check", two).stderr


def test_a_file_without_others_beside_it_is_compared_with_all(run: Run, tmp_path: Path) -> None:
    assert "compared with" not in run("check", write(tmp_path / "alone", policy(gate()))).stderr


@pytest.mark.parametrize("above", [True, False])
def test_a_pair_that_both_fire_can_be_allowed_at_the_policy(two: Path, above: bool) -> None:
    file = two / "twin.yaml"
    [finding] = check_paths([two])
    assert (finding.code, finding.file) == ("R408", str(file))
    name = "policy: twin\n"
    allowed = ALLOW + name if above else f"policy: twin  {ALLOW}"
    file.write_text(file.read_text().replace(name, allowed))
    assert check_paths([two]) == []
    file.write_text(file.read_text().replace("R408", "R403"))
    assert {one.code for one in check_paths([two])} == {"R406", "R408"}


def test_levels_says_when_two_at_enforce_keep_each_other_from_acting(run: Run, two: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run("init", home).exit_code == 0
    here = ("--policies", two, "--home", home)
    assert "can both fire" not in run("levels", POLICY, "enforce", "--why", "ready", *here).stderr
    told = run("levels", "twin", "enforce", "--why", "ready too", *here)
    assert (told.exit_code, f"{POLICY} and twin can both fire on one case" in told.stderr) == (0, True)
    assert "can both fire" not in run("levels", POLICY, "off", "--why", "the twin takes over", *here).stderr


def test_levels_says_that_the_file_was_read_once(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run("init", home)
    assert "levels.yaml says" not in run("levels", "retry-quota", "off", "--why", "an audit", "--home", home).stderr
    file = home / "policies" / "levels.yaml"
    file.write_text(file.read_text().replace(f"{POLICY}: shadow", f"{POLICY}: enforce"))
    assert f"levels.yaml says enforce for {POLICY}" in run("levels", "--home", home).stderr
    run("levels", POLICY, "advise", "--why", "on purpose", "--home", home)
    assert "levels.yaml says" not in run("levels", "--home", home).stderr


def test_a_decision_is_explained_beside_the_others(run: Run, two: Path, tmp_path: Path) -> None:
    facts = case(tmp_path / "case.json")
    told = run("explain", "--facts", facts, "--policies", two, "--policy", "twin", "--format", "json")
    assert json.loads(told.stdout)["reason"]["kind"] == "conflict"
    alone = json.loads(run("decide", "--facts", facts, "--policies", two, "--policy", "twin").stdout)
    assert alone["outcome"] == "fire"


def test_a_fact_is_found_by_one_of_its_values(run: Run) -> None:
    told = run("facts", "workspace_write")
    assert (told.exit_code, "grant.level" in told.stdout) == (0, True)
    assert run("facts", "no_such_word").exit_code == 2
