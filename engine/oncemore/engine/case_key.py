"""Which cases are one case to the engine?

Every comparison is one of a fact with a literal. So the values of a fact fall into finitely many cells, within which
no comparison of the policy tells two values apart; what cannot be used is a cell of its own. The key of a case names
its cells. Two cases of the same key are one case to the engine.

`oncemore.rules.cells` asks another question of the same cells: which cases could there be? It lists the cells of the
facts that are declared, takes declared values alone, and solves for what conditions want. Here a case is there
already, of any vocabulary and with whatever value an adapter read, and is looked up on the way to each decision. So
each is written for its own use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias

from oncemore.rules.case import Case
from oncemore.rules.engine_text import Encoder
from oncemore.rules.expression import leaves
from oncemore.rules.leaf_rules import HIGHEST, constants
from oncemore.rules.ruleset import Plan

CaseKey: TypeAlias = tuple[object, ...]


def waited(case: Case) -> int:
    """For how long the case has been waited for, milliseconds, as the engine is told."""
    if case.waiting_since is None:
        return 0
    return min(max(case.now - case.waiting_since, 0), HIGHEST)


def key_of(plan: Plan) -> Callable[[Case], CaseKey]:
    """What gives the key of a case, for one policy."""
    compared: dict[str, set[bool | int | str]] = {fact: set() for fact in plan.facts}
    for condition in (plan.policy.when, *(gate.condition for gate in plan.gates)):
        for leaf in leaves(condition):
            compared[leaf.fact].update(constants(leaf))
    asked = {fact: encode for ruleset in plan.leaf_rulesets for fact, encode in ruleset.facts}
    part = [(fact, _part(encode, compared[fact])) for fact, encode in sorted(asked.items())]
    patience = plan.policy.patience

    def key(case: Case) -> CaseKey:
        lookup = case.readings.get
        found: list[object] = [patience is not None and waited(case) >= patience]
        for fact, of in part:
            reading = lookup(fact)
            found.append(None if reading is None or reading.status != "known" else of(reading.value))
        return tuple(found)

    return key


def _part(encode: Encoder, literals: set[bool | int | str]) -> Callable[[object], object]:
    """One fact's: what the engine is told, of a number where it lies among the literals; "" when it is told nothing."""
    numbers = sorted(value for value in literals if type(value) is int)
    if not numbers:
        return encode

    def among(value: object) -> object:
        if not encode(value):
            return ""
        assert isinstance(value, int)
        at = bisect_left(numbers, value)
        return 2 * at + (at < len(numbers) and numbers[at] == value)

    return among
