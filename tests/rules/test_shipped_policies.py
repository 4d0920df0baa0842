"""The shipped policies decide as an evaluation of their own says; the engine runs the same test files elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.oracle import evaluate

from oncemore.rules import times
from oncemore.rules.case import Case
from oncemore.rules.cases import load_tests
from oncemore.rules.expression import leaves
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import SEVERITY, Outcome
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.testing import CaseResult, run
from oncemore.rules.vocabulary import FACTS

POLICIES = load_policies([shipped_policies()])


def decide(name: str, case: Case) -> Mapping[str, Any]:
    """A record with what the tests compare, by Kleene's values and the severity of outcomes alone."""
    policy = POLICIES.get(name)
    assert policy is not None
    facts = {fact: reading.value for fact, reading in case.readings.items() if reading.status == "known"}
    known = {fact: value for fact, value in facts.items() if value is not None}
    concerned = evaluate(policy.when, known)
    if concerned is not True:
        return {"outcome": "not_concerned" if concerned is False else "wait", "gates": []}
    results = [(gate, evaluate(gate.condition, known)) for gate in policy.gates]
    given = {gate.otherwise if result is False else gate.unknown for gate, result in results if result is not True}
    outcome = next((one for one in SEVERITY if one in given), Outcome.FIRE)
    until = None
    ended = known.get("turn.ended_ago")
    if isinstance(ended, int) and ended < 60_000:
        until = times.format_ms(case.now + 60_000 - ended)
    if outcome is Outcome.WAIT and policy.patience is not None and case.waiting_since is not None:
        outcome = Outcome.HOLD if case.now - case.waiting_since > policy.patience else outcome
    words = {True: "pass", False: "fail", None: "unknown"}
    return {
        "outcome": outcome.value,
        "reason": {"kind": "gate_failed"},
        "gates": [{"id": gate.id, "floor": False, "result": words[result]} for gate, result in results],
        "until": until,
        "action": policy.action if outcome is Outcome.FIRE else None,
    }


NAMES = [policy.name for policy in POLICIES.policies]


def results(*names: str) -> list[CaseResult]:
    files = [shipped_policies() / f"{name}_test.yaml" for name in names or NAMES]
    return [result for file in files for result in run(load_tests(file), decide)]


@pytest.mark.parametrize("name", NAMES)
def test_every_case_of_the_shipped_tests_is_decided_as_it_says(name: str) -> None:
    assert [(one.name, one.verdict, one.message) for one in results(name) if one.verdict != "PASS"] == []


def test_every_sentence_is_there_in_both_languages() -> None:
    for policy in POLICIES.policies:
        for words in (policy.summary, *(gate.why for gate in policy.gates)):
            assert words.keys() == {"en", "zh"}
            assert words["en"].isascii()
            assert not words["zh"].isascii()


@pytest.mark.parametrize("name", NAMES)
def test_every_gate_has_a_case_in_which_it_fails_and_one_in_which_it_is_unknown(name: str) -> None:
    policy = POLICIES.get(name)
    assert policy is not None
    failed = {gate for one in results(name) for gate in one.expected.get("blocked_by", ())}
    unknown = {gate for one in results(name) for gate in one.expected.get("unknown", ())}
    gates = {gate.id for gate in policy.gates}
    assert failed == gates
    assert unknown == gates


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_that_it_gates_on_is_missing_in_some_case(name: str) -> None:
    tests = load_tests(shipped_policies() / f"{name}_test.yaml")
    policy = POLICIES.get(name)
    assert policy is not None
    named = {leaf.fact for gate in policy.gates for leaf in leaves(gate.condition)}
    absent = {fact for test in tests.cases for fact in FACTS if test.case.reading(fact).status == "missing"}
    assert named <= absent
