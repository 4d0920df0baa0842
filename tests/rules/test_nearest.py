"""The nearest change: it makes the policy fire, nothing smaller does, and none is said only where there is none."""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import Any

import pytest
from tests.oracle import evaluate
from tests.rules.policy_files import gate, policy
from tests.rules.random_policies import loaded

from oncemore.engine.evaluation import Evaluator
from oncemore.engine.supposing import suppose
from oncemore.rules.case import Case, Evidence, Reading
from oncemore.rules.cases import load_tests
from oncemore.rules.expression import leaves
from oncemore.rules.loading import load_policies
from oncemore.rules.nearest import Change, Nothing, nearest
from oncemore.rules.policy import Policy
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.vocabulary import FACTS

NOW = 1_796_040_000_000
MINUTE = 60_000

ATOMS = [
    "request.opted_out == false", 'session.state == "idle"', 'session.state != "closed"', 'native.pending == "none"',
    'native.pending in ["none", "question"]', 'native.background == "none"', 'grant.state in ["intact", "changed"]',
    'grant.level != "workspace_read"', "native.latest", 'native.effects in ["none", "settled"]',
    'turn.ended_ago >= duration("2m")', 'turn.ended_ago < duration("9m")', 'turn.ended_ago <= duration("5m")',
    'turn.ended_ago > duration("7m")', "native.steps < 3",
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "request.opted_out": [True, False], "session.state": ["idle", "active", "closed"],
    "native.pending": ["none", "approval", "question"], "native.background": ["none", "running"],
    "grant.state": ["intact", "changed", "revoked", "unavailable"],
    "grant.level": ["workspace_read", "workspace_write", "portfolio_read"],
    "native.latest": [True, True, False], "native.effects": ["none", "settled", "failed"],
    "turn.ended_ago": [0, MINUTE, 3 * MINUTE, 6 * MINUTE, 20 * MINUTE], "native.steps": [1, 2, 5],
}  # fmt: skip


def random_policy(draw: random.Random) -> Policy:
    gates = []
    for number in range(draw.randint(2, 5)):
        parts = draw.sample(ATOMS, draw.choice([1, 1, 2]))
        gates.append(gate(f"'{draw.choice([' && ', ' || ']).join(parts)}'", f"g{number}"))
    return loaded(policy(*gates, when="turn.attempt == 1", then="{action: settle_turn}"))


def random_case(draw: random.Random) -> Case:
    values = {fact: draw.choice([*choices, None]) for fact, choices in VALUES.items()} | {"turn.attempt": 1}
    return case_of(values)


def case_of(values: dict[str, Any], waiting_since: int | None = None) -> Case:
    evidence = Evidence("file", NOW)
    known = {fact: Reading("known", value, evidence) for fact, value in values.items() if value is not None}
    return Case(NOW, known, waiting_since)


def fires(made: Policy, values: dict[str, Any]) -> bool:
    return evaluate(made.when, values) is True and all(evaluate(one.condition, values) is True for one in made.gates)


def by_trying(made: Policy, case: Case) -> tuple[int, int] | None:
    """How many facts have to change, and how long to wait, by going through everything."""
    known = {fact: reading.value for fact, reading in case.readings.items()}
    named = {leaf.fact for one in made.gates for leaf in leaves(one.condition)}
    free = [fact for fact in VALUES if FACTS[fact].changeable and fact in named]
    waits = [0, *sorted({2 * MINUTE, 5 * MINUTE + 1, 7 * MINUTE + 1, 9 * MINUTE} | set(range(0, 12 * MINUTE, MINUTE)))]
    if known.get("turn.ended_ago") is None:
        waits = [0]
    else:
        ended = known["turn.ended_ago"]
        waits = sorted({0, *(edge - ended for edge in waits if edge > ended)})
    for count in range(len(free) + 1):
        for wait in waits:
            later = known | ({"turn.ended_ago": known["turn.ended_ago"] + wait} if wait else {})
            for changed in combinations(free, count):
                for values in product(*(sorted(set(VALUES[fact]), key=str) for fact in changed)):
                    if fires(made, later | dict(zip(changed, values, strict=True))):
                        return count, wait
    return None


@pytest.mark.parametrize("seed", range(50))
def test_the_nearest_change_is_the_one_that_trying_everything_finds(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(20):
        made, case = random_policy(draw), random_case(draw)
        supposed = suppose(Evaluator([made]), "p", case)  # asks the engine again
        found = None if isinstance(supposed.found, Nothing) else (len(supposed.found.facts), supposed.found.wait)
        assert found == by_trying(made, case), (made.texts, case.readings)
        if isinstance(supposed.found, Nothing):
            assert supposed.found.gates or not supposed.found.concerned


@pytest.mark.parametrize("name", [one.name for one in load_policies([shipped_policies()]).policies])
def test_what_is_found_for_a_shipped_policy_fires(name: str) -> None:
    evaluator = Evaluator(load_policies([shipped_policies()]).policies)
    counts = {"changed": 0, "none": 0}
    for test in load_tests(shipped_policies() / f"{name}_test.yaml").cases:
        supposed = suppose(evaluator, name, test.case)
        counts["none" if isinstance(supposed.found, Nothing) else "changed"] += 1
        assert (supposed.at is None) is isinstance(supposed.found, Nothing)
        if isinstance(supposed.found, Change):
            assert all(FACTS[fact].changeable for fact in supposed.found.facts)
            known = {fact: reading for fact, reading in test.case.readings.items() if reading.status == "known"}
            assert not any(fact in known and known[fact].value == value for fact, value in supposed.found.facts.items())
    assert counts["none"] > 0
    assert counts["changed"] > 0


BACKOFF = policy(
    gate('turn.ended_ago >= duration("1m")'), gate('native.pending == "none"', "two"), then="{action: settle_turn}",
    more="patience: 1h\n",
)  # fmt: skip
ENDED = {"turn.status": "completed", "turn.ended_ago": 37_000}


def test_waiting_alone_is_no_change() -> None:
    found = nearest(loaded(BACKOFF), case_of(ENDED | {"native.pending": "none"}))
    assert found == Change({}, 23_000)


def test_a_change_and_a_wait_come_together() -> None:
    found = nearest(loaded(BACKOFF), case_of(ENDED | {"native.pending": "approval"}))
    assert found == Change({"native.pending": "none"}, 23_000)


def test_what_is_unknown_can_be_brought_about_where_a_person_can() -> None:
    assert nearest(loaded(BACKOFF), case_of(ENDED)) == Change({"native.pending": "none"}, 23_000)


def test_what_no_person_can_change_is_named() -> None:
    made = loaded(policy(gate(), gate('native.pending == "none"', "two"), then="{action: settle_turn}"))
    found = nearest(made, case_of(ENDED | {"native.latest": False, "native.pending": "approval"}))
    assert found == Nothing(["one"], concerned=True)
    found = nearest(made, case_of(ENDED | {"native.pending": "approval"}))
    assert found == Nothing(["one"], concerned=True)


def test_a_wait_beyond_patience_is_none() -> None:
    impatient = case_of(ENDED | {"native.pending": "none"}, waiting_since=NOW - 3_600_000 + 23_000)
    assert nearest(loaded(BACKOFF), impatient) == Nothing(["one"], concerned=True, patience=3_600_000)
    in_time = case_of(ENDED | {"native.pending": "none"}, waiting_since=NOW - 3_600_000 + 23_001)
    assert nearest(loaded(BACKOFF), in_time) == Change({}, 23_000)


def test_a_policy_that_is_not_concerned_has_no_nearest_change() -> None:
    found = nearest(loaded(BACKOFF), case_of(ENDED | {"turn.status": "failed"}))
    assert found == Nothing((), concerned=False)
