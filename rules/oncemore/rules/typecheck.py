"""Does a condition name facts that exist, and compare each with what it can be?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oncemore.rules import durations
from oncemore.rules.expression import Duration, Expression, Leaf, Literal, Member, Span, leaves
from oncemore.rules.fact import Fact
from oncemore.rules.vocabulary import FACTS

MIN_INT, MAX_INT = -(2**63), 2**63 - 1

_LONGEST_NAME = 100
"""Characters of what may still be a slip for a name; comparing takes as long as the text is."""

ORDERINGS = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a condition.

    Attributes:
        span: where in the text of the expression.
        suggestion: what to write instead, as a sentence.
    """

    code: str
    message: str
    span: Span
    suggestion: str | None = None


def check(expression: Expression) -> list[Problem]:
    """Everything that is wrong, left to right; empty when the condition can be evaluated."""
    return [problem for leaf in leaves(expression) for problem in _leaf(leaf)]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The most similar known name, when one is similar enough to be meant."""
    if len(name) > _LONGEST_NAME:
        return None
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown_fact(name: str) -> tuple[str, str | None]:
    """Message and suggestion for a name that no fact has."""
    close = nearest(name, FACTS)
    if close is None:
        # `ended_ago` means `turn.ended_ago`: the last part alone is a common slip.
        last = [fact for fact in FACTS if fact.rpartition(".")[2] == name.rpartition(".")[2]]
        close = last[0] if len(last) == 1 else None
    suggestion = f"did you mean `{close}`?" if close else "`oncemore facts` lists all of them"
    return f"there is no fact `{name}`", suggestion


def value_problem(fact: Fact, value: Literal) -> tuple[str, str, str | None] | None:
    """Code, message and suggestion when the fact can never have this value; None when it can."""
    if fact.type == "enum":
        return _enum_problem(fact, value)
    if fact.type == "bool":
        if isinstance(value, bool):
            return None
        return "R303", f"`{fact.name}` is a bool, not {_words(value)}", f"write `{fact.name}` or `{fact.name} == false`"
    if fact.type == "duration":
        if isinstance(value, Duration):
            return None
        hint = 'write duration("60s")'
        if isinstance(value, str):
            hint = f'write duration("{value}")' if _is_duration(value) else hint
        elif not isinstance(value, bool) and 0 < value <= durations.MAX_MS // 1000:
            hint = f'write duration("{durations.format_ms(value * 1000)}"), if seconds are meant'
        return "R303", f"`{fact.name}` is a duration, not {_words(value)}", hint
    if isinstance(value, bool) or not isinstance(value, int):
        quoted = isinstance(value, str) and value.lstrip("-").isdecimal()
        advice = "write the number without quotes" if quoted else None
        return "R303", f"`{fact.name}` is an int, not {_words(value)}", advice
    if not MIN_INT <= value <= MAX_INT:
        return "R305", f"{value} does not fit in 64 bits", None
    return None


def _leaf(leaf: Leaf) -> Iterator[Problem]:
    fact = FACTS.get(leaf.fact)
    if fact is None:
        yield Problem("R302", *_at(unknown_fact(leaf.fact), leaf.fact_span))
    elif isinstance(leaf, Member):
        for value, span in zip(leaf.values, leaf.value_spans, strict=True):
            yield from _value(fact, value, span)
    elif leaf.bare:
        if fact.type != "bool":
            yield Problem(
                "R307",
                f"`{fact.name}` is {_a(fact.type)} and says nothing alone",
                leaf.span,
                f"compare it, such as `{_example(fact)}`",
            )
    else:
        yield from _value(fact, leaf.value, leaf.value_span)
        if leaf.op in ORDERINGS and fact.type not in ("int", "duration"):
            yield Problem(
                "R306",
                f"`{leaf.op}` orders ints and durations; `{fact.name}` is {_a(fact.type)}",
                leaf.span,
                f"compare it with == or !=, such as `{_example(fact)}`",
            )


def _value(fact: Fact, value: Literal, span: Span) -> Iterator[Problem]:
    if problem := value_problem(fact, value):
        code, message, suggestion = problem
        yield Problem(code, message, span, suggestion)


def _enum_problem(fact: Fact, value: Literal) -> tuple[str, str, str | None] | None:
    if not isinstance(value, str):
        return "R303", f"`{fact.name}` is one of {_list(fact.values)}, not {_words(value)}", None
    if value in fact.values:
        return None
    message = f'`{fact.name}` is never "{value}"'
    if value == "unknown":
        return "R304", message, "unknown is not a value: a gate on a fact that is not known is unknown by itself"
    close = nearest(value, fact.values)
    choices = f"it is one of {_list(fact.values)}"
    return "R304", message, f'did you mean "{close}"? {choices}' if close else choices


def _at(found: tuple[str, str | None], span: Span) -> tuple[str, Span, str | None]:
    return found[0], span, found[1]


def _is_duration(text: str) -> bool:
    try:
        durations.parse(text)
    except ValueError:
        return False
    return True


def _words(value: Literal) -> str:
    if isinstance(value, bool):
        return "a bool"
    if isinstance(value, Duration):
        return "a duration"
    return f"the number {value}" if isinstance(value, int) else f'the text "{value}"'


def _a(type_: str) -> str:
    return f"an {type_}" if type_[0] in "aeiou" else f"a {type_}"


def _list(values: tuple[str, ...]) -> str:
    return ", ".join(values)


def _example(fact: Fact) -> str:
    if fact.type == "enum":
        return f'{fact.name} == "{fact.values[0]}"'
    return {"int": f"{fact.name} == 0", "duration": f'{fact.name} >= duration("60s")'}.get(fact.type, fact.name)
