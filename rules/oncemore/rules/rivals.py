"""Can two policies ever want to act on one case?

A policy fires when its `when` and all of its gates, and the floor's, are true. Over the finitely many cells of every
fact this is decided exactly: either a case is found in which both fire, or in which one fires while nothing known
decides against the other, or there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from oncemore.rules.case import Value
from oncemore.rules.expression import Leaf
from oncemore.rules.floor import floor_gates
from oncemore.rules.normal_form import Term, terms
from oncemore.rules.policy import Policy
from oncemore.rules.satisfying import assignment

MAX_STEPS = 200_000
"""Combinations that are tried for one pair before it is left undecided, and said to be."""


class Undecided(Exception):
    """The pair has more combinations than are tried."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A case in which both want to act, or one does and the other is not decided against.

    Attributes:
        values: what is known; every other fact is unknown.
    """

    values: Mapping[str, Value]


def both_fire(first: Policy, second: Policy) -> Witness | None:
    """A case in which both fire; None when there is none. Raises `Undecided`."""
    ways = sorted([*_ways(first), *_ways(second)], key=len)
    found = next(_solutions(ways, _Budget()), None)
    return None if found is None else Witness(found)


def one_fires_undecided(first: Policy, second: Policy) -> Witness | None:
    """A case in which `first` fires and no gate of `second` is false, what it does not need left unknown.

    Raises `Undecided`.
    """
    budget = _Budget()
    theirs = _ways(second)
    for chosen in _choices(sorted(_ways(first), key=len), (), budget):
        known = {leaf.fact for leaf, _ in chosen}
        # What is unknown decides nothing: comparisons on it are left out of the other's ways.
        open_ways = [[_on(term, known) for term in way] for way in theirs]
        if any(not way for way in open_ways):
            continue
        for whole in _choices(sorted(open_ways, key=len), chosen, budget):
            values = assignment(whole)
            assert values is not None
            return Witness({fact: value for fact, value in values.items() if fact in known})
    return None


def _ways(policy: Policy) -> list[list[Term]]:
    """For each condition that must be true, the ways in which it can be."""
    gates = [*policy.gates, *floor_gates(policy.action)]
    return [terms(policy.when, True), *(terms(gate.condition, True) for gate in gates)]


def _on(term: Term, facts: set[str]) -> Term:
    return [(leaf, truth) for leaf, truth in term if leaf.fact in facts]


class _Budget:
    def __init__(self) -> None:
        self._left = MAX_STEPS

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Undecided


def _solutions(ways: Sequence[Sequence[Term]], budget: _Budget) -> Iterator[Mapping[str, Value]]:
    for chosen in _choices(ways, (), budget):
        values = assignment(chosen)
        assert values is not None
        yield values


def _choices(
    ways: Sequence[Sequence[Term]], chosen: tuple[tuple[Leaf, bool], ...], budget: _Budget
) -> Iterator[tuple[tuple[Leaf, bool], ...]]:
    """Every combination of one term for each condition that contradicts itself nowhere."""
    if not ways:
        yield chosen
        return
    for term in ways[0]:
        budget.spend()
        tried = tuple(dict.fromkeys((*chosen, *term)))
        if assignment(tried) is not None:
            yield from _choices(ways[1:], tried, budget)
