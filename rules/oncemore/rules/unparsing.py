"""How is a condition written, once it has been changed?"""

from __future__ import annotations

import json

from oncemore.rules.durations import format_ms
from oncemore.rules.expression import And, Compare, Duration, Expression, Literal, Member, Not, Or


def text(condition: Expression) -> str:
    """A condition in the language of conditions, with as few parentheses as it needs."""
    if isinstance(condition, Compare):
        return condition.fact if condition.bare else f"{condition.fact} {condition.op} {literal(condition.value)}"
    if isinstance(condition, Member):
        return f"{condition.fact} in [{', '.join(map(literal, condition.values))}]"
    if isinstance(condition, Not):
        inside = text(condition.operand)
        alone = isinstance(condition.operand, Compare) and condition.operand.bare
        return f"!{inside}" if alone else f"!({inside})"
    joint = " && " if isinstance(condition, And) else " || "
    return joint.join(f"({text(part)})" if _looser(part, condition) else text(part) for part in condition.operands)


def literal(value: Literal) -> str:
    """A literal as conditions have it."""
    return f'duration("{format_ms(value.ms)}")' if isinstance(value, Duration) else json.dumps(value)


def _looser(part: Expression, whole: And | Or) -> bool:
    return isinstance(part, Or) and isinstance(whole, And)
