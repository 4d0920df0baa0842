"""The schemas are those of the models, complete, and refuse nothing that loads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from oncemore.rules.files import NAME
from oncemore.rules.schemas import SCHEMAS, schema, schema_text
from oncemore.rules.shipped import shipped_policies, shipped_schemas
from oncemore.rules.vocabulary import FACTS

DOCS = Path(__file__).parents[2] / "docs"


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def schema_of(file: Path) -> str:
    kind = "levels" if file.name.startswith("levels") else "group" if file.parent.name == "groups" else "policy"
    return f"{'test' if file.name.endswith('_test.yaml') else kind}.schema.json"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_that_of_the_files_model(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == schema_text(name)
    assert (shipped_schemas() / name).is_file()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_is_described_and_every_word_to_choose_too(name: str) -> None:
    made = schema(name)
    for part in (made, *made.get("$defs", {}).values()):
        for key, described in part.get("properties", {}).items():
            assert described.get("description"), key
    for part in parts({key: value for key, value in made.items() if key != "$defs"} | made.get("$defs", {})):
        if "enumDescriptions" in part:
            assert len(part["enumDescriptions"]) == len(part["enum"])


def test_no_schema_takes_a_key_that_the_loader_refuses() -> None:
    for name in SCHEMAS:
        found = [one for one in parts(schema(name)) if one.get("type") == "object" and "properties" in one]
        assert found or name == "levels.schema.json"
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
    assert list(schema("test.schema.json")["$defs"]["Facts"]["properties"]) == list(FACTS)


@pytest.mark.parametrize("file", sorted(shipped_policies().rglob("*.yaml")), ids=lambda file: file.name)
def test_what_loads_is_not_refused(file: Path) -> None:
    # YAML 1.1 makes a date of a moment; a schema sees the text, as our loader does.
    value = yaml.load(file.read_text("utf-8"), yaml.BaseLoader) if "levels" in file.name else yaml.safe_load(
        file.read_text("utf-8")
    )  # fmt: skip
    jsonschema.validate(value, schema(schema_of(file)))


@pytest.mark.parametrize(
    ("facts", "accepted"),
    [
        ({"turn.ended_ago": "1h30m"}, True),
        ({"turn.ended_ago": "unknown"}, True),
        ({"turn.ended_ago": 5}, False),
        ({"turn.ended_ago": "5"}, False),
        ({"attempts.work": 0, "native.latest": "unknown", "attempts.review": "unknown"}, True),
        ({"attempts.work": "no"}, False),
        ({"attempts.work": -1}, False),
        ({"turn.attempt": 0}, False),
        ({"native.latest": "yes"}, False),
        ({"source.state": "unknown"}, True),
        ({"source.state": "gone"}, False),
        ({"source.stat": "edited"}, False),
    ],
)
def test_a_fact_has_the_values_that_the_loader_takes(facts: dict[str, object], accepted: bool) -> None:
    assert jsonschema.Draft202012Validator(schema("facts.schema.json")).is_valid({"facts": facts}) is accepted
