"""An expression is read as it is written, with its places, and nothing outside of the subset is taken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncemore.rules.errors import ExpressionError
from oncemore.rules.expression import And, Compare, Duration, Expression, Member, Not, Or, leaves
from oncemore.rules.normal_form import key
from oncemore.rules.parsing import parse

FACT = st.sampled_from(["a.b", "native.latest", "turn.ended_ago", "in_.x", "truely.y", "durations.z", "A.b9"])
VALUE = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 10**12).map(Duration),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6),
)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Duration):
        return f'duration("{value.ms}ms")'
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(expression: Expression) -> str:
    """Every operand in parentheses, so that the tree is the text's only reading."""
    if isinstance(expression, Compare):
        return f"{expression.fact} {expression.op} {written(expression.value)}"
    if isinstance(expression, Member):
        return f"{expression.fact} in [{', '.join(map(written, expression.values))}]"
    if isinstance(expression, Not):
        return f"!({text_of(expression.operand)})"
    return (" && " if isinstance(expression, And) else " || ").join(f"({text_of(one)})" for one in expression.operands)


def shape(expression: Expression) -> Any:
    """The tree without places."""
    if isinstance(expression, (Compare, Member)):
        return key(expression)
    if isinstance(expression, Not):
        return ("!", shape(expression.operand))
    return (type(expression).__name__, *map(shape, expression.operands))


PARTS = st.recursive(
    st.one_of(
        st.builds(lambda f, o, v: f"{f} {o} {written(v)}", FACT, st.sampled_from(["==", "!=", "<", ">="]), VALUE),
        st.builds(lambda f, vs: f"{f} in [{', '.join(map(written, vs))}]", FACT, st.lists(VALUE, max_size=3)),
        FACT,
    ),
    lambda inner: st.one_of(
        inner.map(lambda text: f"!({text})"),
        st.builds(lambda op, parts: op.join(f"({part})" for part in parts), st.sampled_from([" && ", " || "]),
                  st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=8,
)  # fmt: skip


@given(PARTS)
def test_a_tree_written_out_reads_back_the_same(text: str) -> None:
    tree = parse(text)
    assert shape(parse(text_of(tree))) == shape(tree)


@given(PARTS)
def test_every_comparison_knows_its_place(text: str) -> None:
    for leaf in leaves(parse(text)):
        assert text[leaf.fact_span.start : leaf.fact_span.end] == leaf.fact
        alone = parse(text[leaf.span.start : leaf.span.end])
        assert shape(alone) == shape(leaf)


def test_and_binds_tighter_than_or() -> None:
    tree = parse("a.x || b.x && c.x || d.x")
    assert isinstance(tree, Or)
    assert [type(one).__name__ for one in tree.operands] == ["Compare", "And", "Compare"]


def test_a_reversed_comparison_is_turned_around() -> None:
    assert shape(parse('duration("60s") <= a.b')) == shape(parse('a.b >= duration("1m")'))


def test_escapes_stand_for_their_characters() -> None:
    leaf = parse(r"""a.b == "\"\'\\\n\r\t\u4e2d" """)
    assert isinstance(leaf, Compare)
    assert leaf.value == "\"'\\\n\r\t中"


def test_an_expression_may_stretch_over_lines() -> None:
    assert shape(parse('a.b ==\n  "x"\r\n  && c.d')) == shape(parse('a.b == "x" && c.d'))


@pytest.mark.parametrize(
    ("text", "at", "help"),
    [
        ('!a.b == "x"', (5, 7), "parentheses"),
        ("a.b = 1", (4, 5), "=="),
        ("a.b and c.d", (4, 7), "&&"),
        ("a.b or c.d", (4, 6), "||"),
        ("a.b == 1.5", (7, 10), "whole"),
        ("a.b == 01", (7, 9), "leading zeros"),
        ("a.b == 0x10", (7, 11), "decimal"),
        ("a.b == null", (7, 11), "unknown"),
        ("a.b == c.d", (7, 10), "one side"),
        ("f(a.b)", (1, 2), "no function"),
        ("1 < a.b < 3", (8, 9), "joined by &&"),
        ("a.b == “x”", (7, 8), "straight quotes"),
        ("a.b ＆＆ c.d", (4, 5), "wide form"),
        ("a.b\u00a0== 1", (3, 4), "plain blank"),
        ('a.b == "x', (7, 8), "on the same line"),
        ('"x" == "y"', (7, 10), "one side"),
        ('a.b == "x', (7, 8), "quote"),
        ('a.b == duration("1.5h")', (16, 22), "duration"),
        ('a.b == "\\ud800"', (8, 14), "character"),
    ],
)
def test_what_is_written_otherwise_elsewhere_is_explained(text: str, at: tuple[int, int], help: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert (caught.value.span.start, caught.value.span.end) == at
    assert help in (caught.value.help or "")


@pytest.mark.parametrize(
    "text",
    ["", " ", "a.b ==", "a.in", "true", "1", '"x"', "a.b < 1 < 2", "a.b in [1,]", "a.b in 1", "a.b + 1 == 2", "f(a.b)",
     "a.b ? c.d : e.f", 'a["b"]', "a.b // c", "a.b && ", "(a.b", "a.b)", "a..b", ".a", "a.b == 1u", "a.b == - 1",
     'a.b == "\\x41"', 'a.b == r"x"', "null == a.b", "a.b == [1]", "!", "a.b !c.d", "a.b & c.d", "a.b | c.d"],
)  # fmt: skip
def test_what_is_not_of_the_subset_is_refused_inside_the_text(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert 0 <= caught.value.span.start <= caught.value.span.end <= max(len(text), caught.value.span.start + 1)


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parse(text)
    except ExpressionError as error:
        assert error.message


def test_depth_and_length_are_bounded() -> None:
    assert isinstance(parse("!" * 32 + "a.b"), Not)
    for text in ("!" * 33 + "a.b", "!" * 4_000 + "a.b", "a.b && " * 1_000 + "a.b"):
        with pytest.raises(ExpressionError, match=r"deeper|at most"):
            parse(text)
