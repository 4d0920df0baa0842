"""What does the text of a condition say? The expression tree, with the place of every part.

The language is a subset of CEL: one side of a comparison is a fact, the other a literal, so that every policy
is a finite function of its facts. Parsing knows nothing of the vocabulary; `typecheck` checks names and types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Duration:
    """A literal span of time.

    Attributes:
        ms: whole milliseconds, never negative.
    """

    ms: int


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part stands in the text of its expression: code points, `end` exclusive."""

    start: int
    end: int


Literal: TypeAlias = bool | int | str | Duration


@dataclass(frozen=True, slots=True)
class Compare:
    """`fact op literal`. A bare bool fact is `fact == true` with `bare` set.

    Attributes:
        op: one of `==`, `!=`, `<`, `<=`, `>`, `>=`, seen with the fact on the left.
    """

    fact: str
    op: str
    value: Literal
    span: Span
    fact_span: Span
    value_span: Span
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """`fact in [literal, ...]`; an empty list is never true, and unknown when the fact is."""

    fact: str
    values: tuple[Literal, ...]
    span: Span
    fact_span: Span
    value_spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """`! operand`."""

    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    """`a && b && ...`, two or more operands."""

    operands: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    """`a || b || ...`, two or more operands."""

    operands: tuple[Expression, ...]
    span: Span


Leaf: TypeAlias = Compare | Member
Expression: TypeAlias = Leaf | Not | And | Or


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The comparisons of an expression, left to right, repeated ones repeated."""
    if isinstance(expression, (Compare, Member)):
        yield expression
    elif isinstance(expression, Not):
        yield from leaves(expression.operand)
    else:
        for operand in expression.operands:
            yield from leaves(operand)
