"""Which recovery may follow which: every combination of used tries that can be reached, and what may fire on it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Evidence, Reading
from oncemore.rules.cases import load_tests
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import Outcome
from oncemore.rules.shipped import shipped_policies

POLICIES = {policy.name: policy for policy in load_policies([shipped_policies()]).policies if policy.attempt}
MOST = {"work": 1, "review": 1, "quota": 3, "route": 1}
EVALUATOR = Evaluator(tuple(POLICIES.values()))
NOTHING = dict.fromkeys(MOST, 0)
ALL = [dict(zip(MOST, counts, strict=True)) for counts in product(*(range(most + 1) for most in MOST.values()))]


def case_of(policy: str, used: dict[str, int]) -> Case:
    """The case that the policy is for, but for the tries that were used."""
    case = load_tests(shipped_policies() / f"{policy}_test.yaml").cases[0].case
    evidence = Evidence("journal", case.now)
    changed = {f"attempts.{kind}": Reading("known", count, evidence) for kind, count in used.items()}
    if policy == "retry-quota" and used["quota"]:
        changed["turn.phase"] = Reading("known", "quota", evidence)
    return replace(case, readings={**case.readings, **changed})


def fires(policy: str, used: dict[str, int]) -> bool:
    return decide(EVALUATOR, case_of(policy, used)).verdicts[policy].outcome is Outcome.FIRE


def allowed(policy: str, used: dict[str, int]) -> bool:
    """The matrix: nothing after work, review or route; after a quota try only the next, after the third the review."""
    if policy == "retry-quota":
        return used["quota"] <= 2 and used["work"] == used["review"] == used["route"] == 0
    if policy == "review-exhausted-answer":
        return used["quota"] == 3 and used["work"] == used["review"] == 0
    return used == NOTHING


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_policy_fires_exactly_where_the_matrix_allows_it(policy: str) -> None:
    wrong = [used for used in ALL if fires(policy, used) != allowed(policy, used)]
    assert wrong == []


def test_only_these_combinations_can_ever_be_reached() -> None:
    reached, fresh = [NOTHING], [NOTHING]
    while fresh:
        used = fresh.pop()
        for name, policy in POLICIES.items():
            assert policy.attempt is not None
            if fires(name, used):
                after = {**used, policy.attempt: used[policy.attempt] + 1}
                if after not in reached:
                    reached.append(after)
                    fresh.append(after)
    told = [{kind: count for kind, count in used.items() if count} for used in reached]
    expected = [{}, {"work": 1}, {"review": 1}, {"route": 1}, *({"quota": n} for n in (1, 2, 3))]
    expected.append({"quota": 3, "review": 1})
    assert {frozenset(used.items()) for used in told} == {frozenset(used.items()) for used in expected}


@pytest.mark.parametrize(
    "last",
    [used for used in ALL if used["work"] or used["review"] or used["route"]],
    ids=lambda used: "-".join(f"{kind}{count}" for kind, count in used.items() if count),
)
def test_after_work_review_or_route_nothing_that_executes_follows(last: dict[str, int]) -> None:
    followers = {name for name in POLICIES if fires(name, last)}
    assert followers <= {"review-exhausted-answer"}
    if last["work"] or last["review"]:
        assert followers == set()
