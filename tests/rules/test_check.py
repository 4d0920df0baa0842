"""What a policy can be meant to say and does not is found, and what it may well mean is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths
from oncemore.rules.errors import NoPolicies
from oncemore.rules.shipped import shipped_policies


def found(folder: Path) -> list[tuple[str, str, int]]:
    return [(one.code, one.severity, one.line) for one in check_paths([folder])]


def test_the_shipped_policies_have_no_finding() -> None:
    assert check_paths([shipped_policies()]) == []


@pytest.mark.parametrize(
    "require",
    [
        'source.state != "edited"',
        'grant.state in ["intact", "unavailable"]',
        'delivery.notice == "ambiguous"',
        'native.latest || native.end_evidence == "projected"',
        "'!(route.state == \"available\")'",
    ],
)
def test_a_gate_that_passes_on_what_proves_nothing_is_a_finding(tmp_path: Path, require: str) -> None:
    write(tmp_path, policy(gate(require)))
    assert found(tmp_path) == [("R402", "warning", 7)]


@pytest.mark.parametrize(
    "gates",
    [
        [gate('source.state == "unchanged"')],
        [gate('source.state in ["unchanged", "edited"]')],
        [gate('grant.state in ["intact", "unavailable"]'), gate('grant.state != "unavailable"', "two")],
        [gate('native.runtime != "codex" || native.live_owner in ["none", "ours"]')],
    ],
)
def test_a_gate_that_another_one_narrows_is_no_finding(tmp_path: Path, gates: list[str]) -> None:
    write(tmp_path, policy(*gates))
    assert found(tmp_path) == []


def test_a_gate_on_what_a_runtime_never_supplies_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path, policy(gate('material.kind == "visible_response"')))
    [one] = check_paths([tmp_path])
    assert (one.code, "codex" in one.message, "material.kind" in one.message) == ("R403", True, True)


@pytest.mark.parametrize(
    ("when", "gates"),
    [
        ('turn.status == "failed" && native.runtime == "antigravity"', [gate("native.steps_ended")]),
        ('turn.status == "failed"', [gate("native.steps_ended"), gate('native.runtime == "antigravity"', "two")]),
        ('turn.status == "failed"', [gate('native.runtime == "codex" || native.steps_ended')]),
    ],
)
def test_a_runtime_that_the_policy_leaves_out_needs_to_supply_nothing(
    tmp_path: Path, when: str, gates: list[str]
) -> None:
    write(tmp_path, policy(*gates, when=when))
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "require",
    ["native.steps > 5 && native.steps < 6", 'native.effects == "none" && native.effects == "failed"',
     "turn.attempt in []", 'turn.ended_ago < duration("0s")'],
)  # fmt: skip
def test_a_gate_that_contradicts_itself_is_a_finding(tmp_path: Path, require: str) -> None:
    write(tmp_path, policy(gate(require)))
    assert found(tmp_path) == [("R403", "warning", 7)]


@pytest.mark.parametrize(
    "require",
    [
        'native.runtime in ["codex", "codex"]',
        'native.latest && native.runtime in ["codex", "antigravity", "codex"]',
    ],
)
def test_a_value_twice_in_one_list_is_a_finding_at_the_second(tmp_path: Path, require: str) -> None:
    [one] = check_paths([write(tmp_path, policy(gate(require)))])
    assert (one.code, one.severity, one.line) == ("R407", "warning", 7)
    assert one.column == len("    require: ") + require.rindex('"codex"') + 1


def test_equal_spans_of_time_in_one_list_are_found_however_they_are_written(tmp_path: Path) -> None:
    require = 'turn.ended_ago in [duration("60s"), duration("1m")]'
    [one] = check_paths([write(tmp_path, policy(gate(require)))])
    assert one.code == "R407"


def test_a_list_of_when_is_looked_at_too(tmp_path: Path) -> None:
    when = '\'turn.status in ["completed", "completed"]\''
    [one] = check_paths([write(tmp_path, policy(when=when))])
    assert (one.code, one.yaml_path) == ("R407", "$.when")


def test_a_group_that_nobody_takes_is_a_finding_when_the_folder_is_checked(tmp_path: Path) -> None:
    path = write(tmp_path, policy())
    write(tmp_path, "group: g\ngates:\n" + gate(id="shared"), "groups/g.yaml")
    assert found(tmp_path) == [("R404", "warning", 1)]
    assert check_paths([path]) == []


def test_a_missing_chinese_sentence_is_a_finding(tmp_path: Path) -> None:
    write(tmp_path, policy(gate().replace(", zh: 为", "")))
    assert found(tmp_path) == [("R401", "warning", 9)]


def test_levels_and_tests_of_the_folder_are_checked_too(tmp_path: Path) -> None:
    write(tmp_path, policy())
    write(tmp_path, "p: shadw\nq: enforce\n", "levels.yaml")
    write(tmp_path, "policy: p\nbase: {turn.stat: completed}\ncases: []\n", "p_test.yaml")
    assert sorted((one.code, Path(one.file).name) for one in check_paths([tmp_path])) == [
        ("R203", "levels.yaml"), ("R302", "p_test.yaml"), ("R405", "levels.yaml")
    ]  # fmt: skip


def test_errors_and_findings_stand_in_one_order(tmp_path: Path) -> None:
    write(tmp_path, policy(gate('source.state != "edited"'), name="b"), "b.yaml")
    write(tmp_path, policy(gate("native.lates")), "a.yaml")
    assert [(Path(one.file).name, one.code) for one in check_paths([tmp_path])] == [
        ("a.yaml", "R302"), ("b.yaml", "R402")
    ]  # fmt: skip


def test_nothing_to_check_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoPolicies):
        check_paths([tmp_path])


@pytest.mark.parametrize("broken", ["policy: p\n\tgates: []\n", "policy: p\ngate:\n  - use: g\n"])
def test_no_group_is_called_unused_while_what_takes_it_cannot_be_read(tmp_path: Path, broken: str) -> None:
    write(tmp_path, broken)
    write(tmp_path, "group: g\ngates:\n" + gate(id="shared"), "groups/g.yaml")
    assert "R404" not in {code for code, _, _ in found(tmp_path)}


def test_beside_a_when_that_is_refused_no_gate_is_found_to_do_nothing(tmp_path: Path) -> None:
    when = 'turn.status == "completed" && native.latest'
    write(tmp_path, policy(gate("native.latest"), when=when))
    assert [code for code, _, _ in found(tmp_path)] == ["R213"]
