"""Which combinations of single comparisons make a condition true, and which make it false?

The disjunctive normal form, taken once for each of the two values. Pushing `!` inwards and distributing `&&` over
`||` are exact in Kleene's three values: a condition is true when every comparison of one of its terms has the wanted
value, false when that holds of a term of its negation, and unknown otherwise.
"""

from __future__ import annotations

from typing import TypeAlias

from oncemore.rules.errors import RulesError
from oncemore.rules.expression import And, Compare, Expression, Leaf, Member, Not

MAX_TERMS = 32
"""Terms that one condition may have, for each value."""

Term: TypeAlias = list[tuple[Leaf, bool]]
LeafKey: TypeAlias = tuple[object, ...]


class TooManyTerms(RulesError):
    """A condition has more combinations than the engine takes; it has to be split into several gates."""

    code = "R302"


def leaf_key(leaf: Leaf) -> LeafKey:
    """What makes two comparisons the same one, wherever they stand."""
    if isinstance(leaf, Member):
        return (leaf.fact, "in", *sorted({(type(value).__name__, value) for value in leaf.values}, key=repr))
    return (leaf.fact, leaf.op, type(leaf.value).__name__, leaf.value)


def terms(expression: Expression, want: bool) -> list[Term]:
    """The terms under which `expression` is `want`: lists of comparisons with the value each must have.

    Terms that no case can satisfy are left out, so the list may be empty.

    Raises:
        TooManyTerms: there would be more than `MAX_TERMS`.
    """
    if isinstance(expression, (Compare, Member)):
        return [[(expression, want)]]
    if isinstance(expression, Not):
        return terms(expression.operand, not want)
    parts = [terms(operand, want) for operand in expression.operands]
    if isinstance(expression, And) != want:
        return _distinct([term for part in parts for term in part])
    joined: list[Term] = [[]]
    for part in parts:
        joined = _distinct([left + right for left in joined for right in part])
    return joined


def _distinct(found: list[Term]) -> list[Term]:
    """Each satisfiable term once, each comparison once per term, in the order found."""
    kept: dict[frozenset[tuple[LeafKey, bool]], Term] = {}
    for term in found:
        literals: dict[LeafKey, tuple[Leaf, bool]] = {}
        for leaf, want in term:
            if literals.setdefault(leaf_key(leaf), (leaf, want))[1] is not want:
                break
        else:
            identity = frozenset((key, want) for key, (_, want) in literals.items())
            kept.setdefault(identity, list(literals.values()))
    if len(kept) > MAX_TERMS:
        raise TooManyTerms(f"more than {MAX_TERMS} combinations decide this condition; split it into several gates")
    return list(kept.values())
