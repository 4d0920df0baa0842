"""Our conditions mean what two implementations of CEL say that they mean."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from typing import Any

import cel
import celpy
from tests.oracle import evaluate

from oncemore.rules.parsing import parse

EVALUATIONS = 10_000
FACTS_PER_CONDITION = 8

TYPES = {
    "a.flag": "bool", "b.flag": "bool", "a.count": "int", "b.count": "int", "a.text": "text", "c.text": "text",
    "a.span": "duration", "c.span": "duration",
}  # fmt: skip
INTS = [-(2**63), -7, -1, 0, 1, 2, 2**53 + 1, 2**63 - 1]
TEXTS = ["", "open", "a b", 'q"t', "it's", "back\\slash", "x\ny", "中文", "日本", "true", "1"]
SPANS = [0, 1, 999, 1_000, 60_000, 3_600_000, 86_400_001]


def value(rng: random.Random, kind: str) -> Any:
    if kind == "bool":
        return rng.random() < 0.5
    return rng.choice({"int": INTS, "text": TEXTS, "duration": SPANS}[kind])


def literal(rng: random.Random, kind: str) -> str:
    drawn = value(rng, kind)
    if kind == "bool":
        return str(drawn).lower()
    if kind == "int":
        return str(drawn)
    if kind == "duration":
        return f'duration("{drawn}ms")' if rng.random() < 0.7 else 'duration("1h30m")'
    quote = rng.choice("\"'")
    escaped = drawn.replace("\\", "\\\\").replace("\n", "\\n").replace(quote, "\\" + quote)
    return f"{quote}{escaped}{quote}"


def comparison(rng: random.Random) -> str:
    fact, kind = rng.choice(list(TYPES.items()))
    if kind == "bool" and rng.random() < 0.4:
        return rng.choice(["", "!", "!!"]) + fact
    if rng.random() < 0.2:
        return f"{fact} in [{', '.join(literal(rng, kind) for _ in range(rng.randint(0, 3)))}]"
    op = rng.choice(["==", "!=", "<", "<=", ">", ">="] if kind in ("int", "duration") else ["==", "!="])
    parts = (fact, op, literal(rng, kind))
    return " ".join(parts if rng.random() < 0.8 else parts[::-1])


def condition(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.25:
        return comparison(rng)
    if rng.random() < 0.2:
        return f"!({condition(rng, depth - 1)})"
    parts = [condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    joined = rng.choice([" && ", " || ", " && ", "\n  || "]).join(parts)
    return f"({joined})" if rng.random() < 0.6 else joined


def cases(seed: int, known: float) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Conditions with facts; each fact is there with the probability `known`."""
    rng = random.Random(seed)
    for _ in range(EVALUATIONS // FACTS_PER_CONDITION):
        yield (
            condition(rng, rng.randint(0, 3)),
            [
                {fact: value(rng, kind) for fact, kind in TYPES.items() if rng.random() < known}
                for _ in range(FACTS_PER_CONDITION)
            ],
        )


def nested(facts: dict[str, Any]) -> dict[str, Any]:
    """CEL reads a dotted name as fields of a map; spans of time are its own type."""
    roots: dict[str, Any] = {}
    for fact, drawn in facts.items():
        root, _, name = fact.partition(".")
        span = TYPES[fact] == "duration"
        roots.setdefault(root, {})[name] = datetime.timedelta(milliseconds=drawn) if span else drawn
    return roots


def test_with_every_fact_known_cel_python_says_the_same() -> None:
    environment = celpy.Environment()
    compared = 0
    for text, drawn in cases(seed=71, known=1.0):
        ours = parse(text)
        program = environment.program(environment.compile(text))
        for facts in drawn:
            theirs = program.evaluate({root: _typed(fields) for root, fields in nested(facts).items()})
            assert bool(theirs) is evaluate(ours, facts), (text, facts)
            compared += 1
    assert compared == EVALUATIONS


def _typed(fields: dict[str, Any]) -> Any:
    return celpy.celtypes.MapType(
        {
            celpy.celtypes.StringType(name): celpy.celtypes.DurationType(drawn)
            if isinstance(drawn, datetime.timedelta)
            else celpy.json_to_cel(drawn)
            for name, drawn in fields.items()
        }
    )


def test_with_facts_missing_unknown_is_an_error_of_cel() -> None:
    compared = unknown = 0
    for text, drawn in cases(seed=72, known=0.7):
        ours = parse(text)
        program = cel.compile(text)
        for facts in drawn:
            roots = {root: {} for root in ("a", "b", "c")} | nested(facts)
            try:
                theirs = program.execute(roots)
            except Exception:
                theirs = None  # CEL's error: a key that is not there, not absorbed by && or ||
            assert theirs is evaluate(ours, facts), (text, facts)
            compared += 1
            unknown += theirs is None
    assert compared == EVALUATIONS
    assert unknown > EVALUATIONS // 10
