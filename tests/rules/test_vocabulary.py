"""The vocabulary is one that conditions can name and that says what each runtime supplies."""

from __future__ import annotations

import re

import pytest

from oncemore.rules.fact import RUNTIMES
from oncemore.rules.parsing import parse
from oncemore.rules.vocabulary import DIGEST, FACTS

RESERVED = {
    *("as", "break", "const", "continue", "duration", "else", "false", "for", "function", "if", "import", "in", "let"),
    *("loop", "namespace", "null", "package", "return", "true", "var", "void", "while"),
}


def test_no_fact_stands_before_another_ones_dot() -> None:
    assert [(a, b) for a in FACTS for b in FACTS if b.startswith(a + ".")] == []


def test_no_part_of_a_name_is_a_reserved_word_of_cel() -> None:
    assert [name for name in FACTS if RESERVED & set(name.split("."))] == []


def test_every_name_can_be_written_in_a_condition() -> None:
    for name, fact in FACTS.items():
        assert fact.name == name
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name)
        parse(f"{name} == 1")


def test_an_enum_has_values_and_nothing_else_has() -> None:
    assert all(bool(fact.values) == (fact.type == "enum") for fact in FACTS.values())
    assert all(len(set(fact.values)) == len(fact.values) for fact in FACTS.values())


def test_unknown_is_no_value() -> None:
    assert [fact.name for fact in FACTS.values() if "unknown" in fact.values] == []


def test_what_proves_nothing_is_a_value_of_the_fact() -> None:
    marked = {fact.name: fact.no_proof for fact in FACTS.values() if fact.no_proof}
    assert all(set(values) <= set(FACTS[name].values) for name, values in marked.items())
    assert set().union(*marked.values()) == {
        "partial", "changing", "unreadable", "projected", "unavailable", "missing", "ambiguous"
    }  # fmt: skip


def test_codex_does_not_supply_steps_and_material() -> None:
    lacking = {fact.name for fact in FACTS.values() if "codex" not in fact.runtimes}
    assert lacking == {
        "native.last_step", "native.steps_ended", "material.kind", "material.segment", "material.identity",
        "material.tool_calls", "material.bytes",
    }  # fmt: skip


def test_antigravity_does_not_supply_the_live_owner() -> None:
    assert {fact.name for fact in FACTS.values() if "antigravity" not in fact.runtimes} == {"native.live_owner"}
    assert FACTS["native.runtime"].values == RUNTIMES


@pytest.mark.parametrize("root", ["native", "source", "grant", "route", "material"])
def test_a_reading_of_the_outside_counts_for_a_minute(root: str) -> None:
    ages = {fact.max_age for fact in FACTS.values() if fact.name.startswith(root + ".")} - {
        FACTS["native.runtime"].max_age
    }
    assert ages == {60_000}


def test_what_the_journal_says_does_not_age() -> None:
    assert {fact.max_age for fact in FACTS.values() if fact.stored} == {None}


def test_only_the_time_since_the_end_grows_by_itself() -> None:
    assert [fact.name for fact in FACTS.values() if fact.grows] == ["turn.ended_ago"]


def test_the_digest_is_that_of_this_vocabulary() -> None:
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", DIGEST)
