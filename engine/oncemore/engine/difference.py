"""What is different between two decisions of one policy?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncemore.engine import phrases
from oncemore.engine.explanation import Language, sentence

Record = Mapping[str, Any]


def difference(before: Record | None, after: Record) -> dict[str, Any]:
    """What changed: the outcome, the gates with another result or condition, and those that came or went.

    Args:
        before: None when the policy was not asked before.
    """
    old = {} if before is None else _gates(before)
    new = _gates(after)
    return {
        "policy": after["policy"]["name"],
        "outcome": {"before": None if before is None else before["outcome"], "after": after["outcome"]},
        "at": {"before": None if before is None else before["at"], "after": after["at"]},
        "decision": {"before": None if before is None else before["decision_id"], "after": after["decision_id"]},
        "revision": {
            "before": None if before is None else before["policy"]["revision"],
            "after": after["policy"]["revision"],
        },
        "gates": [changed for id in {**old, **new} if (changed := _gate(id, old.get(id), new.get(id))) is not None],
    }


def told(found: Mapping[str, Any], after: Record, lang: Language) -> str:
    """The same in words, ending in a newline."""
    words = phrases.WORDS[lang]
    outcome = found["outcome"]
    lines = [sentence(after, lang)]
    if outcome["before"] is None:
        lines.append(words["changed.new"])
    elif outcome["before"] == outcome["after"] and not found["gates"]:
        lines.append(words["changed.nothing"].format(at=found["at"]["before"]))
    else:
        was = words[f"outcome.{outcome['before']}"]
        lines.append(
            words["changed.outcome"].format(
                at=found["at"]["before"], before=was, after=words[f"outcome.{outcome['after']}"]
            )
        )
    for gate in found["gates"] if outcome["before"] is not None else ():
        lines += _told(gate, words)
    return "\n".join(lines) + "\n"


def _gates(record: Record) -> dict[str, Record]:
    """`when` and the gates of a decision, by id."""
    return {"when": record["when"]} | {gate["id"]: gate for gate in record["gates"]}


def _gate(id: str, before: Record | None, after: Record | None) -> dict[str, Any] | None:
    old, new = (None if gate is None else gate["result"] for gate in (before, after))
    expressions = [None if gate is None else gate["expression"] for gate in (before, after)]
    facts = list(_facts(before, after))
    if old == new and expressions[0] == expressions[1]:
        return None
    return {
        "id": id,
        "before": old,
        "after": new,
        "expression": {"before": expressions[0], "after": expressions[1]},
        "facts": facts,
    }


def _facts(before: Record | None, after: Record | None) -> Iterator[dict[str, Any]]:
    """The facts of a gate, then and now."""
    old, new = ({} if gate is None else {one["fact"]: one for one in gate["operands"]} for gate in (before, after))
    for fact in {**old, **new}:
        yield {"fact": fact, "before": _value(old.get(fact)), "after": _value(new.get(fact))}


def _value(operand: Record | None) -> Any:
    """What was read; the reason where nothing that counts was."""
    if operand is None:
        return None
    return operand["value"] if operand["status"] == "known" else operand["status"]


def _told(gate: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    if gate["before"] is None or gate["after"] is None:
        name = "changed.gate.gone" if gate["after"] is None else "changed.gate.came"
        result = words[f"result.{gate['before'] or gate['after']}"]
        yield "  " + words[name].format(gate=gate["id"], result=result)
    else:
        results = [words[f"result.{gate[when]}"] for when in ("before", "after")]
        yield "  " + words["changed.gate"].format(gate=gate["id"], before=results[0], after=results[1])
    expression = gate["expression"]
    if expression["before"] != expression["after"] and None not in expression.values():
        yield f"    - {expression['before']}"
        yield f"    + {expression['after']}"
    for one in gate["facts"]:
        if one["before"] != one["after"] and None not in (gate["before"], gate["after"]):
            yield "    " + words["changed.fact"].format(
                fact=one["fact"], before=_plain(one["before"]), after=_plain(one["after"])
            )


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else "-" if value is None else str(value)
