"""Which tree does the text of a condition stand for?

The grammar is `expression.lark`. The tree is built while parsing, so that depth costs no recursion; length and depth
are bounded all the same, since whatever walks the tree later recurses.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oncemore.rules.errors import ExpressionError
from oncemore.rules.expression import Compare, Expression, Member, Not, Span

if TYPE_CHECKING:
    from lark import Lark, Token

    from oncemore.rules.building import Placed

MAX_LENGTH = 4_096
"""Code points of one expression."""

MAX_NESTING = 32
"""How deep `!`, `&&`, `||` and their parentheses may stand in one another."""

_WORDS = {
    "OR": "||",
    "AND": "&&",
    "NOT": "!",
    "OPEN": "(",
    "CLOSE": ")",
    "LEFT": "[",
    "RIGHT": "]",
    "COMMA": ",",
    "DOT": ".",
    "IN": "in",
    "DURATION": 'duration("...")',
    "COMPARE": "a comparison",
    "BOOL": "true or false",
    "INT": "a number",
    "STRING": "a text in quotes",
    "NAME": "a fact",
    "$END": "the end",
}


def parse(text: str) -> Expression:
    """The tree of an expression.

    Raises:
        ExpressionError: it is not one; names the place and what could stand there.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"this expression has {len(text)} characters; at most {MAX_LENGTH} are read",
            Span(MAX_LENGTH, len(text)),
            help="split it into several gates: all of them must pass",
        )
    try:
        placed: Placed = _parser().parse(text)  # type: ignore[assignment]  # our makers return no lark tree
    except UnexpectedToken as error:
        raise _unexpected(text, error.token, error.accepts or error.expected) from None
    except UnexpectedCharacters as error:
        raise _unreadable(text, error.pos_in_stream or 0, error.allowed or set()) from None
    root: Expression = placed.node
    _check_nesting(root)
    return root


@cache
def _parser() -> Lark:
    from lark import Lark

    from oncemore.rules.building import Build

    grammar = Path(__file__).with_name("expression.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False, transformer=Build())


def _check_nesting(root: Expression) -> None:
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, (Compare, Member)):
            continue
        if depth > MAX_NESTING:
            raise ExpressionError(
                f"this expression nests deeper than {MAX_NESTING}",
                node.span,
                help="split it into several gates: all of them must pass",
            )
        inner = (node.operand,) if isinstance(node, Not) else node.operands
        waiting.extend((operand, depth + 1) for operand in inner)


def _expected(names: set[str]) -> tuple[str, ...]:
    return tuple(_WORDS[name] for name in _WORDS if name in names)


def _unexpected(text: str, token: Token, names: set[str]) -> ExpressionError:
    expected = _expected(names)
    if token.type == "$END":
        if not text.strip():
            return ExpressionError("there is no expression here", Span(0, len(text)), expected)
        end = len(text.rstrip())
        return ExpressionError("the expression ends too early", Span(end, end), expected, _advice("", text, end))
    start = token.start_pos or 0
    end = start + len(token)
    return ExpressionError(f"`{token}` cannot stand here", Span(start, end), expected, _advice(str(token), text, start))


def _unreadable(text: str, at: int, names: set[str]) -> ExpressionError:
    word = re.compile(r"[A-Za-z0-9_.]+|&|\||=|.", re.DOTALL).match(text, at)
    found = word[0] if word else ""
    return ExpressionError(
        f"`{found}` cannot stand here", Span(at, at + max(1, len(found))), _expected(names), _advice(found, text, at)
    )


def _advice(found: str, text: str, at: int) -> str | None:
    """What people from other languages mean, where that can be told from the word."""
    words = {
        "=": "equality is written ==",
        "&": "both is written &&",
        "|": "either is written ||",
        "and": "both is written &&",
        "or": "either is written ||",
        "not": "the opposite is written !",
        "null": "an unknown fact is never compared: a gate on it is unknown by itself",
        "True": "truth is written true",
        "False": "untruth is written false",
    }
    if found in words:
        return words[found]
    if found in {"==", "!=", "<", "<=", ">", ">=", "in"} and "!" in text[:at]:
        return '"!" takes a bool fact or parentheses: write !(a == b), or a != b'
    if re.search(r"(?:==|!=|<=|>=|<|>)\s*$", text[:at]) and re.match(r"[A-Za-z_\"']", found):
        return "one side of a comparison is a fact, the other a value; a text value stands in quotes"
    if found and (found[0].isdigit() or found[0] == "-"):
        return 'numbers are whole, decimal and without leading zeros; spans of time are duration("90s")'
    if found in {'"', "'"}:
        return "a text ends with the quote it began with, on the same line; a backslash takes n, r, t, quotes, \\ or u"
    return None
