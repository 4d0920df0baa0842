"""Which rules say whether each comparison, and each condition made of several, is true, false or unknown?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from oncemore.rules.engine_text import (
    FAIL,
    MAX_PENDING,
    PASS,
    UNKNOWN,
    Condition,
    Encoder,
    NotCompilable,
    Ruleset,
    definition,
    packed,
    result_texts,
    rule,
    warm,
)
from oncemore.rules.errors import TooComplex
from oncemore.rules.expression import Duration, Expression, Leaf, Member, leaves
from oncemore.rules.normal_form import Key, Term, key, terms

MAX_LEAVES_PER_RULESET = 40
MAX_FIRST_CONDITIONS = 300
"""Distinct conditions at the root of a ruleset; beyond 511 the engine hangs."""
MAX_LIST = 128
"""Distinct values of one `in` list."""

LOWEST, HIGHEST = -(2**63), 2**63 - 1


class FactType(Protocol):
    """What the compiler has to know of a declared fact."""

    @property
    def type(self) -> str:
        """`bool`, `int`, `enum` or `duration`."""

    @property
    def values(self) -> tuple[str, ...]:
        """The values of an enum."""

    @property
    def grows(self) -> bool:
        """It rises with the clock by itself."""


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison as the engine gets it: `==`, `>=`, `<=` or `in`; the other ones are these, turned round."""

    fact: str
    op: str
    constants: tuple[bool | int | str, ...]


_TURNED = {"!=": "==", "<": ">=", ">": "<="}
_HOLDS = {">=": "$gte", "<=": "$lte"}
_FAILS = {">=": "$lt", "<=": "$gt"}


def constants(leaf: Leaf) -> tuple[bool | int | str, ...]:
    """What a comparison compares its fact with, each once; durations in milliseconds."""
    values = leaf.values if isinstance(leaf, Member) else (leaf.value,)
    return tuple(dict.fromkeys(value.ms if isinstance(value, Duration) else value for value in values))


class Leaves:
    """The distinct comparisons of a policy, gathered gate by gate.

    Attributes:
        tests: each with its place in the result array.
        places: by `normal_form.key`: the place, and whether the result is turned round.
        readings: by rule name: place and result.
        encoders: by fact, each made once.
    """

    def __init__(self, policy: str, facts: Mapping[str, FactType]) -> None:
        self.policy = policy
        self.facts = facts
        self.tests: dict[_Test, int] = {}
        self.places: dict[Key, tuple[int, bool]] = {}
        self.readings: dict[str, tuple[int, int]] = {}
        self.encoders: dict[str, Encoder] = {}

    def add(self, gate: str, condition: Expression) -> None:
        """Take in the comparisons of a condition. Raises `NotCompilable`, naming the gate."""
        for leaf in leaves(condition):
            test, turn = self._test(gate, leaf)
            place = self.tests.setdefault(test, len(self.tests))
            self.places[key(leaf)] = (place, turn)

    def _test(self, gate: str, leaf: Leaf) -> tuple[_Test, bool]:
        fact = self.facts.get(leaf.fact)
        if fact is None:
            raise NotCompilable(f"{self.policy}, {gate}: {leaf.fact} is not declared")
        plain = constants(leaf)
        if leaf.fact not in self.encoders:
            self.encoders[leaf.fact] = encoder("f", fact)
        encode = self.encoders[leaf.fact]
        if not all(encode(value) for value in plain):
            raise NotCompilable(
                f"{self.policy}, {gate}: {leaf.fact} is compared with what is no {fact.type} of its own"
            )
        if len(plain) > MAX_LIST:
            raise NotCompilable(
                f"{self.policy}, {gate}: a list of {len(plain)} values; at most {MAX_LIST} can be judged"
            )
        if isinstance(leaf, Member):
            return _Test(leaf.fact, "in", plain), False
        if isinstance(plain[0], bool):
            return _Test(leaf.fact, "==", (True,)), (leaf.op == "==") is not plain[0]
        return _Test(leaf.fact, _TURNED.get(leaf.op, leaf.op), plain), leaf.op in _TURNED

    def rulesets(self) -> tuple[Ruleset, ...]:
        """Comparisons of one fact side by side, so that a fact is mostly sent once."""
        first = {test.fact: place for test, place in reversed(self.tests.items())}
        ordered = sorted(self.tests.items(), key=lambda item: (first[item[0].fact], item[1]))
        return tuple(self._ruleset(chunk) for chunk in packed(ordered, _leaf_fits))

    def _ruleset(self, chunk: list[tuple[_Test, int]]) -> Ruleset:
        keys = {fact: f"f{number}" for number, fact in enumerate(dict.fromkeys(test.fact for test, _ in chunk))}
        rules = warm()
        for test, place in chunk:
            key = keys[test.fact]
            for number, term in enumerate(_holds(key, test)):
                rules[f"t{place:03d}.{number}"] = rule(term)
            rules[f"f{place:03d}"] = rule(_fails(key, test))
            # The marker comes first: a rule of absence alone would also match what is no fact of ours.
            rules[f"u{place:03d}"] = rule([{"k": 1}, {"$nex": {key: 1}}])
            for letter, code in (("t", PASS), ("f", FAIL), ("u", UNKNOWN)):
                self.readings[f"{letter}{place:03d}"] = (place, code)
        inputs = tuple((fact, encoder(key, self.facts[fact])) for fact, key in keys.items())
        return Ruleset(definition(rules), facts=inputs)


def encoder(key: str, fact: FactType) -> Encoder:
    """How a value of `fact` is written into the engine's fact, from its comma on; "" for what is no such value.

    Enum values are written only when the vocabulary declares them, so no text of a case ever reaches the engine.
    """
    if fact.type == "bool":
        yes, no = f',"{key}":true', f',"{key}":false'
        return lambda value: yes if value is True else no if value is False else ""
    if fact.type == "enum":
        texts = {value: f',"{key}":{json.dumps(value, ensure_ascii=False)}' for value in fact.values}
        return lambda value: texts.get(value, "") if type(value) is str else ""
    start = f',"{key}":'
    lowest = 0 if fact.type == "duration" else LOWEST
    return lambda value: f"{start}{value}" if type(value) is int and lowest <= value <= HIGHEST else ""


def _holds(key: str, test: _Test) -> list[list[Condition]]:
    if test.op in _HOLDS:
        return [[{_HOLDS[test.op]: {key: test.constants[0]}}]]
    return [[{key: constant}] for constant in test.constants]


def _fails(key: str, test: _Test) -> list[Condition]:
    if test.op in _FAILS:
        return [{_FAILS[test.op]: {key: test.constants[0]}}]
    return [{"$neq": {key: constant}} for constant in test.constants] or [{"$ex": {key: 1}}]


def _leaf_fits(chunk: list[tuple[_Test, int]]) -> bool:
    """A list can have two conditions pending, the matching value and the start of its negation; the marker is one."""
    pending = 1 + sum(1 if len(test.constants) == 1 else 2 for test, _ in chunk)
    first = 2 + sum(len(test.constants) + 1 for test, _ in chunk)
    return len(chunk) <= MAX_LEAVES_PER_RULESET and pending <= MAX_PENDING and first <= MAX_FIRST_CONDITIONS


_Terms: TypeAlias = frozenset[frozenset[tuple[int, int]]]


def _unordered(found: list[tuple[tuple[int, int], ...]]) -> _Terms:
    return frozenset(frozenset(term) for term in found)


class Composed:
    """Places for conditions: a single comparison has its leaf's, equal compositions share one.

    Attributes:
        next: how many places are taken.
        readings: by rule name: place and result.
    """

    def __init__(self, places: Mapping[Key, tuple[int, bool]], first: int) -> None:
        self.places = places
        self.next = first
        self.known: dict[tuple[_Terms, _Terms], int] = {}
        self.rules: list[tuple[str, tuple[tuple[int, int], ...]]] = []
        self.readings: dict[str, tuple[int, int]] = {}

    def place(self, name: str, condition: Expression) -> tuple[int, bool]:
        """Place and turn of a condition. Raises `NotCompilable`, naming the gate."""
        try:
            passing, failing = ([self._literals(term) for term in terms(condition, want)] for want in (True, False))
        except TooComplex as error:
            raise NotCompilable(f"{name}: {error}") from error
        if len(passing) == len(failing) == len(passing[0]) == len(failing[0]) == 1:
            [(place, code)] = passing[0]
            return place, code == FAIL
        identity = (_unordered(passing), _unordered(failing))
        if identity in self.known:
            return self.known[identity], False
        place = self.known[identity] = self.next
        self.next += 1
        for letter, code, found in (("T", PASS, passing), ("F", FAIL, failing)):
            self.rules += [(f"{letter}{place:03d}.{number:02d}", term) for number, term in enumerate(found)]
            self.readings[f"{letter}{place:03d}"] = (place, code)
        return place, False

    def _literals(self, term: Term) -> tuple[tuple[int, int], ...]:
        """Places with the result each must have; different comparisons may be the same one, turned round."""
        found = []
        for leaf, want in term:
            place, turn = self.places[key(leaf)]
            found.append((place, PASS if want is not turn else FAIL))
        return tuple(dict.fromkeys(found))

    def rulesets(self) -> tuple[Ruleset, ...]:
        """At most one condition of a rule is pending at any moment, so rules are counted."""
        found = []
        for chunk in packed(self.rules, lambda rules: len(rules) < MAX_PENDING):
            rules = warm()
            for name, literals in chunk:
                rules[name] = rule([{f"a{place}": code} for place, code in literals])
            used = sorted({place for _, literals in chunk for place, _ in literals})
            found.append(Ruleset(definition(rules), slots=tuple((place, result_texts(f"a{place}")) for place in used)))
        return tuple(found)
