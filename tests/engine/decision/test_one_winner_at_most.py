"""When several policies look at one case, which one may act?"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.engine.evaluation import generating
from tests.engine.evaluation.written import case, evaluator, gate, policy

from oncemore.engine.decision import Pass, decide
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.outcome import Outcome

FLAG = policy(gate("flag", "a.flag", "hold"), name="flag")
DONE = policy(gate("done", "a.done", "deny"), name="done")
LATER = policy(gate("old", 'a.age >= duration("60s")', "wait"), name="later")


def told(decided: Pass) -> dict[str, tuple[str, str]]:
    return {record["policy"]["name"]: (record["outcome"], record["reason"]["kind"]) for record in decided.records}


def test_a_policy_acts_when_every_other_is_decided_against() -> None:
    decided = decide(evaluator(FLAG, DONE), case({"a.flag": True, "a.done": False}))
    assert (decided.outcome, decided.fired) == (Outcome.FIRE, "flag")
    assert told(decided) == {"done": ("deny", "gate_failed"), "flag": ("fire", "all_passed")}


def test_a_policy_that_is_not_concerned_is_decided_against() -> None:
    other = policy(gate("done", "a.done"), when='s.state == "closed"', name="other")
    decided = decide(evaluator(FLAG, other), case({"a.flag": True}))
    assert decided.fired == "flag"
    assert told(decided)["other"] == ("not_concerned", "not_concerned")


def test_two_that_would_fire_block_each_other_and_both_are_named() -> None:
    decided = decide(evaluator(FLAG, DONE, LATER), case({"a.flag": True, "a.done": True, "a.age": 1}))
    assert (decided.outcome, decided.fired) == (Outcome.WAIT, None)
    assert told(decided)["flag"] == told(decided)["done"] == ("hold", "conflict")
    rivals = {record["policy"]["name"]: record["reason"].get("rivals") for record in decided.records}
    assert rivals == {"flag": ["done"], "done": ["flag"], "later": None}
    assert [record["action"] for record in decided.records] == [None] * 3


def test_one_that_could_still_fire_is_waited_for() -> None:
    decided = decide(evaluator(FLAG, DONE), case({"a.flag": True}))
    assert (decided.outcome, decided.fired) == (Outcome.WAIT, None)
    assert told(decided) == {"done": ("wait", "evidence_missing"), "flag": ("wait", "rival_undecided")}


def test_one_with_a_false_gate_beside_an_unknown_one_is_decided_against() -> None:
    rival = policy(gate("unknown", "a.done"), gate("false", "a.count > 0", "wait"), name="rival")
    assert decide(evaluator(FLAG, rival), case({"a.flag": True, "a.count": 0})).fired == "flag"


def test_one_whose_floor_is_false_is_decided_against() -> None:
    asked = Evaluator(
        [FLAG, policy(name="rival")],
        lambda _: [],
        facts=generating.VOCABULARY,
    )
    floor = [gate("floor/done", "a.done", floor=True)]
    split = Evaluator([policy(name="rival")], lambda _: floor, facts=generating.VOCABULARY)
    asked.plans = {**asked.plans, "rival": split.plans["rival"]}
    assert decide(asked, case({"a.flag": True, "a.done": False})).fired == "flag"


def test_a_rival_that_gave_a_fault_is_undecided() -> None:
    asked = evaluator(FLAG, DONE)
    good = decide(asked, case({"a.flag": True, "a.done": False}))
    assert good.fired == "flag"
    plan = asked.plans["done"]
    warm_only = '{"warm": {"all": [{"m": {"warm": 1}}]}}'
    broken = replace(plan, leaf_rulesets=tuple(replace(one, text=warm_only) for one in plan.leaf_rulesets))
    asked.close()
    asked.plans = {**asked.plans, "done": broken}
    decided = decide(asked, case({"a.flag": True, "a.done": False}))
    assert decided.fired is None
    assert told(decided)["flag"] == ("wait", "rival_undecided")


@pytest.mark.parametrize(
    ("levels", "outcome", "fired"),
    [
        ({"flag": "enforce", "done": "enforce"}, Outcome.HOLD, None),
        ({"flag": "enforce", "done": "shadow"}, Outcome.FIRE, "flag"),
        ({"flag": "enforce", "done": "advise"}, Outcome.FIRE, "flag"),
        ({"flag": "enforce", "done": "off"}, Outcome.FIRE, "flag"),
        ({"flag": "enforce"}, Outcome.FIRE, "flag"),
        ({"flag": "advise", "done": "shadow"}, Outcome.HOLD, None),
        ({"flag": "shadow", "done": "shadow"}, Outcome.NOT_CONCERNED, None),
        ({"flag": "off", "done": "off"}, Outcome.NOT_CONCERNED, None),
    ],
)
def test_only_what_is_enforced_competes_and_acts(
    levels: Mapping[str, str], outcome: Outcome, fired: str | None
) -> None:
    decided = decide(evaluator(FLAG, DONE), case({"a.flag": True, "a.done": True}), levels=levels)
    assert (decided.outcome, decided.fired) == (outcome, fired)
    written = {record["policy"]["name"]: record["level"] for record in decided.records}
    assert written == {name: levels.get(name, "shadow") for name in ("done", "flag") if levels.get(name) != "off"}


def test_asking_one_policy_alone_asks_no_other() -> None:
    decided = decide(evaluator(FLAG, DONE), case({"a.flag": True, "a.done": True}), only="flag")
    assert decided.fired == "flag"
    assert list(told(decided)) == ["flag"]
    with pytest.raises(KeyError):
        decide(evaluator(FLAG), case({}), only="nowhere")


def test_the_least_final_outcome_stands_over_all_policies() -> None:
    rng = random.Random(2)
    order = ("wait", "hold", "deny")
    for _ in range(60):
        policies = [generating.policy(rng, f"p{n}", gates=rng.randint(0, 2)) for n in range(rng.randint(1, 4))]
        asked = evaluator(*policies)
        for _ in range(10):
            decided = decide(asked, generating.case(rng))
            outcomes = {record["outcome"] for record in decided.records}
            firing = [record["policy"]["name"] for record in decided.records if record["outcome"] == "fire"]
            assert len(firing) <= 1
            assert decided.fired == (firing[0] if firing else None)
            expected = "fire" if firing else next((one for one in order if one in outcomes), "not_concerned")
            assert decided.outcome.value == expected
            assert [record["policy"]["name"] for record in decided.records] == sorted(one.name for one in policies)
        asked.close()
