"""What is the value of a condition, by Kleene's three values alone?

Written apart from the engine, so that comparing the two says something. Other tests import it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from oncemore.rules.expression import And, Compare, Duration, Expression, Member, Not

Facts = Mapping[str, bool | int | str]
"""Known facts only: one that is absent is unknown. Durations are milliseconds."""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: Expression, facts: Facts) -> bool | None:
    """True, False, or None for unknown."""
    if isinstance(expression, Compare):
        value = facts.get(expression.fact)
        return None if value is None else _OPERATORS[expression.op](value, _plain(expression.value))
    if isinstance(expression, Member):
        value = facts.get(expression.fact)
        return None if value is None else any(value == _plain(item) for item in expression.values)
    if isinstance(expression, Not):
        inner = evaluate(expression.operand, facts)
        return None if inner is None else not inner
    results = [evaluate(operand, facts) for operand in expression.operands]
    deciding = not isinstance(expression, And)  # false decides a conjunction, true a disjunction
    if deciding in results:
        return deciding
    return None if None in results else not deciding


def _plain(value: bool | int | str | Duration) -> bool | int | str:
    return value.ms if isinstance(value, Duration) else value
