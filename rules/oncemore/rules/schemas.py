"""What does an editor know of rule files?

JSON Schemas, made from the models of `files`, from the vocabulary and from the actions: every key with what it means,
every word that may be chosen with what it does, every fact with its values, and conditions to begin with. They refuse
nothing that loads. `enumDescriptions` and `defaultSnippets` are words of editors; validators pass over them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel

from oncemore.rules.actions import ACTIONS
from oncemore.rules.examples import EXAMPLES
from oncemore.rules.fact import Fact
from oncemore.rules.files import FactsEntry, GroupFile, PolicyFile, TestsEntry
from oncemore.rules.levels import Level
from oncemore.rules.vocabulary import FACTS


class LevelsFile(RootModel[dict[str, Level]]):
    """`policies/levels.yaml`: the level of each policy in a new journal, by its name."""

    model_config = ConfigDict(strict=True)


SCHEMAS: Mapping[str, type[BaseModel]] = {
    "policy.schema.json": PolicyFile,
    "group.schema.json": GroupFile,
    "test.schema.json": TestsEntry,
    "facts.schema.json": FactsEntry,
    "levels.schema.json": LevelsFile,
}
"""The files that have a JSON Schema, by the schema's own file name."""

Words = Mapping[str, str]

_CONSEQUENCES: Words = {
    "deny": "Final for this policy and this Turn.",
    "hold": "Nothing more happens by itself; a person is shown why.",
    "wait": "Spends nothing, and is looked at again.",
}

_CHOICES: Mapping[str, Words] = {
    "otherwise": _CONSEQUENCES,
    "unknown": _CONSEQUENCES,
    "action": {action.name: action.meaning for action in ACTIONS.values()},
    "attempt": {
        "work": "A continuation of reported work.",
        "review": "A review that writes an answer by reading only.",
        "quota": "The message again, after a usage limit.",
        "route": "The message again, after its route failed.",
    },
    "material": {
        "none": "Only the message itself.",
        "visible_response": "The part of the answer that was to be seen.",
        "visible_results": "What the interrupted work had shown.",
    },
    "outcome": {
        "fire": "Every gate passes, the floor's too: it would act.",
        **_CONSEQUENCES,
        "not_concerned": "Its `when` is false.",
    },
    "level": {
        "off": "Not evaluated.",
        "shadow": "Decided and recorded; nothing is done.",
        "advise": "Decided and recorded; a firing decision is put before the operator.",
        "enforce": "It acts.",
    },
}
"""What each word means that an author may choose, by key."""

_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "patience": ("24h", "1h30m"),
    "until": ("23s", "2026-01-01T00:01:00Z"),
    "now": ("2026-01-01T00:00:00Z",),
    "waiting_since": ("2025-12-31T23:00:00Z",),
    "when": ('turn.status == "completed" && report.state == "valid"',),
    "require": ('source.state == "unchanged" && source.sender_verified', 'turn.ended_ago >= duration("60s")'),
}

_EMPTY_MEANS_NONE = ("until", "action")
"""Keys of `expect` whose empty value says something; elsewhere an empty value is hardly meant."""

_SPAN = "([0-9]{1,19}(ms|h|m|s))+"


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, by its name in `SCHEMAS`.

    Raises:
        KeyError: there is no such schema.
    """
    made = SCHEMAS[name].model_json_schema()
    for key, part in _properties(made):
        _complete(key, part)
    definitions = made.setdefault("$defs", {})
    if "ExpectEntry" in definitions:
        definitions["ExpectEntry"]["minProperties"] = 1
    if "Then" in definitions:
        definitions["Then"]["allOf"] = [_then(action) for action in ACTIONS]
    if "facts" in made.get("properties", {}) or "CaseEntry" in definitions:
        definitions |= {"Facts": _facts(), "Ages": _ages(), "FactNames": _fact_names()}
    if name == "levels.schema.json":
        made["additionalProperties"] |= _described(made["additionalProperties"]["enum"], _CHOICES["level"])
        made["propertyNames"] = {"pattern": PolicyFile.model_json_schema()["properties"]["policy"]["pattern"]}
    if not definitions:
        del made["$defs"]
    _untitle(made)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | made


def schema_text(name: str) -> str:
    """The same as the text of a file.

    Raises:
        KeyError: there is no such schema.
    """
    return json.dumps(schema(name), ensure_ascii=False, indent=2) + "\n"


def _properties(made: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in (made, *made.get("$defs", {}).values()):
        yield from part.get("properties", {}).items()


def _complete(key: str, part: dict[str, Any]) -> None:
    """Add to a key's schema what only we know of it."""
    if part.get("default", ...) in (None, [], {}):
        del part["default"]
    if "anyOf" in part:
        kept = [one for one in part["anyOf"] if one != {"type": "null"} or key in _EMPTY_MEANS_NONE]
        if len(kept) == 1:
            del part["anyOf"]
            part |= kept[0]
        else:
            part["anyOf"] = kept
    if "enum" in part:
        part |= _described(part["enum"], _CHOICES[key])
    if key in _EXAMPLES:
        part["examples"] = list(_EXAMPLES[key])
    if key in ("require", "when"):
        part["defaultSnippets"] = [
            {"label": name, "description": FACTS[name].meaning, "body": example}
            for name, example in EXAMPLES.items()
            if key == "require" or FACTS[name].stored
        ]
    if key == "patience":
        part["pattern"] = f"^{_SPAN}$"
    shared = {"facts": "Facts", "base": "Facts", "stale": "Ages", "missing": "FactNames", "conflict": "FactNames"}
    if key in shared:
        said = part["description"]
        part.clear()
        part |= {"description": said, "$ref": f"#/$defs/{shared[key]}"}


def _described(words: list[str], meanings: Words) -> dict[str, Any]:
    return {"enum": words, "enumDescriptions": [meanings[word] for word in words]}


def _then(name: str) -> dict[str, Any]:
    """What an action asks for besides its name."""
    action = ACTIONS[name]
    wanted: dict[str, Any] = {"attempt": {"enum": list(action.attempts)} if action.attempts else False}
    wanted["material"] = {"enum": list(action.parameters["material"])} if "material" in action.parameters else False
    return {
        "if": {"properties": {"action": {"const": name}}, "required": ["action"]},
        "then": {"properties": wanted, "required": [key for key, values in wanted.items() if values]},
    }


def _facts() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            fact.name: {"description": fact.meaning, **_values(fact), "examples": [_example(fact)]}
            for fact in FACTS.values()
        },
    }


def _values(fact: Fact) -> dict[str, Any]:
    unsaid = "The supplier itself said that it does not know."
    if fact.type == "bool":
        return _described_values([True, False, "unknown"], ["", "", unsaid])
    if fact.type == "enum":
        told = ["Proves nothing: it could not be established." if one in fact.no_proof else "" for one in fact.values]
        return _described_values([*fact.values, "unknown"], [*told, unsaid])
    if fact.type == "duration":
        return {"type": "string", "pattern": f"^({_SPAN}|unknown)$"}
    return {"anyOf": [{"type": "integer", "minimum": fact.lowest}, {"const": "unknown", "description": unsaid}]}


def _described_values(values: list[Any], said: list[str]) -> dict[str, Any]:
    return {"enum": values, "enumDescriptions": said}


def _example(fact: Fact) -> bool | int | str:
    if fact.type == "bool":
        return True
    if fact.type == "duration":
        return "5m"
    return fact.values[0] if fact.type == "enum" else fact.lowest


def _ages() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            fact.name: {"description": fact.meaning, "type": "string", "pattern": f"^{_SPAN}$", "examples": ["90s"]}
            for fact in FACTS.values()
        },
    }


def _fact_names() -> dict[str, Any]:
    described = {fact.name: fact.meaning for fact in FACTS.values()}
    return {"type": "array", "items": _described(list(described), described)}


def _untitle(part: Any) -> None:
    """Take out the titles, which say the keys once more."""
    if isinstance(part, dict):
        if isinstance(part.get("title"), str):
            del part["title"]
        for inner in part.values():
            _untitle(inner)
    elif isinstance(part, list):
        for inner in part:
            _untitle(inner)
