"""Why was it decided so, in words?

Rendered from a decision record alone, in English or Chinese, for the operator (everything), an agent (what stands in
the way, with its numbers) or the person who asked (the reason and the time, nothing internal). Numbers, names and
expressions are the record's own in every language.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any, Literal

from oncemore.engine import phrases

Language = Literal["en", "zh"]
Audience = Literal["operator", "user", "agent"]
Format = Literal["pretty", "json", "markdown"]
Record = Mapping[str, Any]

_COLOURS = {"pass": "32", "fail": "31", "unknown": "33"}


def explain(
    record: Record,
    lang: Language = "en",
    audience: Audience = "operator",
    format: Format = "pretty",
    *,
    colour: bool = False,
    marked: Collection[str] = (),
    evidence: bool = False,
) -> str:
    """The explanation of one decision record, ending in a newline.

    Args:
        audience: `user` is told the deciding gate's own sentence and the time, and no fact, name or number besides.
        colour: terminal colours for the results, in `pretty` only.
        marked: gates that get a mark, and their operands even where they pass, in `pretty` only.
        evidence: show the operands of every gate, also of those that pass.
    """
    said = explanation(record, lang, audience)
    if format == "json":
        return json.dumps(said, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    if audience == "user":
        return f"{said['sentence']}\n"
    words = phrases.WORDS[lang]
    if format == "markdown":
        return _markdown(said, words, evidence)
    return _pretty(said, words, colour, marked, evidence)


def explanation(record: Record, lang: Language, audience: Audience) -> dict[str, Any]:
    """What `explain` says, as data: the sentence first, then what the audience is shown of the record."""
    if audience == "user":
        return {
            "outcome": record["outcome"],
            "sentence": _for_the_person(record, lang),
            "until": record["until"],
        }
    gates = [_gate(gate, lang) for gate in record["gates"]]
    if audience == "agent":
        gates = [gate for gate in gates if gate["result"] != "pass"]
    return {
        "policy": record["policy"]["name"],
        "decision": record["decision_id"],
        "at": record["at"],
        "outcome": record["outcome"],
        "reason": record["reason"],
        "sentence": sentence(record, lang),
        "when": {
            "result": record["when"]["result"],
            "expression": record["when"]["expression"],
            "operands": record["when"]["operands"],
        },
        "gates": gates if record["outcome"] != "not_concerned" or audience == "operator" else [],
        "missing": record["missing"],
        "stale": record["stale"],
        "conflict": record["conflict"],
        "until": record["until"],
    }


def sentence(record: Record, lang: Language) -> str:
    """Outcome and deciding reason, in one or two plain sentences."""
    words = phrases.WORDS[lang]
    reason = record["reason"]
    gate = next((one for one in record["gates"] if one["id"] == reason["gate"]), None)
    said = words[f"reason.{reason['kind']}"].format(
        policy=record["policy"]["name"],
        outcome=words[f"does.{record['outcome']}"],
        gate=reason["gate"],
        why=_why(gate, lang),
        operands=words["and"].join(_operand(one, words) for one in _telling(gate)),
        facts=words["comma"].join(_unknown(record["when"])),
        rivals=words["comma"].join(reason.get("rivals", ())),
        action=record["action"],
        fault=_plain(reason.get("fault", "")),
    )
    if record["until"] is not None:
        said += words["gap"] + words["until"].format(until=record["until"])
    return said


def _for_the_person(record: Record, lang: Language) -> str:
    words = phrases.WORDS[lang]
    reason = record["reason"]
    gate = next((one for one in record["gates"] if one["id"] == reason["gate"]), None)
    said = words[f"person.{reason['kind']}"].format(why=_why(gate, lang))
    if record["until"] is not None:
        said += words["gap"] + words["until"].format(until=record["until"])
    return said


def _why(gate: Record | None, lang: Language) -> str:
    if gate is None:
        return ""
    why: str = gate["why"].get(lang) or gate["why"].get("en") or ""
    return why


def _gate(gate: Record, lang: Language) -> dict[str, Any]:
    return {
        "id": gate["id"],
        "floor": gate["floor"],
        "result": gate["result"],
        "otherwise": gate["otherwise"] if gate["result"] == "fail" else gate["unknown"],
        "expression": gate["expression"],
        "at": gate["at"],
        "operands": gate["operands"],
        "why": _why(gate, lang),
    }


def _telling(gate: Record | None) -> list[Record]:
    """The operands that explain a gate: those that are unknown, else all."""
    if gate is None:
        return []
    unknown = [one for one in gate["operands"] if one["status"] != "known"]
    return unknown if gate["result"] == "unknown" and unknown else list(gate["operands"])


def _unknown(condition: Record) -> list[str]:
    return list(dict.fromkeys(one["fact"] for one in condition["operands"] if one["status"] != "known"))


def _operand(operand: Record, words: Mapping[str, str]) -> str:
    status = words[f"status.{operand['status']}"]
    template = "operand.known" if operand["status"] == "known" else "operand.unknown"
    if operand["value"] is None:
        template = "operand.absent"
    return words[template].format(
        fact=operand["fact"], value=_value(operand["value"]), wanted=operand["wanted"], status=status
    )


def _evidence(operand: Record, words: Mapping[str, str]) -> str:
    """Where a value comes from and how old it is; "" when nothing supplied one."""
    if operand["source"] is None:
        return ""
    said = words["evidence"].format(source=_plain(operand["source"]), age=operand["age"])
    for name, text in operand.get("details", {}).items():
        said += f"{words['comma']}{_plain(name)} {_plain(text)}"
    return said


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _plain(str(value))


def _plain(text: str) -> str:
    """Text from outside without what could steer a terminal."""
    return "".join("\ufffd" if unicodedata.category(letter).startswith("C") else letter for letter in text)


# Formats --------------------------------------------------------------------------------------------------------------


def _pretty(
    said: Mapping[str, Any], words: Mapping[str, str], colour: bool, marked: Collection[str], evidence: bool
) -> str:
    lines = [said["sentence"], ""]
    rows = [("when", said["when"], ""), *((gate["id"], gate, gate["otherwise"]) for gate in said["gates"])]
    width = max(len(name) for name, _, _ in rows)
    for name, row, otherwise in rows:
        result = row["result"]
        mark = words[f"result.{result}"]
        mark += " " * (int(words["result.width"]) - _columns(mark))
        if colour:
            mark = f"\033[{_COLOURS[result]}m{mark}\033[0m"
        follows = f"  -> {words[f'outcome.{otherwise}']}" if otherwise and result != "pass" else ""
        begin = "> " if name in marked else "  "
        lines.append(f"{begin}{mark}  {name:<{width}}  {row['expression']}{follows}")
        if result != "pass" or name in marked or evidence:
            for operand in row["operands"]:
                source = _evidence(operand, words)
                lines.append(f"      {_operand(operand, words)}" + (f"{words['gap.wide']}{source}" if source else ""))
            if row.get("why") and result != "pass":
                lines.append(f"      {row['why']}")
    lines += ["", *_remainder(said, words)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown(said: Mapping[str, Any], words: Mapping[str, str], evidence: bool) -> str:
    lines = [f"**{said['sentence']}**", ""]
    for name, row in (("when", said["when"]), *((gate["id"], gate) for gate in said["gates"])):
        lines.append(f"- {words['result.' + row['result']]} **{name}** {_code(row['expression'])}")
        if row["result"] != "pass" or evidence:
            for operand in row["operands"]:
                lines.append(f"  - {_code(_operand(operand, words))} {_code(_evidence(operand, words))}".rstrip())
            if row.get("why") and row["result"] != "pass":
                lines.append(f"  - {row['why']}")
    lines += ["", *(f"- {line}" for line in _remainder(said, words))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _remainder(said: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    return [
        f"{words[name]}{words['colon']}{words['comma'].join(said[name])}"
        for name in ("missing", "stale", "conflict")
        if said[name]
    ]


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`" if text else ""


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
