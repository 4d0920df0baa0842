"""Under which combinations of comparisons is a condition true, and under which is it false?

A condition is rewritten as a disjunction of terms, each a conjunction of comparisons with the truth that each must
have. The rewriting holds in three values as in two: the condition is true exactly when some term of `want=True` has
all its comparisons as wanted, false likewise, and unknown when neither has.
"""

from __future__ import annotations

from typing import TypeAlias

from oncemore.rules.errors import TooComplex
from oncemore.rules.expression import And, Compare, Expression, Leaf, Member, Not

MAX_TERMS = 32
"""Terms of one gate either way; each becomes a rule, and each case is matched against all of them."""

MAX_LEAVES = 200
"""Comparisons of one policy."""

_MAX_WORK = 1_024

Term: TypeAlias = list[tuple[Leaf, bool]]
Key: TypeAlias = tuple[object, ...]


def terms(expression: Expression, want: bool) -> list[Term]:
    """The terms under which the expression is `want`; none when it can never be.

    A comparison occurs once per term, and no term contains another one.

    Raises:
        TooComplex: there are more than `MAX_TERMS`.
    """
    found = _terms(expression, want)
    if len(found) > MAX_TERMS:
        raise TooComplex(len(found), MAX_TERMS)
    return [[(leaf, truth) for (_, truth), leaf in term.items()] for term in found]


def key(leaf: Leaf) -> Key:
    """What a comparison says, wherever it stands: equal for equal comparisons. `true` and `1` are not equal."""
    if isinstance(leaf, Compare):
        return (leaf.fact, leaf.op, type(leaf.value).__name__, leaf.value)
    return (leaf.fact, "in", *((type(value).__name__, value) for value in leaf.values))


_Term: TypeAlias = dict[tuple[Key, bool], Leaf]


def _terms(expression: Expression, want: bool) -> list[_Term]:
    if isinstance(expression, (Compare, Member)):
        return [{(key(expression), want): expression}]
    if isinstance(expression, Not):
        return _terms(expression.operand, not want)
    parts = [_terms(operand, want) for operand in expression.operands]
    if isinstance(expression, And) is want:
        return _product(parts)
    return _shortest([term for part in parts for term in part])


def _product(parts: list[list[_Term]]) -> list[_Term]:
    product: list[_Term] = [{}]
    for part in parts:
        if len(product) * len(part) > _MAX_WORK:
            raise TooComplex(len(product) * len(part), MAX_TERMS)
        joined = [left | right for left in product for right in part]
        # A term that wants one comparison both ways is never met; in three values either it is false or unknown.
        product = _shortest([term for term in joined if not any((same, not truth) in term for same, truth in term)])
    return product


def _shortest(found: list[_Term]) -> list[_Term]:
    kept: list[_Term] = []
    for term in found:
        if any(other.keys() <= term.keys() for other in kept):
            continue
        kept = [other for other in kept if not term.keys() <= other.keys()]
        kept.append(term)
    return kept
