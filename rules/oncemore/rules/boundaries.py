"""Which cases lie at the boundaries of a policy?

From a case in which it fires, one fact after the other takes a value of each of its cells: every value of an enum,
every number of a condition with the one below and the one above it, and missing and stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oncemore.rules.case import Value
from oncemore.rules.durations import format_ms
from oncemore.rules.expression import leaves
from oncemore.rules.floor import floor_gates
from oncemore.rules.judged import judged
from oncemore.rules.leaf_rules import constants
from oncemore.rules.policy import Policy
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.vocabulary import FACTS
from oncemore.rules.witness import Values, said


@dataclass(frozen=True, slots=True)
class Boundary:
    """A case beside the base.

    Attributes:
        name: what is different in it.
        changed: the fact that is different, with its value; None for missing. Empty for the base itself.
        stale: ages by fact.
    """

    name: str
    changed: Values
    stale: Mapping[str, str]


def firing(policy: Policy, preferred: Values) -> Values | None:
    """A case in which a policy and its floor pass, with preferred values where they fit; None when there is none.

    Raises:
        Undecided: the question takes more steps than are tried.
    """
    asked = judged(policy)
    near = [[asked.cells.known({fact: value})] for fact, value in preferred.items() if fact in asked.cells.values]
    return asked.case([*asked.passing(), *asked.floored()], near, preferred=preferred)


def boundaries(policy: Policy, base: Values) -> Iterator[Boundary]:
    """The base, and every case beside it, in the order in which the policy names its facts."""
    yield Boundary("the case that it is for", {}, {})
    conditions = [policy.when, *(gate.condition for gate in (*policy.gates, *floor_gates(policy.action)))]
    literals: dict[str, set[Value]] = {}
    for condition in conditions:
        for leaf in leaves(condition):
            literals.setdefault(leaf.fact, set()).update(constants(leaf))
    for fact, values in literals.items():
        for value in _beside(fact, values):
            if value != base.get(fact):
                yield Boundary(f"{fact} is {said(fact, value)}", {fact: value}, {})
        if base.get(fact) is None:
            continue
        yield Boundary(f"without {fact}", {fact: None}, {})
        limit = FACTS[fact].max_age
        if limit is not None:
            yield Boundary(f"{fact} is stale", {}, {fact: format_ms(limit + 1)})


def _beside(fact: str, literals: set[Value]) -> list[Value]:
    declared = FACTS[fact]
    if declared.type == "bool":
        return [False, True]
    if declared.type == "enum":
        return list(declared.values)
    near = {int(one) + step for one in literals for step in (-1, 0, 1)}
    return [number for number in sorted(near) if declared.lowest <= number <= MAX_INT]
