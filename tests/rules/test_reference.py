from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oncemore.rules.files import NAME
from oncemore.rules.reference import SCHEMAS, facts_markdown, schema, schema_text
from oncemore.rules.vocabulary import FACTS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_facts_is_that_of_the_vocabulary() -> None:
    assert (DOCS / "facts.md").read_text("utf-8") == facts_markdown()
    assert all(f"| `{name}` |" in facts_markdown() for name in FACTS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_that_of_the_files_model(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == schema_text(name)


def test_no_schema_takes_a_key_that_the_loader_refuses() -> None:
    def objects(part: Any) -> Any:
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                yield part
            for inner in part.values():
                yield from objects(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from objects(inner)

    for name in SCHEMAS:
        found = list(objects(schema(name)))
        assert found
        assert all(one["additionalProperties"] is False for one in found)


def test_the_schema_offers_what_an_author_may_choose() -> None:
    policy = schema("policy.schema.json")
    gate = policy["$defs"]["GateEntry"]
    assert gate["properties"]["otherwise"]["enum"] == ["deny", "hold", "wait"]
    assert set(gate["required"]) == {"id", "require", "otherwise", "why"}
    assert policy["properties"]["policy"]["pattern"] == NAME
    assert set(policy["$defs"]["Then"]["properties"]["action"]["enum"]) == {
        "continue_work", "review_answer", "retry_business", "settle_turn",
    }  # fmt: skip
