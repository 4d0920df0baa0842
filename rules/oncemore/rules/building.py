"""How does each rule of the grammar become a part of the tree, with its place in the text?

Lark calls these makers while it parses. This module is the only one that needs lark to be imported; `parsing` loads
it with the first expression.
"""

# ruff: noqa: D102  (each maker is named after its rule; the grammar describes them)

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from lark import Token, Transformer, v_args

from oncemore.rules import durations
from oncemore.rules.errors import ExpressionError
from oncemore.rules.expression import And, Compare, Duration, Expression, Literal, Member, Not, Or, Span

_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9A-Fa-f]{2}")


class Placed(NamedTuple):
    """A part with the place that it takes up, parentheses around it included."""

    node: Any
    start: int
    end: int


@v_args(inline=True)
class Build(Transformer[Token, Placed]):
    """One maker per rule of the grammar."""

    def string(self, token: Token) -> Placed:
        start, end = _place(token)
        if surrogate := _SURROGATE.search(token):
            at = start + surrogate.start()
            raise ExpressionError(
                f"{surrogate[0]} is half of a character", Span(at, at + 6), help="write the character itself"
            )
        return Placed(unquoted(token), start, end)

    def integer(self, token: Token) -> Placed:
        return Placed(int(token), *_place(token))

    def boolean(self, token: Token) -> Placed:
        return Placed(token.value == "true", *_place(token))

    def duration(self, word: Token, _open: Token, token: Token, close: Token) -> Placed:
        try:
            ms = durations.parse(unquoted(token))
        except ValueError as error:
            raise ExpressionError(
                str(error), Span(*_place(token)), help='a duration is written as duration("90s") or duration("1h30m")'
            ) from None
        return Placed(Duration(ms), _place(word)[0], _place(close)[1])

    def list(self, left: Token, *rest: Any) -> Placed:
        items = tuple(item for item in rest if isinstance(item, Placed))
        return Placed(items, _place(left)[0], _place(rest[-1])[1])

    def fact(self, *parts: Token) -> Placed:
        return Placed("".join(parts), _place(parts[0])[0], _place(parts[-1])[1])

    def compare(self, fact: Placed, op: Token, value: Placed) -> Placed:
        return _compare(fact, str(op), value, fact.start, value.end)

    def compare_reversed(self, value: Placed, op: Token, fact: Placed) -> Placed:
        return _compare(fact, _FLIP[op], value, value.start, fact.end)

    def member(self, fact: Placed, _in: Token, items: Placed) -> Placed:
        values: tuple[Literal, ...] = tuple(item.node for item in items.node)
        node = Member(
            fact.node,
            values,
            Span(fact.start, items.end),
            Span(fact.start, fact.end),
            tuple(Span(item.start, item.end) for item in items.node),
        )
        return Placed(node, fact.start, items.end)

    def holds(self, fact: Placed) -> Placed:
        span = Span(fact.start, fact.end)
        return Placed(Compare(fact.node, "==", True, span, span, span, bare=True), fact.start, fact.end)

    def negation(self, bang: Token, operand: Placed) -> Placed:
        start = _place(bang)[0]
        return Placed(Not(operand.node, Span(start, operand.end)), start, operand.end)

    def group(self, left: Token, inner: Placed, right: Token) -> Placed:
        return Placed(inner.node, _place(left)[0], _place(right)[1])

    def and_(self, *parts: Any) -> Placed:
        return _joined(And, parts)

    def or_(self, *parts: Any) -> Placed:
        return _joined(Or, parts)


def _compare(fact: Placed, op: str, value: Placed, start: int, end: int) -> Placed:
    node = Compare(
        fact.node, op, value.node, Span(start, end), Span(fact.start, fact.end), Span(value.start, value.end)
    )
    return Placed(node, start, end)


def _joined(make: Callable[[tuple[Expression, ...], Span], Expression], parts: tuple[Any, ...]) -> Placed:
    operands = [part for part in parts if isinstance(part, Placed)]
    start, end = operands[0].start, operands[-1].end
    return Placed(make(tuple(operand.node for operand in operands), Span(start, end)), start, end)


def _place(token: Token) -> tuple[int, int]:
    start = token.start_pos or 0
    return start, start + len(token)


def unquoted(token: str) -> str:
    """The text that a text in quotes stands for."""

    def plain(found: re.Match[str]) -> str:
        code, letter = found.groups()
        return chr(int(code, 16)) if code else _ESCAPES.get(letter, letter)

    return _ESCAPE.sub(plain, token[1:-1])
