"""Which policies and cases are measured?

The shipped continuation with its floor, and one of twelve gates as such services often have. All cases are fully
known, since most of the other engines have no word for what is not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.engine.decision import shipped_case

from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Value
from oncemore.rules.expression import Expression
from oncemore.rules.outcome import Outcome
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.vocabulary import FACTS

TWELVE = (
    'request.state == "open"',
    'request.role in ["project", "steward"]',
    "request.attachments == 0",
    "!request.opted_out",
    "source.sender_verified",
    'grant.state == "intact"',
    'session.state == "idle"',
    'turn.ended_ago >= duration("60s") && turn.ended_ago <= duration("24h")',
    "attempts.work == 0 && attempts.review == 0",
    'native.read == "stable"',
    "native.user_inputs == 1",
    'native.effects in ["none", "settled"]',
)


@dataclass(frozen=True)
class Subject:
    """A policy, the conditions that others are given, and the cases.

    Attributes:
        gates: name and condition of `when` and of every gate, as ours evaluates them.
        evaluator: keeps what the engine said of each cell; `anew` asks it every time.
        cases: as Oncemore takes them.
        plain: the same as nested maps, as the others take them; durations are milliseconds.
    """

    name: str
    policy: str
    evaluator: Evaluator
    anew: Evaluator
    gates: tuple[tuple[str, Expression], ...]
    cases: tuple[Case, ...]
    plain: tuple[dict[str, Any], ...]


def subjects(count: int) -> tuple[Subject, Subject]:
    """Both policies with `count` cases each, the same at every call."""
    gates = tuple(
        Gate(f"g{number:02d}", parse(text), text, Outcome.WAIT, {"en": text, "zh": text}, "twelve.yaml:1:1")
        for number, text in enumerate(TWELVE)
    )
    twelve = Policy(
        "twelve", 1, {"en": "Twelve gates."}, parse('turn.status == "completed"'), 'turn.status == "completed"',
        "twelve.yaml:1:1", gates, "settle_turn", None, None, "sha256:twelve", "twelve.yaml", {},
    )  # fmt: skip
    shipped = next(one for one in shipped_case.shipped().policies if one.name == shipped_case.CONTINUE)
    return _subject("shipped continuation", shipped, count), _subject("twelve gates", twelve, count)


def _subject(name: str, policy: Policy, count: int) -> Subject:
    evaluator, anew = Evaluator([policy]), Evaluator([policy], keep=0)
    plan = evaluator.plans[policy.name]
    rng = random.Random(count)
    facts = [_facts(rng, plan.facts) for _ in range(count)]
    return Subject(
        name,
        policy.name,
        evaluator,
        anew,
        (("when", policy.when), *((gate.id, gate.condition) for gate in plan.gates)),
        tuple(Case(shipped_case.NOW, shipped_case.readings(known)) for known in facts),
        tuple(nested(known) for known in facts),
    )


def _facts(rng: random.Random, names: tuple[str, ...]) -> dict[str, Value]:
    """The facts of the firing case; in two of three cases some of them otherwise."""
    known = {name: shipped_case.FACTS[name] for name in names}
    for name in rng.sample(names, rng.choice((0, 1, 4))):
        declared = FACTS[name]
        if declared.type == "bool":
            known[name] = rng.random() < 0.5
        elif declared.type == "enum":
            known[name] = rng.choice(declared.values)
        else:
            known[name] = rng.choice((0, 1, 2, 59_999, 60_000, 86_400_001))
    return known


def nested(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as the other engines take them: a map for each dot of their names."""
    whole: dict[str, Any] = {}
    for name, value in facts.items():
        *path, last = name.split(".")
        inner = whole
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return whole
