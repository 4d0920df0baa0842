"""Mutants: every one differs from its policy, with a case that shows it, and none that differs is left out."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from tests.oracle import evaluate
from tests.oracle_outcome import Answer, answer
from tests.rules.policy_files import gate, policy
from tests.rules.random_policies import every_case, loaded, written

from oncemore.rules.case import Case
from oncemore.rules.mutants import Mutant, changes, mutants
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Policy
from oncemore.rules.unparsing import text

NOWHEN = Case(0, {})


def answers(of: Policy, values: dict[str, Any]) -> Answer:
    return answer(of, (), NOWHEN, values)


def seen(of: Policy, values: dict[str, Any]) -> Any:
    """What a test may see: the outcome and the result of every gate, by its id; of no gate one that passes."""
    given = answers(of, values)
    results = {gate.id: result for gate, result in zip(of.gates, given.gates, strict=True) if result is not True}
    return given.outcome if given.outcome == "not_concerned" else (given.outcome, results)


def differing(one: Policy, other: Policy) -> list[dict[str, Any]]:
    conditions = [each.condition for of in (one, other) for each in of.gates]
    cases = every_case([one.when, other.when, *conditions])
    return [values for values in cases if seen(one, values) != seen(other, values)]


def named(mutant: Mutant) -> tuple[str | None, str]:
    return (mutant.gate, mutant.change)


@pytest.mark.parametrize("seed", range(25))
def test_every_mutant_differs_on_its_case_as_the_oracle_says(seed: int) -> None:
    original = loaded(written(seed, when=random.Random(seed).choice(['turn.status != "failed"', "turn.attempt == 1"])))
    for mutant in mutants(original):
        case = mutant.case({"native.latest": True, "native.steps": 3})
        values = {fact: value for fact, value in case.items() if value is not None}
        assert seen(original, values) != seen(mutant.policy, values), named(mutant)
        assert mutant.may_differ(values)


@pytest.mark.parametrize("seed", range(25))
def test_no_change_that_makes_a_difference_is_left_out(seed: int) -> None:
    original = loaded(written(seed))
    found = list(mutants(original))
    for number, one in enumerate(original.gates):
        kept = [
            mutant.policy.gates[number]
            for mutant in found
            if mutant.gate == one.id and len(mutant.policy.gates) == len(original.gates)
        ]
        for _, changed in changes(one.condition):
            gates = (*original.gates[:number], replace(one, condition=changed), *original.gates[number + 1 :])
            cases = list(every_case([one.condition, changed]))
            table = [evaluate(changed, values) for values in cases]
            if differing(original, replace(original, gates=gates)):
                assert any([evaluate(other.condition, values) for values in cases] == table for other in kept), text(
                    changed
                )
        left_out = replace(original, gates=tuple(other for other in original.gates if other is not one))
        dropped = any(mutant.change == "the gate was left out" and mutant.gate == one.id for mutant in found)
        assert dropped is bool(differing(original, left_out))
        for outcome in {"wait", "hold", "deny"} - {one.otherwise}:
            gates = (
                *original.gates[:number],
                replace(one, otherwise=type(one.otherwise)(outcome)),
                *original.gates[number + 1 :],
            )
            swapped = any(
                mutant.gate == one.id and mutant.change.endswith(f"`otherwise: {outcome}`") for mutant in found
            )
            assert swapped is bool(differing(original, replace(original, gates=gates)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("native.steps <= 3", {"native.steps > 3", "native.steps < 3", "native.steps <= 2", "native.steps <= 4"}),
        ("native.steps == 0", {"native.steps != 0", "native.steps == 1"}),
        ("native.latest", {"native.latest != true"}),
        ('turn.ended_ago >= duration("60s")', {
            'turn.ended_ago < duration("1m")', 'turn.ended_ago > duration("1m")',
            'turn.ended_ago >= duration("59s999ms")', 'turn.ended_ago >= duration("1m1ms")',
        }),
        ('native.effects in ["none", "settled"]', {
            '!(native.effects in ["none", "settled"])', 'native.effects in ["settled"]', 'native.effects in ["none"]',
        }),
        ("!native.latest", {"native.latest", "!(native.latest != true)"}),
        ("native.latest && native.turn_bound", {
            "native.latest || native.turn_bound", "native.latest != true && native.turn_bound",
            "native.latest && native.turn_bound != true",
        }),
    ],
)  # fmt: skip
def test_the_changes_of_a_condition(condition: str, expected: set[str]) -> None:
    made = {text(changed) for _, changed in changes(parse(condition))}
    assert made == expected


@pytest.mark.parametrize("seed", range(10))
def test_a_changed_condition_reads_as_what_it_is(seed: int) -> None:
    for one in loaded(written(seed)).gates:
        for _, changed in changes(one.condition):
            again = parse(text(changed))
            for values in every_case([changed]):
                assert evaluate(again, values) is evaluate(changed, values), text(changed)


def test_changes_that_say_the_same_are_one_mutant() -> None:
    # `> 2`, `>= 3` and, of whole numbers, the bound one up are the same change.
    found = [
        mutant.change for mutant in mutants(loaded(policy(gate("native.steps >= 2"), then="{action: settle_turn}")))
    ]
    assert sum("native.steps" in change for change in found) == 3


def test_a_mutant_that_no_case_tells_from_the_policy_is_none() -> None:
    first = gate('native.effects == "none"').replace("wait", "deny")
    hidden = gate('native.effects != "failed"', "two").replace("wait", "hold")
    found = [named(mutant) for mutant in mutants(loaded(policy(first, hidden, then="{action: settle_turn}")))]
    # Where the second one is false the first one denies, whatever the second would say.
    assert not any(gate == "two" and "otherwise" in change for gate, change in found)
    assert ("two", "the gate was left out") in found
