"""Nobody's words are markup."""

from __future__ import annotations

from oncemore.rules.markdown import cell, code, fenced, prose


def test_a_block_ends_where_it_ends() -> None:
    assert list(fenced("a\n```\n# b")) == ["````text", "a\n```\n# b", "````"]


def test_a_stretch_of_code_holds_ticks() -> None:
    assert code("a`b|c") == "``a`b|c``"
    assert code("`a`") == "`` `a` ``"


def test_the_only_markup_of_a_sentence_is_its_code() -> None:
    assert prose("see `a < b` <img> *x*") == "see `a < b` \\<img\\> \\*x\\*"


def test_a_cell_is_one_line_of_one_column() -> None:
    assert cell("a | b\nc") == "a \\| b<br>c"
