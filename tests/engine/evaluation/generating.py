"""What random policies and cases does the engine have to agree with the oracles on?"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from oncemore.rules.case import Case, Evidence, Reading, Status, Value
from oncemore.rules.expression import And, Compare, Duration, Expression, Literal, Member, Not, Or, Span
from oncemore.rules.outcome import Outcome
from oncemore.rules.policy import Gate, Policy

NOWHERE = Span(0, 0)
NOW = 1_800_000_000_000
TEXTS = (
    "",
    "a",
    "b",
    "a b",
    'q"t',
    "x\ny",
    "日本",
    "é",
    "e\u0301",
    "\x00",
    "a\\b",
    "😀",
    "null",
    "true",
    "1",
    "{}",
    "'",
)
INTS = (-(2**63), -5, -1, 0, 1, 2, 5, 2**53, 2**53 + 1, 2**63 - 1)
SPANS = (0, 1, 999, 60_000, 86_400_000, 2**63 - 1)
JUNK: tuple[Any, ...] = (
    None, "5", 5, -1, True, False, 1.0, 0.5, float("nan"), float("inf"), [], {}, [1], 2**63, -(2**63) - 1, 10**30,
    "z" * 70_000, "\ud800", {"a": 1}, "unknown", b"a",
)  # fmt: skip
UNKNOWN: tuple[Status, ...] = ("missing", "stale", "conflict", "reported", "clock")


@dataclass(frozen=True)
class Declared:
    """A fact of the tests' own vocabulary."""

    type: str
    values: tuple[str, ...] = ()
    grows: bool = False


VOCABULARY = {
    "a.flag": Declared("bool"),
    "a.done": Declared("bool"),
    "sid.x": Declared("bool"),
    "a.count": Declared("int"),
    "b.count": Declared("int"),
    "id.x": Declared("int"),
    "a.text": Declared("enum", TEXTS),
    "b.text": Declared("enum", TEXTS),
    "s.state": Declared("enum", ("open", "closed", "$s", "sid", "id")),
    "a.age": Declared("duration", grows=True),
}


def constant(rng: random.Random, kind: str, values: tuple[str, ...]) -> Literal:
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "int":
        return rng.choice(INTS)
    if kind == "enum":
        return rng.choice(values)
    return Duration(rng.choice(SPANS))


def leaf(rng: random.Random) -> Compare | Member:
    fact = rng.choice(list(VOCABULARY))
    declared = VOCABULARY[fact]
    if declared.type != "bool" and rng.random() < 0.25:
        values = tuple(constant(rng, declared.type, declared.values) for _ in range(rng.randint(0, 5)))
        return Member(fact, values, NOWHERE, NOWHERE, tuple(NOWHERE for _ in values))
    ordered = declared.type in ("int", "duration")
    op = rng.choice(("==", "!=", "<", "<=", ">", ">=") if ordered else ("==", "!="))
    return Compare(fact, op, constant(rng, declared.type, declared.values), NOWHERE, NOWHERE, NOWHERE)


def expression(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.55:
        return leaf(rng)
    kind = rng.randrange(3)
    if kind == 0:
        return Not(expression(rng, depth - 1), NOWHERE)
    operands = tuple(expression(rng, depth - 1) for _ in range(rng.randint(2, 3)))
    return And(operands, NOWHERE) if kind == 1 else Or(operands, NOWHERE)


def gate(rng: random.Random, name: str, *, floor: bool = False, depth: int = 2) -> Gate:
    severities = (Outcome.DENY, Outcome.HOLD, Outcome.WAIT)
    return Gate(
        id=name,
        condition=expression(rng, depth),
        text=name,
        otherwise=rng.choice(severities),
        unknown=rng.choice((Outcome.WAIT, Outcome.WAIT, *severities)),
        why={"en": f"{name}.", "zh": f"{name}。"},
        at=f"policies/random.yaml:1:{len(name)}",
        floor=floor,
    )


def policy(rng: random.Random, name: str = "random", *, gates: int | None = None, depth: int = 2) -> Policy:
    count = rng.randint(0, 8) if gates is None else gates
    return Policy(
        name=name,
        revision=1,
        summary={"en": name, "zh": name},
        when=expression(rng, 1),
        when_text="when",
        when_at="policies/random.yaml:1:1",
        gates=tuple(gate(rng, f"g{number}", depth=depth) for number in range(count)),
        action="continue_work",
        attempt="work",
        patience=rng.choice((None, 1, 1000, 60_000)),
        digest=f"sha256:{name}",
        file=f"policies/{name}.yaml",
        texts={},
    )


def value(rng: random.Random, declared: Declared) -> Any:
    if rng.random() < 0.08:
        return rng.choice(JUNK)
    drawn = constant(rng, declared.type, declared.values)
    return drawn.ms if isinstance(drawn, Duration) else drawn


def reading(rng: random.Random, declared: Declared, known: float) -> Reading:
    status: Status = "known" if rng.random() < known else rng.choice(UNKNOWN)
    drawn: Value = value(rng, declared)
    return Reading(status, drawn, Evidence("file", NOW))


def case(rng: random.Random, *, known: float = 0.9) -> Case:
    readings = {
        name: reading(rng, declared, known) for name, declared in VOCABULARY.items() if rng.random() < 0.5 + known / 2
    }
    if rng.random() < 0.1:
        for name in ("sid", "id", "$s", "a", "k", "w", "e", "f0", "a.flag.x", "x" * 70_000):
            readings[name] = Reading("known", rng.choice(JUNK), None)
    waiting = rng.choice((None, NOW, NOW - 1, NOW - 999, NOW - 1000, NOW - 60_000, NOW + 5))
    return Case(NOW, readings, waiting)


def valid(declared: Declared, given: Any) -> bool:
    """Whether a value is one of its fact's type; said here apart from the engine's projection."""
    if declared.type == "bool":
        return isinstance(given, bool)
    if declared.type == "enum":
        return isinstance(given, str) and given in declared.values
    if isinstance(given, bool) or not isinstance(given, int):
        return False
    return (-(2**63) if declared.type == "int" else 0) <= given < 2**63


def known_facts(asked: Case) -> dict[str, Any]:
    """What the oracle may look at."""
    return {
        name: found.value
        for name, found in asked.readings.items()
        if name in VOCABULARY and found.status == "known" and valid(VOCABULARY[name], found.value)
    }
