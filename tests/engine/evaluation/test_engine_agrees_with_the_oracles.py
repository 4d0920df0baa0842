"""Does the engine say of random policies and cases what the written rules say?"""

from __future__ import annotations

import random

import pytest
from tests.engine.evaluation import generating
from tests.oracle_outcome import Answer, answer

from oncemore.engine.evaluation import Evaluator
from oncemore.engine.fired import Fired, read
from oncemore.rules.outcome import Truth

PARTS, POLICIES, CASES = 10, 420, 50
TRUTH = {True: Truth.PASS, False: Truth.FAIL, None: Truth.UNKNOWN}


def said(fired: Fired) -> tuple[object, ...]:
    assert fired.fault is None
    assert fired.ending is not None
    return fired.outcome.value, fired.ending.gate, fired.ending.impatient, fired.when, fired.gates


def expected(oracle: Answer) -> tuple[object, ...]:
    gates = tuple(TRUTH[result] for result in oracle.gates)
    return oracle.outcome, oracle.gate, oracle.impatient, TRUTH[oracle.when], gates


@pytest.mark.parametrize("part", range(PARTS))
def test_every_gate_the_outcome_and_the_deciding_gate_are_as_the_oracles_say(part: int) -> None:
    rng = random.Random(7_000 + part)
    seen = set()
    for _ in range(POLICIES):
        policy = generating.policy(rng)
        floor = [generating.gate(rng, f"floor/{n}", floor=True, depth=1) for n in range(rng.randint(0, 4))]
        evaluator = Evaluator(
            [policy], lambda _, floor=floor: floor, facts=generating.VOCABULARY, keep=rng.choice((0, 5, 1024))
        )
        for _ in range(CASES):
            case = generating.case(rng, known=rng.choice((0.3, 0.9, 1.0)))
            fired = evaluator.ask(policy.name, case)
            assert said(fired) == expected(answer(policy, floor, case, generating.known_facts(case)))
            assert read(fired.plan, fired.names) == fired
            seen.add(fired.outcome)
        assert evaluator.faults == 0
        evaluator.close()
    assert len(seen) == 5


@pytest.mark.parametrize("part", range(4))
def test_policies_that_need_many_rulesets_are_decided_the_same_way(part: int) -> None:
    rng = random.Random(8_000 + part)
    for _ in range(6):
        policy = generating.policy(rng, gates=rng.choice((60, 110, 200)), depth=rng.choice((0, 1)))
        floor = [generating.gate(rng, f"floor/{n}", floor=True, depth=0) for n in range(rng.choice((0, 70)))]
        evaluator = Evaluator(
            [policy], lambda _, floor=floor: floor, facts=generating.VOCABULARY, keep=rng.choice((0, 5, 1024))
        )
        plan = evaluator.plans[policy.name]
        assert len(plan.outcome_rulesets) > 1
        for _ in range(40):
            case = generating.case(rng, known=rng.choice((0.3, 1.0)))
            assert said(evaluator.ask(policy.name, case)) == expected(
                answer(policy, floor, case, generating.known_facts(case))
            )
        evaluator.close()
