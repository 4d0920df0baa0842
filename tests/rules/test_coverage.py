"""What counts as possible is what some case gives, no more and no less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.oracle_outcome import answer
from tests.rules.policy_files import gate, policy
from tests.rules.random_policies import every_case, loaded, written

from oncemore.rules.case import Case
from oncemore.rules.coverage import coverage
from oncemore.rules.floor import floor_gates
from oncemore.rules.policy import Policy

RESULTS = {True: "pass", False: "fail", None: "unknown"}


def happening(made: Policy, case: Case) -> set[tuple[str, str]]:
    """Everything that happens on some combination of cells."""
    floor = floor_gates(made.action)
    happened = set()
    for values in every_case([made.when, *(one.condition for one in (*made.gates, *floor))]):
        given = answer(made, floor, case, values)
        happened.add(("", given.outcome))
        if given.when is True:
            happened |= {(one.id, RESULTS[got]) for one, got in zip(made.gates, given.gates, strict=False)}
    return happened


def possible(made: Policy) -> set[tuple[str, str]]:
    return {(name, result) for name, results in coverage(made, []).possible.items() for result in results}


@pytest.mark.parametrize("when", ["turn.attempt == 1", 'turn.status == "failed"', 'turn.status != "failed"'])
@pytest.mark.parametrize("seed", range(20))
def test_possible_is_what_some_combination_gives(seed: int, when: str) -> None:
    made = loaded(written(seed, when=when))
    assert possible(made) == happening(made, Case(0, {}))


def test_a_policy_with_patience_may_hold_although_no_gate_holds() -> None:
    made = loaded(policy(gate("native.latest"), then="{action: settle_turn}", more="patience: 1h\n"))
    assert ("", "hold") in possible(made)
    assert ("", "hold") not in possible(replace(made, patience=None))


def test_an_outcome_that_only_the_floor_gives_is_possible() -> None:
    made = loaded(policy(gate('native.effects in ["none", "settled"]')))
    assert {("", "deny"), ("", "hold"), ("", "fire")} <= possible(made)


def record(outcome: str, when: str, **gates: str) -> dict[str, Any]:
    listed = [{"id": id, "result": result, "floor": id == "floor"} for id, result in gates.items()]
    return {"outcome": outcome, "when": {"result": when}, "gates": listed}


def test_what_tests_saw_is_counted_and_the_rest_named() -> None:
    made = loaded(policy(gate("native.latest"), then="{action: settle_turn}"))
    found = coverage(
        made,
        [
            record("fire", "pass", one="pass", floor="fail"),
            record("fire", "pass", one="pass"),
            record("not_concerned", "fail", one="fail"),
        ],
    )
    assert found.seen == {("", "fire"): 2, ("one", "pass"): 2, ("", "not_concerned"): 1}
    assert found.unseen == [("", "wait"), ("one", "fail"), ("one", "unknown")]
    assert found.total == 6
    assert found.percent == 50.0
