"""What gates do together is decided exactly, and every finding shows a case on which the engine agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.oracle import evaluate
from tests.rules.policy_files import gate, policy, write
from tests.rules.random_policies import conditions, every_case, loaded, written

from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules import cells
from oncemore.rules.cases import facts_from_bytes
from oncemore.rules.cells import FAIL, PASS, UNKNOWN, Cells, solutions, truth
from oncemore.rules.check import check_paths
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.floor import floor_gates
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import SEVERITY, Outcome, Truth
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Gate

Record = dict[str, Any]
LIVES = 'native.live_owner in ["none", "ours"]'


def decided(folder: Path, finding: Diagnostic, name: str = "p") -> Record:
    """The engine's record on the case that a finding shows."""
    assert finding.case is not None
    case = facts_from_bytes(finding.case.encode(), "case.yaml", 1_796_040_000_000)
    return decide(Evaluator(load_policies([folder]).policies), case, only=name).records[0]


def result(record: Record, gate: str) -> str:
    return str(next(one["result"] for one in record["gates"] if one["id"] == gate))


def severe(text: str, otherwise: str) -> str:
    return text.replace("otherwise: wait", f"otherwise: {otherwise}")


def holds(record: Record) -> bool:
    return record["outcome"] == "fire" and result(record, "one") == "pass"


PLANTED: list[tuple[str, str, Callable[[Record], bool]]] = [
    ("R402", policy(gate('delivery.notice == "ambiguous"')), holds),
    ("R403", policy(gate("native.steps > 5 && native.steps < 6")), lambda r: result(r, "one") == "fail"),
    (
        "R403",
        policy(when='turn.status == "failed" && turn.status == "completed"'),
        lambda r: r["outcome"] == "not_concerned",
    ),
    ("R403", policy(gate("native.steps_ended")), lambda r: result(r, "one") == "unknown" and r["outcome"] == "wait"),
    (
        "R409",
        policy(gate('native.effects == "none"'), gate('native.effects == "settled"', "two")),
        lambda r: [result(r, one) for one in ("one", "two")].count("pass") == 1 and r["outcome"] == "wait",
    ),
    ("R409", policy(gate('native.coverage == "partial"')), lambda r: r["reason"]["kind"] == "floor"),
    ("R410", policy(gate("native.steps >= 0")), holds),
    ("R410", policy(gate('turn.status != "failed"')), holds),
    (
        "R411",
        policy(severe(gate('native.effects == "none"'), "deny"), gate('native.effects != "failed"', "two")),
        lambda r: result(r, "two") == "fail" and r["reason"]["gate"] == "one" and r["outcome"] == "deny",
    ),
    (
        "R411",
        policy(gate(), gate("native.turn_bound", "x"), gate("native.latest && native.turn_bound", "two")),
        lambda r: result(r, "two") == "fail" and r["reason"]["gate"] != "two",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "shown"), PLANTED)
def test_a_planted_fault_is_found_with_a_case_on_which_the_engine_shows_it(
    tmp_path: Path, code: str, text: str, shown: Callable[[Record], bool]
) -> None:
    write(tmp_path, text)
    [finding] = [one for one in check_paths([tmp_path]) if one.code == code]
    assert finding.severity == "warning"
    assert shown(decided(tmp_path, finding))


def test_the_gates_that_decide_instead_are_named(tmp_path: Path) -> None:
    first = severe(gate("native.latest"), "hold")
    second = severe(gate("native.turn_bound", "two"), "hold")
    write(
        tmp_path,
        policy(first, second, gate("native.latest && native.turn_bound", "three"), gate("native.user_only", "x")),
    )
    [finding] = check_paths([tmp_path])
    assert (finding.code, finding.line) == ("R411", 15)
    assert "gate `one` or gate `two` does not either" in finding.message


def test_the_fewest_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    both = [gate("native.steps < 3", "low"), gate("native.latest"), gate("native.steps > 3", "high")]
    write(tmp_path, policy(*both))
    [finding] = check_paths([tmp_path])
    assert (finding.code, finding.line) == ("R409", 1)
    assert "gate `low` and gate `high` are never true together" in finding.message
    assert finding.help is not None and "native.steps" in finding.help


GROUP = "group: g\ngates:\n" + gate('native.effects != "failed"', "g1")


def test_a_gate_of_a_group_that_decides_in_one_policy_is_no_finding(tmp_path: Path) -> None:
    write(tmp_path, GROUP, "groups/g.yaml")
    stricter = severe(gate('native.effects == "none"'), "deny")
    write(tmp_path, policy(stricter, "  - use: g\n", name="one"), "one.yaml")
    [finding] = check_paths([tmp_path])
    assert (finding.code, finding.file) == ("R411", str(tmp_path / "groups/g.yaml"))
    write(tmp_path, policy("  - use: g\n", name="two", when='turn.status == "failed"'), "two.yaml")
    assert check_paths([tmp_path]) == []


def test_what_takes_too_many_steps_is_said_to_be_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        policy(gate("native.latest || native.steps > 3"), gate("native.turn_bound || native.steps > 5", "two")),
    )
    assert check_paths([tmp_path]) == []
    monkeypatch.setattr(cells, "MAX_STEPS", 0)
    [finding] = check_paths([tmp_path])
    assert (finding.code, finding.line) == ("R412", 1)


@pytest.mark.parametrize(
    "require",
    [
        " || ".join(f"(native.latest && native.steps > {n} && native.user_inputs > {n})" for n in range(40)),
        " && ".join(f"(native.latest || native.steps > {n} || native.user_inputs > {n})" for n in range(40)),
    ],
)
def test_what_is_too_much_to_evaluate_is_said_once(tmp_path: Path, require: str) -> None:
    write(tmp_path, policy(gate(f"'{require}'")))
    assert {one.code for one in check_paths([tmp_path])} == {"R212"}


# Against every combination --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_the_boxes_of_a_condition_hold_exactly_its_cases(seed: int) -> None:
    for text in conditions(10, seed):
        condition = parse(text)
        these = Cells([condition])
        for values in every_case([condition]):
            result = {True: Truth.PASS, False: Truth.FAIL, None: Truth.UNKNOWN}[evaluate(condition, values)]
            assert truth(condition, values) is result
            point = these.known({fact: values.get(fact) for fact in these.values})
            for wanted in (PASS, FAIL, UNKNOWN, PASS | FAIL, PASS | UNKNOWN, FAIL | UNKNOWN):
                inside = any(solutions([these.ways(condition, wanted)], point))
                assert inside is (result in wanted), (text, values, wanted)


def outcome(gate: Gate, values: dict[str, Any]) -> Outcome | None:
    result = evaluate(gate.condition, values)
    return None if result is True else gate.otherwise if result is False else gate.unknown


@pytest.mark.parametrize("seed", range(150))
def test_findings_are_those_that_every_combination_gives(tmp_path: Path, seed: int) -> None:
    text = written(seed)
    made = loaded(text)
    write(tmp_path, text)
    assert not floor_gates(made.action)
    deciding: set[str] = set()
    failing: set[str] = set()
    passing: set[str] = set()
    fires = False
    for values in every_case([one.condition for one in made.gates]):
        outcomes = {one.id: given for one in made.gates if (given := outcome(one, values)) is not None}
        fires = fires or not outcomes
        failing |= {one.id for one in made.gates if evaluate(one.condition, values) is False}
        passing |= {one.id for one in made.gates if evaluate(one.condition, values) is True}
        if outcomes:
            worst = min(outcomes.values(), key=SEVERITY.index)
            deciding.add(next(id for id, given in outcomes.items() if given is worst))
    expected = {("R403", one.id) for one in made.gates if one.id not in passing}
    if not expected:
        if not fires:
            expected.add(("R409", "p"))
        else:
            expected |= {("R410", one.id) for one in made.gates if one.id not in failing}
            expected |= {("R411", gate.id) for gate in made.gates if gate.id in failing and gate.id not in deciding}
    lines = {f"g{number}": 7 + 4 * number for number in range(len(made.gates))} | {"p": 1}
    found = {(one.code, one.line) for one in check_paths([tmp_path]) if one.code in ("R403", "R409", "R410", "R411")}
    assert found == {(code, lines[gate]) for code, gate in expected}, text
