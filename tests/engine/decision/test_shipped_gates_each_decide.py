"""Does every gate of the shipped continuation, and of the floor, stop it and say so?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.engine.decision import shipped_case
from tests.engine.decision.shipped_case import CONTINUE
from tests.oracle import evaluate

from oncemore.engine.decision import Record, decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Status, Value
from oncemore.rules.expression import Duration, Member, leaves
from oncemore.rules.floor import floor_gates
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.vocabulary import FACTS

POLICY = next(one for one in shipped_case.shipped().policies if one.name == CONTINUE)
FLOOR = floor_gates(POLICY.action)


def values_beside(gate: Gate) -> Iterator[tuple[str, Value]]:
    """Values of the gate's facts around what it compares them with."""
    for leaf in leaves(gate.condition):
        declared = FACTS[leaf.fact]
        if declared.type == "bool":
            yield from ((leaf.fact, value) for value in (True, False))
        elif declared.type == "enum":
            yield from ((leaf.fact, value) for value in declared.values)
        else:
            for literal in leaf.values if isinstance(leaf, Member) else (leaf.value,):
                limit = literal.ms if isinstance(literal, Duration) else int(literal)
                yield from ((leaf.fact, value) for value in (limit - 1, limit, limit + 1) if value >= 0)


def failing(gate: Gate) -> Iterator[Case]:
    """The firing case with one fact changed so that this gate is false."""
    for fact, value in values_beside(gate):
        facts = {**shipped_case.FACTS, fact: value}
        if evaluate(gate.condition, facts) is False:
            yield shipped_case.case({fact: value})


def record(policy: Policy, case: Case, floor: tuple[Gate, ...] = FLOOR) -> Record:
    evaluator = Evaluator([policy], lambda _: floor)
    [found] = decide(evaluator, case).records
    evaluator.close()
    return found


def facts_of(case: Case) -> dict[str, bool | int | str]:
    return {name: one.value for name, one in case.readings.items() if one.value is not None}


def test_the_case_fires_as_long_as_nothing_is_spoiled() -> None:
    found = record(POLICY, shipped_case.case())
    assert (found["outcome"], found["action"], found["attempt"]) == ("fire", "continue_work", "work")
    assert {gate["result"] for gate in found["gates"]} == {"pass"}
    assert found["reason"] == {"kind": "all_passed", "gate": None}


@pytest.mark.parametrize("gate", POLICY.gates, ids=lambda gate: gate.id)
def test_a_gate_that_is_false_decides_as_its_file_says(gate: Gate) -> None:
    said = []
    for case in failing(gate):
        found = record(POLICY, case)
        assert found["outcome"] != "fire"
        assert next(one["result"] for one in found["gates"] if one["id"] == gate.id) == "fail"
        said.append((found["outcome"], found["reason"]))
    assert (gate.otherwise.value, {"kind": "gate_failed", "gate": gate.id}) in said


@pytest.mark.parametrize("gate", FLOOR, ids=lambda gate: gate.id)
def test_a_gate_of_the_floor_refuses_a_policy_without_gates(gate: Gate) -> None:
    bare = replace(POLICY, gates=())
    cases = list(failing(gate))
    assert cases
    for case in cases:
        assert record(bare, case)["reason"]["kind"] == "floor"
        alone = record(bare, case, (gate,))
        assert alone["outcome"] == gate.otherwise.value
        assert alone["reason"] == {"kind": "floor", "gate": gate.id}
        assert [one["floor"] for one in alone["gates"]] == [True]


@pytest.mark.parametrize("status", ["missing", "stale", "conflict", "reported", "clock"])
def test_a_fact_that_is_not_known_makes_the_first_gate_that_names_it_wait(status: Status) -> None:
    kinds = {"stale": "evidence_stale", "conflict": "evidence_conflict"}
    evaluator = shipped_case.evaluator()
    when = {leaf.fact for leaf in leaves(POLICY.when)}
    for fact in evaluator.plans[CONTINUE].facts:
        gates = [gate for gate in (*POLICY.gates, *FLOOR) if fact in {leaf.fact for leaf in leaves(gate.condition)}]
        case = shipped_case.with_status(shipped_case.case(), fact, status)
        found = next(one for one in decide(evaluator, case).records if one["policy"]["name"] == CONTINUE)
        assert found["outcome"] == "wait"
        if fact in when:
            assert found["reason"] == {"kind": "when_unknown", "gate": None}
            continue
        assert found["reason"] == {"kind": kinds.get(status, "evidence_missing"), "gate": gates[0].id}
        assert {one["id"] for one in found["gates"] if one["result"] == "unknown"} == {gate.id for gate in gates}
        named = "stale" if status == "stale" else "conflict" if status == "conflict" else "missing"
        assert found[named] == [fact]


@pytest.mark.parametrize("gate", POLICY.gates, ids=lambda gate: gate.id)
def test_with_a_gate_taken_out_the_floor_still_refuses_what_it_refuses(gate: Gate) -> None:
    others = tuple(one for one in POLICY.gates if one is not gate)
    without = replace(POLICY, gates=others)
    for case in failing(gate):
        facts = facts_of(case)
        if any(evaluate(one.condition, facts) is False for one in others):
            continue
        refusing = [one for one in FLOOR if evaluate(one.condition, facts) is False]
        found = record(without, case)
        if not refusing:
            assert found["outcome"] == "fire"
            continue
        severity = ("deny", "hold", "wait")
        strictest = min(refusing, key=lambda one: severity.index(one.otherwise.value))
        assert found["outcome"] == strictest.otherwise.value
        assert found["reason"] == {"kind": "floor", "gate": strictest.id}


def test_the_floor_alone_keeps_the_gates_that_no_policy_may_drop() -> None:
    kept = {
        gate.id
        for gate in POLICY.gates
        for case in failing(gate)
        if any(evaluate(one.condition, facts_of(case)) is False for one in FLOOR)
    }
    assert len(kept) >= 15
