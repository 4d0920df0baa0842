"""Which tree does the text of a condition stand for?

The grammar is `expression.lark`. The tree is built while parsing, so that depth costs no recursion; length and depth
are bounded all the same, since whatever walks the tree later recurses.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oncemore.rules.diagnostics import named
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


_FACT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_SPAN = re.compile(r"(?:[0-9]{1,9}(?:ms|h|m|s))+")
_LONGEST_ADVISED = 40
"""Characters of a word that is said again as it should have been written."""

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_CURLY = frozenset("\u2018\u2019\u201a\u201c\u201d\u201e\u300c\u300d\u00ab\u00bb")


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


def tokens(text: str) -> list[Token]:
    """The words of an expression that can be parsed, each with its kind and place."""
    return list(_parser().lex(text))


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
    if token.type == "NAME" and (whole := _FACT.match(text, start)):
        end = whole.end()
        token = token.update(value=whole[0])
    return ExpressionError(f"`{token}` cannot stand here", Span(start, end), expected, _advice(str(token), text, start))


def _unreadable(text: str, at: int, names: set[str]) -> ExpressionError:
    word = re.compile(r"[A-Za-z0-9_.]+|&|\||=|.", re.DOTALL).match(text, at)
    found = word[0] if word else ""
    said = f"`{found}`" if found.isascii() else f"`{found}`, {named(found)},"
    return ExpressionError(
        f"{said} cannot stand here", Span(at, at + max(1, len(found))), _expected(names), _advice(found, text, at)
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
        "is": "equality is written ==",
        "null": "an unknown fact is never compared: a gate on it is unknown by itself",
        "True": "truth is written true",
        "False": "untruth is written false",
    }
    if found == "=" and text[at + 1 : at + 2] in ("<", ">"):
        return f"it is written {text[at + 1]}="
    if found in words:
        return words[found]
    if found and not found.isascii():
        return _advice_on_a_character(found)
    if found in {'"', "'"}:
        return "a text ends with the quote it began with, on the same line; a backslash takes n, r, t, quotes, \\ or u"
    if found == "(" and re.search(r"[A-Za-z0-9_]\s*$", text[:at]):
        return 'there is no function but duration("..."); of a fact that is unknown a gate is unknown by itself'
    if found in {"+", "-", "*", "/", "%", "?"}:
        return "nothing is computed here: one side of a comparison is a fact, the other a value"
    if found in {*_COMPARISONS, "in"} and "!" in re.sub(r"!=", "", text[:at]):
        return '"!" takes a bool fact or parentheses: write !(a == b), or a != b'
    if re.search(r"(?:==|!=|<=|>=|<|>)\s*$", text[:at]) and re.match(r"[A-Za-z_\"']", found):
        written = f': "{found}"' if found.isidentifier() and len(found) <= _LONGEST_ADVISED else ""
        return f"one side of a comparison is a fact, the other a value; a text value stands in quotes{written}"
    if found.isidentifier() and len(found) <= _LONGEST_ADVISED and re.search(r"\bin\s*\[[^\]]*\Z", text[:at]):
        return f'a text value stands in quotes: "{found}"'
    if re.search(r"\bin\s*\Z", text[:at]) and re.match(r"[A-Za-z_\"']", found):
        return 'values stand in brackets, and texts in quotes: in ["a", "b"]'
    if len(found) <= _LONGEST_ADVISED and _SPAN.fullmatch(found):
        return f'a span of time is written duration("{found}")'
    if found and (found[0].isdigit() or found[0] == "-"):
        return 'numbers are whole, decimal and without leading zeros; spans of time are duration("90s")'
    if found in _COMPARISONS:
        return "a comparison has one sign; two of them are joined by &&: 1 < a.b && a.b < 3"
    return None


def _advice_on_a_character(found: str) -> str:
    """What to write instead of a letter or sign that only looks like one of ours."""
    plain = unicodedata.normalize("NFKC", found)
    if found in _CURLY:
        return "a text stands in straight quotes"
    if plain.isspace():
        return "write a plain blank"
    if plain.isascii():
        return f"write `{plain}`: this one is a wide form of it"
    return "outside of texts in quotes there are but plain ASCII letters and signs"
