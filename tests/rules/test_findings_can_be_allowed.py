"""A finding that is meant can be allowed with its reason, and no allowance outlives its finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths

NEVER = "native.steps > 5 && native.steps < 6"
ALLOW = "# oncemore: allow R403, it is switched off on purpose"


def found(*paths: Path) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in check_paths(paths)]


@pytest.mark.parametrize(
    "text",
    [
        gate(NEVER).replace("id: one", f"id: one  {ALLOW}"),
        gate(f"{NEVER}  {ALLOW}"),
        gate(f"|  {ALLOW}\n      {NEVER}"),
        gate(NEVER).replace("    why", f"    {ALLOW}\n    why"),
        f"  {ALLOW}\n{gate(NEVER)}",
        f"  {ALLOW}\n  # and more is said of it\n{gate(NEVER)}",
        "  # why it stands here\n" + f"{ALLOW}\n{gate(NEVER)}",
    ],
)
def test_a_finding_is_allowed_on_the_gate_or_directly_above(tmp_path: Path, text: str) -> None:
    assert found(write(tmp_path, policy(gate("native.latest", "before"), text))) == []


def test_an_allowance_is_for_its_gate_alone(tmp_path: Path) -> None:
    text = policy(f"  {ALLOW}\n{gate(NEVER)}", gate(NEVER, "two"))
    assert found(write(tmp_path, text)) == [("R403", 12)]


def test_an_allowance_between_two_gates_is_for_the_one_below(tmp_path: Path) -> None:
    text = policy(gate(NEVER), f"  {ALLOW}\n{gate(NEVER, 'two')}")
    assert found(write(tmp_path, text)) == [("R403", 7)]


def test_an_allowance_is_for_its_code_alone(tmp_path: Path) -> None:
    text = policy("  # oncemore: allow R402, it is so\n" + gate(NEVER))
    assert found(write(tmp_path, text)) == [("R406", 6), ("R403", 8)]


def test_when_can_be_allowed_too(tmp_path: Path) -> None:
    when = f'turn.status == "failed" && turn.status == "completed"  {ALLOW}'
    assert found(write(tmp_path, policy(when=when))) == []


def test_two_codes_are_allowed_by_two_comments(tmp_path: Path) -> None:
    text = policy(f"  # oncemore: allow R401, no Chinese yet\n  {ALLOW}\n" + gate(NEVER).replace(", zh: 为", ""))
    assert found(write(tmp_path, text)) == []


@pytest.mark.parametrize("comment", ["# oncemore: allow R403", "# oncemore: allow R403,", "# oncemore: allow R403 ,  "])
def test_an_allowance_without_a_reason_is_a_finding(tmp_path: Path, comment: str) -> None:
    [one] = check_paths([write(tmp_path, policy(f"  {comment}\n{gate(NEVER)}"))])
    assert (one.code, one.severity, one.line, "reason" in one.message) == ("R406", "warning", 6, True)


def test_an_allowance_that_silences_nothing_is_a_finding(tmp_path: Path) -> None:
    assert found(write(tmp_path, policy(f"  {ALLOW}\n{gate()}"))) == [("R406", 6)]
    assert found(write(tmp_path, f"{ALLOW}\n{policy(gate(NEVER))}")) == [("R406", 1), ("R403", 8)]


@pytest.mark.parametrize("said", ["alow R403, x", "allow R301, x", "allow, x", "", "allow R403 because x"])
def test_a_comment_to_us_that_says_nothing_known_is_a_finding(tmp_path: Path, said: str) -> None:
    assert found(write(tmp_path, policy(gate(), f"  # oncemore: {said}\n{gate('native.turn_bound', 'two')}"))) == [
        ("R406", 10)
    ]


def test_an_error_cannot_be_allowed(tmp_path: Path) -> None:
    assert ("R302", 7) in found(write(tmp_path, policy("  # oncemore: allow R302, x\n" + gate("native.lates")))) or (
        "R302", 8
    ) in found(tmp_path / "p.yaml")  # fmt: skip


def test_what_stands_in_a_text_is_no_comment(tmp_path: Path) -> None:
    quoted = gate().replace("{en: w,", f'{{en: "w {ALLOW}",')
    block = gate("native.turn_bound", "two").replace("{en: w, zh: 为}", f"\n      en: |\n        {ALLOW}\n      zh: 为")
    assert found(write(tmp_path, policy(quoted, block))) == []


def test_a_comment_below_a_block_of_text_is_one(tmp_path: Path) -> None:
    block = gate().replace("{en: w, zh: 为}", "\n      zh: 为\n      en: |\n        w")
    assert found(write(tmp_path, policy(block, f"  {ALLOW}\n{gate(NEVER, 'two')}"))) == []


def test_a_groups_allowance_is_judged_with_all_policies_that_take_it(tmp_path: Path) -> None:
    group = f"group: g\ngates:\n  {ALLOW}\n" + gate("native.steps_ended", "g1")
    write(tmp_path, group, "groups/g.yaml")
    only = 'turn.status == "completed" && native.runtime == "antigravity"'
    one = write(tmp_path, policy("  - use: g\n", when=only, name="one"), "one.yaml")
    assert found(one) == []
    assert found(tmp_path) == [("R406", 3)]
    # The second one leaves no runtime out, and is for other cases than the first.
    write(tmp_path, policy("  - use: g\n", when='turn.status == "failed"', name="two"), "two.yaml")
    assert found(tmp_path) == []


def test_no_allowance_is_called_needless_while_findings_could_not_be_looked_for(tmp_path: Path) -> None:
    text = policy(f"  {ALLOW}\n{gate('native.steps_ended')}", gate("native.lates", "two"))
    assert found(write(tmp_path, text)) == [("R302", 12)]


def test_whether_policies_meet_is_not_known_of_one_alone_or_beside_mistakes(tmp_path: Path) -> None:
    allowed = f"# oncemore: allow R408, in shadow until it takes over\n{policy(gate('native.steps_ended'))}"
    one = write(tmp_path, allowed)
    assert ("R406", 1) in found(tmp_path)
    assert "R406" not in {code for code, _ in found(one)}
    write(tmp_path, policy(gate("native.lates"), name="q"), "q.yaml")
    assert "R406" not in {code for code, _ in found(tmp_path)}
