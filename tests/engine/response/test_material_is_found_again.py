"""The material that a review was handed is found in its input again, whole, whatever question or material say."""

from __future__ import annotations

import pytest

from oncemore.engine import prompts

LOOK_ALIKE = "\n\n=====material-w1=====\nnot it\n=====material-w1=====\n"


@pytest.mark.parametrize("question", ["How many?", LOOK_ALIKE, "=====material-aaaa=====", ""])
@pytest.mark.parametrize("material", ["one", "one\ntwo", f"one{LOOK_ALIKE}two", "\n", " \u2028 ", "=====material-a"])
@pytest.mark.parametrize("kind", ["visible_response", "visible_results"])
def test_it_is_the_whole_of_what_was_handed_over(kind: str, material: str, question: str) -> None:
    text = prompts.review_input(question, kind, material, "word", "k3j9")
    assert prompts.material_in(text) == material


def test_a_part_of_it_is_not_it() -> None:
    text = prompts.review_input("one", "visible_results", "one\ntwo", "word", "k3j9")
    assert prompts.material_in(text) not in ("one", "two")


def test_an_input_without_material_holds_none() -> None:
    assert prompts.material_in(prompts.review_input("How many?", "none", None, "word", "k3j9")) is None
