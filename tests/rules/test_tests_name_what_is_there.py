"""What a test file expects of policies and gates that do not exist is a mistake of the file."""

from __future__ import annotations

from pathlib import Path

from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths

FILE = """\
policy: {policy}
cases:
  - name: any
    expect: {{blocked_by: [{blocked}], unknown: [one, g1, floor/open]}}
"""


def expecting(folder: Path, policy: str = "p", blocked: str = "one") -> Path:
    return write(folder, FILE.format(policy=policy, blocked=blocked), "p_test.yaml")


def rules(folder: Path, text: str) -> None:
    write(folder, text)
    write(folder, "group: g\ngates:\n" + gate("native.turn_bound", "g1"), "groups/g.yaml")


def found(*paths: Path) -> list[tuple[str, int, str | None]]:
    return [(one.code, one.line, one.help) for one in check_paths(paths) if one.file.endswith("_test.yaml")]


def test_a_policy_its_groups_and_the_floor_are_known(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n"))
    assert found(expecting(tmp_path)) == []


def test_a_gate_that_is_not_there_is_framed_with_the_nearest(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n"))
    expected = [("R507", 4, "did you mean `one`?")]
    assert found(expecting(tmp_path, blocked="onne")) == expected
    assert found(tmp_path) == expected


def test_a_policy_that_is_not_there_is_framed(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n", name="pay"))
    assert found(expecting(tmp_path, policy="pey")) == [("R506", 1, "did you mean `pay`?")]


def test_a_floor_that_the_action_does_not_stand_on_has_no_gates_for_it(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n"))
    assert [code for code, _, _ in found(expecting(tmp_path, blocked="floor/effects"))] == []
    assert [code for code, _, _ in found(expecting(tmp_path, blocked="floor/untouched"))] == ["R507"]


def test_gates_of_a_policy_with_mistakes_are_known_as_far_as_they_can_be_read(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate("native.lates"), "  - use: g\n", more="colour: red\n"))
    assert [code for code, _, _ in found(expecting(tmp_path, blocked="two"))] == ["R507"]
    rules(tmp_path, policy(gate(), "  - use: g\n", "  - use: missing\n"))
    assert found(expecting(tmp_path, blocked="two")) == []


def test_a_policy_file_without_a_name_that_can_be_read_could_be_the_one(tmp_path: Path) -> None:
    rules(tmp_path, policy().replace("policy: p", "polcy: p"))
    assert found(expecting(tmp_path)) == []


def test_tests_with_no_policy_beside_them_are_looked_at_alone(tmp_path: Path) -> None:
    assert found(expecting(tmp_path, policy="elsewhere", blocked="anything")) == []


def test_what_an_id_that_stands_twice_is_to_be_called_is_not_asked_of_the_tests(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), gate("native.turn_bound"), "  - use: g\n"))
    assert found(expecting(tmp_path, blocked="two")) == []


def test_of_gates_that_are_nothing_alike_those_of_the_policy_are_listed(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n"))
    expected = [("R507", 4, "there are g1, one and those of the floor, floor/...")]
    assert found(expecting(tmp_path, blocked="completely-other")) == expected


def test_a_name_that_is_none_is_offered_to_no_test_and_no_level(tmp_path: Path) -> None:
    rules(tmp_path, policy(gate(), "  - use: g\n", name="Pay"))
    write(tmp_path, "pay: shadow\n", "levels.yaml")
    assert found(expecting(tmp_path, policy="pay")) == [("R506", 1, None)]
    assert [one.help for one in check_paths([tmp_path]) if one.code == "R405"] == [None]
