"""How is a case written down as a rule test, ready to be pasted?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oncemore.rules.vocabulary import FACTS
from oncemore.rules.witness import Values, flow, said

Record = Mapping[str, Any]


def test_case(
    name: str, case: Values, base: Values, expect: Mapping[str, object], stale: Mapping[str, str] | None = None
) -> str:
    """An entry of `cases`, laid over a base: only what differs from the base is stated.

    Args:
        case: values by fact, None for missing; facts that are not named are as in the base.
        expect: as `expectations` gives it.
        stale: ages by fact, of facts whose values the case or the base has.
    """
    facts = {fact: value for fact, value in case.items() if value is not None and base.get(fact) != value}
    missing = [fact for fact, value in case.items() if value is None and fact in base]
    lines = [f"- name: {_text(name)}"]
    lines += _mapping("facts", {fact: said(fact, facts[fact]) for fact in FACTS if fact in facts})
    if missing:
        lines.append(f"  missing: [{', '.join(missing)}]")
    lines += _mapping("stale", stale or {})
    lines += _mapping("expect", {key: _yaml(value) for key, value in expect.items()})
    return "\n".join(f"  {line}" for line in lines) + "\n"


def expectations(record: Record) -> dict[str, object]:
    """What a test of a decision expects: its outcome, and the gates that are false and unknown."""
    floored = record["reason"]["kind"] == "floor"
    gates = [gate for gate in record["gates"] if floored or not gate["floor"]]
    expect: dict[str, object] = {"outcome": record["outcome"]}
    if record["outcome"] == "not_concerned":
        return expect
    for key, result in (("blocked_by", "fail"), ("unknown", "unknown")):
        named = [gate["id"] for gate in gates if gate["result"] == result]
        if named:
            expect[key] = named
    if record["outcome"] == "fire":
        expect["action"] = record["action"]
    return expect


def _mapping(key: str, entries: Mapping[str, str]) -> list[str]:
    if not entries:
        return []
    first, *rest = flow(f"{name}: {value}" for name, value in entries.items())
    return [f"  {key}: {first}", *(f"    {line}" for line in rest)]


def _yaml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return str(value)


def _text(name: str) -> str:
    """A name as a YAML scalar: plain where that says the same."""
    plain = name[:1].isalpha() and not any(mark in name for mark in (": ", " #", "\n")) and not name.endswith(":")
    return name if plain else json.dumps(name, ensure_ascii=False)
