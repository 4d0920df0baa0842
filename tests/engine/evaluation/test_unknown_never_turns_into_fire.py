"""Can less knowledge ever make anything fire?"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.engine.decision import shipped_case
from tests.engine.evaluation import generating

from oncemore.engine.decision import Pass, decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Reading
from oncemore.rules.cases import load_tests
from oncemore.rules.outcome import Outcome
from oncemore.rules.shipped import shipped_policies

LESS = ("missing", "stale", "conflict", "reported", "clock")


def firing(decided: Pass) -> set[str]:
    """What fires: policies by themselves, policies after competing, and the whole."""
    found = {f"alone {name}" for name, one in decided.verdicts.items() if one.fired.outcome is Outcome.FIRE}
    found |= {f"after {name}" for name, one in decided.verdicts.items() if one.outcome is Outcome.FIRE}
    return found | ({"all"} if decided.outcome is Outcome.FIRE else set())


def with_less(case: Case, names: list[str], rng: random.Random) -> Case:
    readings = dict(case.readings)
    for name in names:
        status = rng.choice(LESS)
        if status == "missing":
            readings.pop(name, None)
        elif name in readings:
            readings[name] = replace(readings[name], status=status)
    return replace(case, readings=readings)


def random_sets(rng: random.Random, count: int) -> Iterator[Evaluator]:
    """Sets whose policies concern most cases and often pass, so that there is something to lose."""
    for _ in range(count):
        policies = [
            generating.policy(rng, f"p{number}", gates=rng.randint(0, 3), depth=1)
            for number in range(rng.randint(1, 4))
        ]
        floor = [generating.gate(rng, "floor/0", floor=True, depth=0)] if rng.random() < 0.3 else []
        yield Evaluator(policies, lambda _, floor=floor: floor, facts=generating.VOCABULARY, keep=0)


@pytest.mark.parametrize("part", range(4))
def test_removing_ageing_or_contradicting_facts_never_fires_in_random_sets(part: int) -> None:
    rng = random.Random(9_000 + part)
    fired = 0
    for evaluator in random_sets(rng, 150):
        for _ in range(10):
            case = generating.case(rng, known=rng.choice((0.8, 1.0)))
            before = firing(decide(evaluator, case))
            fired += len(before)
            for size in (1, 1, 2, 4):
                names = rng.sample(sorted(generating.VOCABULARY), size)
                after = firing(decide(evaluator, with_less(case, names, rng)))
                assert after <= before
        evaluator.close()
    assert fired > 100


@pytest.mark.parametrize("policy", sorted(shipped_case.evaluator().plans))
def test_removing_ageing_or_contradicting_facts_never_fires_in_the_shipped_set(policy: str) -> None:
    """Around the case that each shipped policy is for, over all of them together."""
    rng = random.Random(5)
    evaluator = shipped_case.evaluator()
    good = load_tests(shipped_policies() / f"{policy}_test.yaml").cases[0].case
    assert "all" in firing(decide(evaluator, good))
    used = sorted({fact for plan in evaluator.plans.values() for fact in plan.facts} & set(good.readings))
    for fact in used:
        for status in LESS:
            spoiled = shipped_case.with_status(good, fact, status)  # type: ignore[arg-type]
            after = decide(evaluator, spoiled)
            assert after.verdicts[policy].outcome is not Outcome.FIRE or fact not in evaluator.plans[policy].facts
            assert firing(after) <= firing(decide(evaluator, good))
    for _ in range(300):
        readings = dict(good.readings)
        for name in rng.sample(used, rng.randint(0, 3)):
            readings[name] = Reading("known", other_value(evaluator, name, rng), readings[name].evidence)
        case = replace(good, readings=readings)
        before = firing(decide(evaluator, case))
        assert firing(decide(evaluator, with_less(case, rng.sample(used, rng.randint(1, 3)), rng))) <= before


def other_value(evaluator: Evaluator, name: str, rng: random.Random) -> bool | int | str:
    declared = evaluator.facts[name]
    if declared.type == "bool":
        return rng.random() < 0.5
    return (
        rng.choice(declared.values) if declared.type == "enum" else rng.choice((0, 1, 2, 3, 59_999, 60_000, 90_000_000))
    )
