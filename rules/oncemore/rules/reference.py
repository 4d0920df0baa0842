"""How are the vocabulary and the file formats written down for people and for editors?

The pages under `docs/` that can be made from declarations are made here; a test compares.
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from pydantic import BaseModel

from oncemore.rules import durations
from oncemore.rules.files import GroupFile, PolicyFile, TestsEntry
from oncemore.rules.vocabulary import FACTS, RUNTIMES, Fact

SCHEMAS: dict[str, type[BaseModel]] = {
    "policy.schema.json": PolicyFile,
    "group.schema.json": GroupFile,
    "test.schema.json": TestsEntry,
}
"""The files that have a JSON Schema, by the schema's own file name."""

_PREFACE = """\
# Facts

A case is a flat map of these names to values. A fact that nobody supplied, whose evidence is older than its age limit,
or about which two readings disagree is *unknown*; unknown is never a value. Each fact may be named in a gate; those
marked *stored* come from our own records alone and may be named in `when` too.

Values in italics prove nothing: they say that something could not be established, and a gate should not pass on them.
"""


def facts_markdown() -> str:
    """The reference of facts, `docs/facts.md`."""
    lines = [_PREFACE]
    for root, facts in groupby(FACTS.values(), key=lambda fact: fact.name.partition(".")[0]):
        lines += [f"## {root}", "", "| fact | values | meaning | supplied by | counts for |", "|---|---|---|---|---|"]
        lines += [_row(fact) for fact in facts]
        lines.append("")
    return "\n".join(lines)


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, by its name in `SCHEMAS`.

    Raises:
        KeyError: there is no such schema.
    """
    model = SCHEMAS[name]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | model.model_json_schema()


def schema_text(name: str) -> str:
    """The same as the text of a file.

    Raises:
        KeyError: there is no such schema.
    """
    return json.dumps(schema(name), ensure_ascii=False, indent=2) + "\n"


def _row(fact: Fact) -> str:
    supplied = fact.supplied_by + (" (stored)" if fact.stored else "")
    if fact.runtimes != RUNTIMES:
        supplied += f"; {', '.join(fact.runtimes)} only"
    age = durations.format_ms(fact.max_age) if fact.max_age is not None else "ever"
    return f"| `{fact.name}` | {_values(fact)} | {fact.meaning} | {supplied} | {age} |"


def _values(fact: Fact) -> str:
    if fact.type == "enum":
        return ", ".join(f"*{value}*" if value in fact.no_proof else value for value in fact.values)
    return fact.type + (f", {fact.unit}" if fact.unit not in ("", "ms") else "")
