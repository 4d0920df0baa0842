"""Rule files load as their author wrote them, or are refused with every mistake where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import errors, gate, policy, the_error, write

from oncemore.rules.errors import NoPolicies
from oncemore.rules.loading import load_policies, policy_from_texts
from oncemore.rules.outcome import Outcome

GROUP = "group: g\ngates:\n" + gate("attempts.open == false", "shared")


def test_a_policy_is_loaded_with_what_its_author_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    text = policy(
        "  - use: g\n",
        gate("turn.ended_ago >= duration(\"60s\")\n      && native.latest", "own", "unknown: deny"),
        then="{action: review_answer, attempt: review, material: none}",
        more="patience: 1h\n",
    )  # fmt: skip
    write(folder, text)
    write(folder, GROUP, "groups/g.yaml")
    loaded = load_policies([folder])
    [found] = loaded.policies
    assert loaded.directory == str(folder)
    assert (found.name, found.revision, found.summary) == ("p", 1, {"en": "s", "zh": "要"})
    assert (found.action, found.attempt, found.patience) == ("review_answer", "review", 3_600_000)
    assert found.parameters == {"material": "none"}
    assert (found.file, found.when_at) == ("mine/p.yaml", "mine/p.yaml:4:7")
    shared, own = found.gates
    assert (shared.id, shared.group, shared.at) == ("shared", "g", "mine/groups/g.yaml:4:14")
    assert (own.at, own.text) == ("mine/p.yaml:8:14", 'turn.ended_ago >= duration("60s") && native.latest')
    assert (own.otherwise, own.unknown, shared.unknown, own.recheck) == (
        Outcome.WAIT, Outcome.DENY, Outcome.WAIT, True
    )  # fmt: skip
    assert dict(found.texts) == {"mine/p.yaml": text, "mine/groups/g.yaml": GROUP}


def test_the_place_of_a_quoted_condition_is_behind_its_quote(tmp_path: Path) -> None:
    write(tmp_path / "f", policy(gate("'!(native.latest)'")))
    assert load_policies([tmp_path / "f"]).policies[0].gates[0].at == "f/p.yaml:7:15"


def test_the_digest_covers_the_groups_a_policy_takes_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    write(folder, policy("  - use: g\n"))
    write(folder, GROUP, "groups/g.yaml")
    first = load_policies([folder])
    write(folder, GROUP.replace("g\n", "other\n", 1), "groups/other.yaml")
    assert load_policies([folder]).policies[0].digest == first.policies[0].digest
    write(folder, GROUP + "# changed\n", "groups/g.yaml")
    second = load_policies([folder])
    assert second.policies[0].digest != first.policies[0].digest
    assert second.digest != first.digest


def test_a_policy_is_made_again_from_its_kept_texts(tmp_path: Path) -> None:
    write(tmp_path / "f", policy("  - use: g\n"))
    write(tmp_path / "f", GROUP, "groups/g.yaml")
    [found] = load_policies([tmp_path / "f"]).policies
    assert policy_from_texts(found.file, found.texts) == found


def test_tests_levels_and_groups_of_a_folder_are_no_policies(tmp_path: Path) -> None:
    write(tmp_path, policy(name="b"), "b.yaml")
    write(tmp_path, policy(name="a"), "a.yaml")
    for name in ("a_test.yaml", "levels.yaml", "levels.demo.yaml", "notes.txt"):
        write(tmp_path, "- : not a policy", name)
    assert [one.name for one in load_policies([tmp_path]).policies] == ["a", "b"]


def test_where_there_is_no_rule_file_that_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NoPolicies, match=str(path)):
            load_policies([path])


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("- a\n", "R203", 1, 1),
        (policy().replace("revision: 1", "revision: one"), "R203", 2, 11),
        (policy().replace("revision: 1", "revision: true"), "R203", 2, 11),
        (policy().replace("revision: 1", "revision: 0"), "R203", 2, 11),
        (policy().replace("revision: 1", "revision:"), "R203", 2, 1),
        (policy().replace("revision: 1\n", ""), "R202", 1, 1),
        (policy().replace("revision: 1", "revison: 1\nrevision: 1"), "R201", 2, 1),
        (policy(name="No_Name"), "R204", 1, 9),
        (policy(gate(id="Upper")), "R204", 6, 9),
        (policy(gate().replace("wait", "wiat")), "R203", 8, 16),
        (policy(gate().replace("{en: w, zh: 为}", "{zh: 为}")), "R202", 9, 11),
        (policy(gate().replace("{en: w, zh: 为}", "w")), "R203", 9, 10),
        (policy("  - use: nowhere\n"), "R206", 6, 10),
        (policy(gate(), gate()), "R205", 10, 9),
        (policy(when="native.latest"), "R213", 4, 7),
        (policy(when='session.state == "idle"'), "R213", 4, 7),
        (policy(then="{action: continue_wrk, attempt: work}"), "R203", 11, 12),
        (policy(then="{action: continue_work, attempt: review}"), "R209", 11, 36),
        (policy(then="{action: continue_work}"), "R209", 11, 4),
        (policy(then="{action: settle_turn, attempt: work}"), "R209", 11, 34),
        (policy(then="{action: review_answer, attempt: review}"), "R209", 11, 12),
        (policy(then="{action: continue_work, attempt: work, material: none}"), "R209", 11, 52),
        (policy(more="patience: 1d\n"), "R303", 12, 11),
        (policy(gate('turn.ended_ago >= duration("2h")'), more="patience: 1h\n"), "R211", 12, 11),
        (policy(gate("native.latest", more="recheck: false")), "R210", 10, 14),
        (policy(gate("attempts.open == false", more="recheck: false\n    because: b")), "R210", 10, 14),
        (policy(gate(more="because: b")), "R210", 10, 14),
    ],
)  # fmt: skip
def test_what_an_author_may_not_write_is_refused_where_it_stands(
    tmp_path: Path, text: str, code: str, line: int, column: int
) -> None:
    one = the_error(write(tmp_path, text))
    assert (one.code, one.line, one.column) == (code, line, column), one.pretty()


def test_a_settled_turn_needs_no_attempt_and_a_slow_gate_may_be_given_away(tmp_path: Path) -> None:
    write(tmp_path, policy(gate(more="recheck: false\n    because: never changes"), then="{action: settle_turn}"))
    [found] = load_policies([tmp_path]).policies
    assert found.attempt is None
    assert found.gates[0].recheck is False


def test_a_group_has_the_name_of_its_file_and_brings_an_id_once(tmp_path: Path) -> None:
    write(tmp_path, policy("  - use: g\n", gate(id="shared")))
    write(tmp_path, GROUP, "groups/g.yaml")
    assert [(one.code, one.line) for one in errors(tmp_path)] == [("R205", 7)]
    write(tmp_path, policy("  - use: g\n", "  - use: g\n"))
    assert [(one.code, one.line) for one in errors(tmp_path)] == [("R205", 7)]
    write(tmp_path, policy("  - use: g\n    id: x\n"))
    assert [(one.code, one.line) for one in errors(tmp_path)] == [("R201", 7)]
    write(tmp_path, policy("  - use: g\n"))
    write(tmp_path, GROUP.replace("group: g", "group: h"), "groups/g.yaml")
    assert [one.code for one in errors(tmp_path)] == ["R206"]


def test_an_error_in_a_group_stands_in_the_groups_file_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, policy("  - use: g\n", name=name), f"{name}.yaml")
    write(tmp_path, GROUP.replace("attempts.open", "attempts.opne"), "groups/g.yaml")
    [one] = errors(tmp_path)
    assert Path(one.file) == tmp_path / "groups/g.yaml"
    assert one.help == "did you mean `attempts.open`?"


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path, policy(), f"{name}.yaml")
    assert [one.code for one in errors(tmp_path)] == ["R208"]


def test_a_gate_with_too_many_combinations_is_named(tmp_path: Path) -> None:
    many = " && ".join(f"(turn.attempt == {n} || attempts.work == {n})" for n in range(8))
    one = the_error(write(tmp_path, policy(gate(many, "wide"))))
    assert one.code == "R212"
    assert "gate `wide`" in one.message


def test_a_policy_with_too_many_comparisons_is_refused(tmp_path: Path) -> None:
    many = " && ".join(f"turn.attempt != {n}" for n in range(30))
    one = the_error(write(tmp_path, policy(*(gate(many, f"g{n}") for n in range(7)))))
    assert (one.code, "211 comparisons" in one.message) == ("R212", True)


def test_an_error_in_a_folded_condition_points_at_its_line(tmp_path: Path) -> None:
    text = policy(gate(">-\n      native.latest &&\n      native.lates"))
    one = the_error(write(tmp_path, text))
    assert (one.code, one.line, one.column) == ("R302", 9, 7)


def test_an_error_behind_escapes_points_at_its_column(tmp_path: Path) -> None:
    one = the_error(write(tmp_path, policy(gate('"request.role == \\"project\\" && nosuch.fact"'))))
    assert one.source_line[one.column - 1 : one.end_column - 1] == "nosuch.fact"
    one = the_error(write(tmp_path, policy(gate("'request.role == ''projct'''"))))
    assert one.source_line[one.column - 1 : one.end_column - 1].strip("'") == "projct"


def test_a_missing_chinese_sentence_keeps_nothing_from_loading(tmp_path: Path) -> None:
    write(tmp_path, policy(gate().replace(", zh: 为", "")))
    assert load_policies([tmp_path]).policies[0].gates[0].why == {"en": "w"}
