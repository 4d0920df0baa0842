"""A normal form says the same as its condition in three values, within bounds."""

from __future__ import annotations

import random

import pytest
from tests.oracle import evaluate

from oncemore.rules.errors import TooComplex
from oncemore.rules.normal_form import terms
from oncemore.rules.parsing import parse

NAMES = ["a.a", "b.b", "c.c", "d.d"]


def condition(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([f"{rng.choice(NAMES)}", f"({rng.choice(NAMES)} == false)"])
    if rng.random() < 0.25:
        return f"!({condition(rng, depth - 1)})"
    parts = [condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    return "(" + rng.choice([" && ", " || "]).join(parts) + ")"


def test_terms_say_the_same_as_the_condition_in_three_values() -> None:
    rng = random.Random(11)
    compared = 0
    for _ in range(400):
        expression = parse(condition(rng, 3))
        passing, failing = terms(expression, True), terms(expression, False)
        for _ in range(20):
            facts = {name: rng.random() < 0.5 for name in NAMES if rng.random() < 0.7}
            met = [
                any(all(evaluate(leaf, facts) is truth for leaf, truth in term) for term in each)
                for each in (passing, failing)
            ]
            wanted = evaluate(expression, facts)
            assert met == [wanted is True, wanted is False]
            compared += 1
    assert compared == 8_000


def test_a_comparison_and_its_opposite_are_never_met() -> None:
    assert terms(parse("a.a && !a.a"), True) == []
    assert len(terms(parse("a.a && !a.a"), False)) == 2


def test_equal_comparisons_count_once_and_true_is_not_one() -> None:
    assert [len(term) for term in terms(parse("a.a && a.a"), True)] == [1]
    assert [len(term) for term in terms(parse("a.a == true && a.a == 1"), True)] == [2]


def test_a_term_inside_another_one_is_enough() -> None:
    assert [len(term) for term in terms(parse("a.a || (a.a && b.b)"), True)] == [1]


def test_thirty_two_terms_are_evaluated_and_one_more_is_refused() -> None:
    fine = " || ".join(f"a.x{index}" for index in range(32))
    assert len(terms(parse(fine), True)) == 32
    with pytest.raises(TooComplex, match="at most 32"):
        terms(parse(f"{fine} || a.more"), True)


def test_a_product_that_would_explode_is_refused_without_being_made() -> None:
    text = " && ".join(f"(a.x{index} || b.x{index} || c.x{index})" for index in range(60))
    with pytest.raises(TooComplex):
        terms(parse(text), True)
