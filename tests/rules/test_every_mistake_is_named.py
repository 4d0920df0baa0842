"""One mistake of a file keeps no other one from being seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths

MANY = """\
policy: many
revision: 1
colour: red
summary: {en: Many mistakes.}
when: turn.status = "completed"
gates:
  - {id: one, require: native.latest, otherwise: wait, why: {en: a, zh: 甲}}
  - {id: one, require: native.lates, otherwise: stop, why: {en: b}}
  - id: three
    require: attempts.work == 0
    otherwise: deny
    recheck: false
    why: {zh: 丙}
  - {id: four, require: turn.ended_ago >= duration("60s"), otherwise: wait, more: 1, why: {en: d, zh: 丁}}
  - {use: nobody}
then: {action: continue_work, attempt: review}
patience: 1 day
"""


def found(*paths: Path) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in check_paths(paths)]


def test_mistakes_of_every_kind_are_named_in_one_go(tmp_path: Path) -> None:
    assert found(write(tmp_path, MANY, "many.yaml")) == [
        ("R201", 3), ("R401", 4), ("R301", 5), ("R205", 8), ("R302", 8), ("R203", 8), ("R401", 8),
        ("R210", 12), ("R210", 12), ("R202", 13), ("R201", 14), ("R206", 15), ("R209", 16), ("R303", 17),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (policy(more="colour: red\n"), "R201"),
        (policy(more="patience: 24\n"), "R203"),
        (policy().replace("revision: 1", "revision: one"), "R203"),
        (policy(gate(), gate("native.turn_bound")), "R205"),
        (policy(gate(more="colour: red")), "R201"),
        (policy(gate(), "  - 12\n"), "R203"),
        (policy(then="{action: continue_work, attempt: review}"), "R209"),
        (policy(then="{action: continue_wrk}"), "R203"),
        (policy(gate(), gate("native.lates", "bad")), "R302"),
        (policy(when="turn.status"), "R307"),
    ],
)
def test_a_mistake_of_one_kind_hides_none_of_another(tmp_path: Path, broken: str, code: str) -> None:
    here = ("gates:\n", "gates:\n" + gate("native.stats", "second") + gate("turn.ended_ago > 5", "third"))
    path = write(tmp_path, broken.replace(*here).replace("zh: 要", "en2: s"))
    codes = [one for one, _ in found(path)]
    assert codes.count("R303") == 1
    assert codes.count("R302") == 1 + (code == "R302")
    assert {"R401", "R201", code} <= set(codes)


def test_a_patience_too_short_is_named_beside_a_gate_with_a_mistake(tmp_path: Path) -> None:
    waits = gate('turn.ended_ago >= duration("2h")', more="colour: red")
    assert found(write(tmp_path, policy(waits, more="patience: 1h\n"))) == [("R201", 10), ("R211", 13)]


def test_a_group_with_mistakes_is_still_compared_with_what_takes_it(tmp_path: Path) -> None:
    write(tmp_path, "group: h\ncolour: red\ngates:\n" + gate(more="colour: red"), "groups/g.yaml")
    write(tmp_path, policy(gate(), "  - use: g\n"))
    assert sorted(code for code, _ in found(tmp_path)) == ["R201", "R201", "R205", "R206"]


def test_two_policies_of_one_name_are_named_though_both_have_mistakes(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        write(tmp_path, policy(more="colour: red\n"), name)
    assert [code for code, _ in found(tmp_path)] == ["R201", "R208", "R201"]


def test_a_gate_that_contradicts_itself_hides_no_finding_on_another(tmp_path: Path) -> None:
    never = gate("native.steps > 5 && native.steps < 6", "never")
    text = policy(never, gate('source.state != "edited"', "two"), gate("native.steps_ended", "three"))
    assert found(write(tmp_path, text)) == [("R403", 7), ("R402", 11), ("R403", 15)]


def test_a_when_that_contradicts_itself_is_a_finding_and_hides_none(tmp_path: Path) -> None:
    text = policy(gate('source.state != "edited"'), when='turn.status == "failed" && turn.status == "completed"')
    assert found(write(tmp_path, text)) == [("R403", 4), ("R402", 7)]


def test_findings_on_gates_come_together_with_errors(tmp_path: Path) -> None:
    text = policy(gate("native.steps > 5 && native.steps < 6"), gate("native.lates", "two"), more="colour: red\n")
    assert found(write(tmp_path, text)) == [("R403", 7), ("R302", 11), ("R201", 16)]


def test_no_finding_is_guessed_while_a_gate_that_could_narrow_cannot_be_read(tmp_path: Path) -> None:
    text = policy(gate('source.state != "edited"'), gate('source.stat == "unchanged"', "two"))
    assert found(write(tmp_path, text)) == [("R302", 11)]


def test_levels_are_compared_with_policies_that_have_mistakes(tmp_path: Path) -> None:
    write(tmp_path, policy(more="colour: red\n"))
    write(tmp_path, "p: enforce\nq: enforce\n", "levels.yaml")
    assert [code for code, _ in found(tmp_path)] == ["R405", "R201"]


def test_a_misspelt_key_is_one_mistake_not_two(tmp_path: Path) -> None:
    text = policy(gate("native.latest").replace("otherwise", "otherwize"))
    [found] = check_paths([write(tmp_path, text)])
    assert (found.code, found.help) == ("R201", "did you mean `otherwise`?")
