"""What the guide to rule files shows works as shown."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.rules.policy_files import policy, write

from oncemore.rules.cases import load_tests
from oncemore.rules.check import check_paths
from oncemore.rules.errors import ExpressionError
from oncemore.rules.loading import load_policies
from oncemore.rules.parsing import parse
from oncemore.rules.shipped import shipped_policies

DOCS = Path(__file__).parents[2] / "docs"
POLICY, TESTS = re.findall(r"```yaml\n(.*?)```", (DOCS / "policies.md").read_text("utf-8"), re.DOTALL)


def test_the_guides_policy_loads_without_a_finding(tmp_path: Path) -> None:
    shutil.copytree(shipped_policies() / "groups", tmp_path / "groups")
    path = tmp_path / "continue-unfinished-work.yaml"
    path.write_text(POLICY, encoding="utf-8")
    assert check_paths([path]) == []


def test_the_guides_allowance_silences_the_finding_that_it_names(tmp_path: Path) -> None:
    [gates] = re.findall(r"```yaml gates\n(.*?)```", (DOCS / "policies.md").read_text("utf-8"), re.DOTALL)
    path = write(tmp_path, policy(gates))
    assert check_paths([path]) == []
    path.write_text(policy(re.sub(r"#.*", "", gates)), encoding="utf-8")
    assert [one.code for one in check_paths([path])] == ["R403"]


def test_the_guides_tests_load_and_name_gates_that_exist(tmp_path: Path) -> None:
    path = tmp_path / "continue-unfinished-work_test.yaml"
    path.write_text(TESTS, encoding="utf-8")
    shipped = load_policies([shipped_policies()]).get(load_tests(path).policy)
    assert shipped is not None
    gates = {gate.id for gate in shipped.gates}
    for case in load_tests(path).cases:
        assert {*case.expect.get("blocked_by", ()), *case.expect.get("unknown", ())} <= gates


FORMS = re.findall(r"^\| `([^`]+)`", (DOCS / "expressions.md").read_text("utf-8"), re.MULTILINE)
REFUSED = "!a == b"


@pytest.mark.parametrize("text", [form for form in FORMS if form != REFUSED])
def test_every_form_of_the_guide_can_be_written(text: str) -> None:
    parse(text.replace("\\|", "|").replace("...", "a.x"))


def test_the_form_that_the_guide_calls_refused_is_refused() -> None:
    assert REFUSED in FORMS
    with pytest.raises(ExpressionError):
        parse(REFUSED)
