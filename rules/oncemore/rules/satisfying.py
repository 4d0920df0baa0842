"""Can a combination of comparisons hold at all?

Every comparison is between one fact and literals, so a fact's values fall into finitely many cells that no comparison
tells apart. One value of each cell is tried; the answer is exact.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from oncemore.rules.case import Value
from oncemore.rules.expression import Compare, Duration, Leaf, Literal
from oncemore.rules.normal_form import Term
from oncemore.rules.typecheck import MAX_INT, MIN_INT
from oncemore.rules.vocabulary import FACTS

_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(leaf: Leaf, value: Value) -> bool:
    """Whether a comparison is true of a value of its fact."""
    if isinstance(leaf, Compare):
        return _OPERATORS[leaf.op](value, _plain(leaf.value))
    return any(value == _plain(item) for item in leaf.values)


def possible(passing: Iterable[Term], fixed: Mapping[str, Value]) -> bool:
    """Whether some term can hold while some facts have the values given."""
    return any(satisfiable(term, fixed) for term in passing)


def satisfiable(term: Iterable[tuple[Leaf, bool]], fixed: Mapping[str, Value]) -> bool:
    """Whether all comparisons of a term can be as wanted at once."""
    return assignment(term, fixed) is not None


def assignment(
    term: Iterable[tuple[Leaf, bool]], fixed: Mapping[str, Value] = MappingProxyType({})
) -> dict[str, Value] | None:
    """Values of the facts named, under which all comparisons of a term are as wanted; None when there are none."""
    by_fact: dict[str, list[tuple[Leaf, bool]]] = {}
    for leaf, truth in term:
        by_fact.setdefault(leaf.fact, []).append((leaf, truth))
    found: dict[str, Value] = {}
    for fact, wanted in by_fact.items():
        for value in _values(fact, wanted, fixed):
            if all(holds(leaf, value) is truth for leaf, truth in wanted):
                found[fact] = value
                break
        else:
            return None
    return found


def _values(fact: str, wanted: Iterable[tuple[Leaf, bool]], fixed: Mapping[str, Value]) -> list[Value]:
    if fact in fixed:
        return [fixed[fact]]
    declared = FACTS[fact]
    if declared.type == "bool":
        return [False, True]
    if declared.type == "enum":
        return list(declared.values)
    lowest = 0 if declared.type == "duration" else MIN_INT
    near = {lowest, MAX_INT}
    for leaf, _ in wanted:
        for value in (leaf.value,) if isinstance(leaf, Compare) else leaf.values:
            plain = _plain(value)
            assert isinstance(plain, int)
            near |= {plain - 1, plain, plain + 1}
    return [value for value in sorted(near) if lowest <= value <= MAX_INT]


def _plain(value: Literal) -> Value:
    return value.ms if isinstance(value, Duration) else value
