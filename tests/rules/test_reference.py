"""The page of facts is that of the vocabulary, and each fact's example is a condition on it that checks clean."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.policy_files import gate, policy, write

from oncemore.rules.check import check_paths
from oncemore.rules.examples import EXAMPLES
from oncemore.rules.expression import leaves
from oncemore.rules.parsing import parse
from oncemore.rules.reference import facts_markdown
from oncemore.rules.typecheck import check
from oncemore.rules.vocabulary import FACTS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_facts_is_that_of_the_vocabulary() -> None:
    assert (DOCS / "facts.md").read_text("utf-8") == facts_markdown()
    assert all(f"| `{name}` |" in facts_markdown() for name in FACTS)


def test_every_fact_has_an_example() -> None:
    assert list(EXAMPLES) == list(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_the_example_of_a_fact_asks_it_and_is_a_sound_gate(tmp_path: Path, name: str) -> None:
    condition = parse(EXAMPLES[name])
    assert name in {leaf.fact for leaf in leaves(condition)}
    assert check(condition) == []
    runtimes = FACTS[name].runtimes
    when = "turn.attempt <= 3" + (f' && native.runtime == "{runtimes[0]}"' if len(runtimes) == 1 else "")
    file = write(tmp_path, policy(gate(EXAMPLES[name]), when=when))
    assert check_paths([file]) == []


@pytest.mark.parametrize("name", [name for name, fact in FACTS.items() if fact.stored])
def test_the_example_of_a_stored_fact_may_stand_in_when(tmp_path: Path, name: str) -> None:
    assert check_paths([write(tmp_path, policy(when=EXAMPLES[name]))]) == []
