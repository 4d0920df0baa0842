"""What does the rules engine have to be told, so that the rules that fire decide a policy?

A policy becomes small durable-rules rulesets in three stages, each asked with one fact of our own making:

- leaves: every distinct comparison has three rules, true (`t`), false (`f`) and unknown (`u`); exactly one fires;
- gates: a condition of several comparisons has one rule per term of its normal form, true (`T`) and false (`F`);
  neither fires when it is unknown;
- outcome: one rule per gate and way of not passing, ordered by priority; the first that fires is the outcome.

Only equality, order and absence on typed values are used, under keys of our own (`f0`, `a0`, `g0`), never `$or`,
arithmetic, patterns, joins or timers. Rulesets are cut so that no fact can have more than `MAX_PENDING` conditions
waiting at once: beyond 64 the engine refuses the fact, and beyond 511 first conditions it hangs.

Rule names are four characters, so that they are read without parsing; what follows a dot only tells terms apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from oncemore.rules.errors import RulesError, TooComplex
from oncemore.rules.expression import Duration, Expression, Leaf, Member, leaves
from oncemore.rules.normal_form import Key, Term, key, terms
from oncemore.rules.outcome import Outcome
from oncemore.rules.policy import Gate, Policy

FAIL, PASS, UNKNOWN = 0, 1, 2
"""How a condition's result is written in facts and arrays."""

MAX_PENDING = 60
MAX_LEAVES_PER_RULESET = 40
MAX_FIRST_CONDITIONS = 300
MAX_LIST = 128
"""Distinct values of one `in` list."""
MAX_GATES = 900
"""Gates of a policy with its floor; rule names and priorities count them in three digits."""

LOWEST, HIGHEST = -(2**63), 2**63 - 1

NAME = slice(2, 6)
"""Where the name of the rule stands in a firing message, `{"t003":{"m":...`."""

Condition: TypeAlias = dict[str, Any]
Encoder: TypeAlias = Callable[[object], str]


class NotCompilable(RulesError):
    """A policy is beyond what the engine takes; the text names the gate."""

    code = "R303"


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
class Ruleset:
    """One ruleset and how the fact that asks it is written.

    Attributes:
        text: its definition.
        facts: for leaves: names of facts with the encoder of each.
        slots: for gates and outcome: places in the result array with the text for fail, pass and unknown.
    """

    text: str
    facts: tuple[tuple[str, Encoder], ...] = ()
    slots: tuple[tuple[int, tuple[str, str, str]], ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """What an outcome rule says when it is the first to fire.

    Attributes:
        gate: place of the deciding gate in `Plan.gates`; None when no gate decided.
        truth: FAIL or UNKNOWN, of the deciding gate or of `when`.
        impatient: the wait outlasted the policy's patience.
        carry: what the next ruleset of this stage is told.
    """

    outcome: Outcome
    gate: int | None
    truth: int
    impatient: bool
    carry: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy, compiled; pure data, shared by all sessions.

    Attributes:
        gates: the policy's own in file order, then its floor's.
        n_leaves: how many places of the result array are leaves; composed conditions follow.
        places: by `normal_form.key`: place in the result array, and whether its result is turned round.
        when: place and turn of `when`.
        gate_places: place and turn of each gate.
        readings: by rule name of the first two stages: place and result.
        endings: by rule name of the third stage.
    """

    policy: Policy
    gates: tuple[Gate, ...]
    n_leaves: int
    n_places: int
    places: Mapping[Key, tuple[int, bool]]
    when: tuple[int, bool]
    gate_places: tuple[tuple[int, bool], ...]
    leaf_rulesets: tuple[Ruleset, ...]
    gate_rulesets: tuple[Ruleset, ...]
    outcome_rulesets: tuple[Ruleset, ...]
    readings: Mapping[str, tuple[int, int]]
    endings: Mapping[str, Ending]
    facts: tuple[str, ...] = field(default=())


def turned(code: int, turn: bool) -> int:
    """A result as its user sees it: pass and fail exchanged when `turn`; unknown stays."""
    return 1 - code if turn and code != UNKNOWN else code


def compile_policy(policy: Policy, floor: Sequence[Gate], facts: Mapping[str, FactType]) -> Plan:
    """The rulesets of a policy together with its floor's gates.

    Args:
        facts: the vocabulary, by name.

    Raises:
        NotCompilable: a list, a condition or the policy is too large, or a constant is no value of its fact.
    """
    gates = (*policy.gates, *floor)
    if len(gates) > MAX_GATES:
        raise NotCompilable(f"{policy.name}: {len(gates)} gates; at most {MAX_GATES} can be judged")
    named = [("when", policy.when), *((gate.id, gate.condition) for gate in gates)]
    stage = _Leaves(policy.name, facts)
    for name, condition in named:
        stage.add(name, condition)
    leaf_rulesets = stage.rulesets()
    composed = _Composed(stage.places, len(stage.tests))
    found = [composed.place(f"{policy.name}, {name}", condition) for name, condition in named]
    endings: dict[str, Ending] = {}
    outcome_rulesets = _outcome(policy, gates, found, endings)
    plan = Plan(
        policy=policy,
        gates=gates,
        n_leaves=len(stage.tests),
        n_places=composed.next,
        places=stage.places,
        when=found[0],
        gate_places=tuple(found[1:]),
        leaf_rulesets=leaf_rulesets,
        gate_rulesets=composed.rulesets(),
        outcome_rulesets=outcome_rulesets,
        readings=stage.readings | composed.readings,
        endings=endings,
        facts=tuple(dict.fromkeys(leaf.fact for _, condition in named for leaf in leaves(condition))),
    )
    _refuse_equal_hashes(policy.name, plan)
    return plan


# First stage: comparisons ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison as the engine gets it: `==`, `>=`, `<=` or `in`; the other ones are these, turned round."""

    fact: str
    op: str
    constants: tuple[bool | int | str, ...]


_TURNED = {"!=": "==", "<": ">=", ">": "<="}
_HOLDS = {">=": "$gte", "<=": "$lte"}
_FAILS = {">=": "$lt", "<=": "$gt"}


class _Leaves:
    def __init__(self, policy: str, facts: Mapping[str, FactType]) -> None:
        self.policy = policy
        self.facts = facts
        self.tests: dict[_Test, int] = {}
        self.places: dict[Key, tuple[int, bool]] = {}
        self.readings: dict[str, tuple[int, int]] = {}

    def add(self, gate: str, condition: Expression) -> None:
        for leaf in leaves(condition):
            test, turn = self.test(gate, leaf)
            place = self.tests.setdefault(test, len(self.tests))
            self.places[key(leaf)] = (place, turn)

    def test(self, gate: str, leaf: Leaf) -> tuple[_Test, bool]:
        fact = self.facts.get(leaf.fact)
        if fact is None:
            raise NotCompilable(f"{self.policy}, {gate}: {leaf.fact} is not declared")
        values = leaf.values if isinstance(leaf, Member) else (leaf.value,)
        plain = tuple(dict.fromkeys(value.ms if isinstance(value, Duration) else value for value in values))
        encode = encoder("f", fact)
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
        return tuple(self.ruleset(chunk) for chunk in _packed(ordered, _leaf_fits))

    def ruleset(self, chunk: list[tuple[_Test, int]]) -> Ruleset:
        keys = {fact: f"f{number}" for number, fact in enumerate(dict.fromkeys(test.fact for test, _ in chunk))}
        rules = _warm()
        for test, place in chunk:
            key = keys[test.fact]
            for number, term in enumerate(_holds(key, test)):
                rules[f"t{place:03d}.{number}"] = _rule(term)
            rules[f"f{place:03d}"] = _rule(_fails(key, test))
            # The marker comes first: a rule of absence alone would also match what is no fact of ours.
            rules[f"u{place:03d}"] = _rule([{"k": 1}, {"$nex": {key: 1}}])
            for letter, code in (("t", PASS), ("f", FAIL), ("u", UNKNOWN)):
                self.readings[f"{letter}{place:03d}"] = (place, code)
        inputs = tuple((fact, encoder(key, self.facts[fact])) for fact, key in keys.items())
        return Ruleset(_text(rules), facts=inputs)


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


# Second stage: conditions of several comparisons ----------------------------------------------------------------------


_Terms: TypeAlias = frozenset[frozenset[tuple[int, int]]]


def _unordered(found: list[tuple[tuple[int, int], ...]]) -> _Terms:
    return frozenset(frozenset(term) for term in found)


class _Composed:
    """Places for conditions: a single comparison is its leaf's, equal compositions share one."""

    def __init__(self, places: Mapping[Key, tuple[int, bool]], first: int) -> None:
        self.places = places
        self.next = first
        self.known: dict[tuple[_Terms, _Terms], int] = {}
        self.rules: list[tuple[str, tuple[tuple[int, int], ...]]] = []
        self.readings: dict[str, tuple[int, int]] = {}

    def place(self, name: str, condition: Expression) -> tuple[int, bool]:
        try:
            passing, failing = ([self.literals(term) for term in terms(condition, want)] for want in (True, False))
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

    def literals(self, term: Term) -> tuple[tuple[int, int], ...]:
        """Places with the result each must have; different comparisons may be the same one, turned round."""
        found = []
        for leaf, want in term:
            place, turn = self.places[key(leaf)]
            found.append((place, PASS if want is not turn else FAIL))
        return tuple(dict.fromkeys(found))

    def rulesets(self) -> tuple[Ruleset, ...]:
        """At most one condition of a rule is pending at any moment, so rules are counted."""
        found = []
        for chunk in _packed(self.rules, lambda rules: len(rules) < MAX_PENDING):
            rules = _warm()
            for name, literals in chunk:
                rules[name] = _rule([{f"a{place}": code} for place, code in literals])
            used = sorted({place for _, literals in chunk for place, _ in literals})
            found.append(Ruleset(_text(rules), slots=tuple((place, _texts("a", place)) for place in used)))
        return tuple(found)


# Third stage: the outcome ---------------------------------------------------------------------------------------------

NOTHING_YET = 7
"""Carried to the next ruleset when every gate so far has passed."""

_LETTERS = {Outcome.DENY: "D", Outcome.HOLD: "H", Outcome.WAIT: "W"}
_CLASS = {Outcome.DENY: 1, Outcome.HOLD: 2, Outcome.WAIT: 3}


def _outcome(
    policy: Policy, gates: tuple[Gate, ...], found: list[tuple[int, bool]], endings: dict[str, Ending]
) -> tuple[Ruleset, ...]:
    """Rulesets asked one after the other; each is told how severe the one before it was.

    A floor's gate whose result is that of a gate of the policy itself is left out: it speaks only when that one passed.
    """
    when, places = found[0], found[1:]
    own = set(places[: len(policy.gates)])
    judged = [
        (number, gate, place)
        for number, (gate, place) in enumerate(zip(gates, places, strict=True))
        if not (gate.floor and place in own)
    ]
    # Beside the gates, the rules of `when`, of the earlier verdict and of passing can be pending.
    chunks = list(_packed(judged, lambda chunk: len(chunk) <= MAX_PENDING - 6)) or [[]]
    rulesets = []
    for position, chunk in enumerate(chunks):
        rules = _warm()
        texts: dict[str, tuple[int, tuple[str, str, str]]] = {}

        def key_of(place: tuple[int, bool], texts: dict[str, tuple[int, tuple[str, str, str]]] = texts) -> str:
            key = f"{'h' if place[1] else 'g'}{place[0]}"
            texts[key] = (place[0], _texts(key[0], place[0], turn=place[1]))
            return key

        passing: list[Condition] = []
        if position == 0:
            key = key_of(when)
            _add(rules, endings, "none", 1, [{key: FAIL}], Ending(Outcome.NOT_CONCERNED, None, FAIL, False, 0))
            _add_wait(rules, endings, policy.patience, ("when", "past"), 2, {key: UNKNOWN}, None, UNKNOWN, carry=0)
            passing.append({key: PASS})
        else:
            for carried in range(NOTHING_YET):
                rules[f"keep.{carried}"] = _rule([{"e": carried}], priority=1 + carried * 1000)
            passing.append({"e": NOTHING_YET})
        for number, gate, place in chunk:
            key = key_of(place)
            for truth, outcome in ((FAIL, gate.otherwise), (UNKNOWN, gate.unknown)):
                letter = _LETTERS[outcome] if truth == FAIL else _LETTERS[outcome].lower()
                severity = _CLASS[outcome] + (3 if gate.floor else 0)
                priority, name = severity * 1000 + 2 + number, f"{letter}{number:03d}"
                if outcome is Outcome.WAIT:
                    names = (name, f"{'P' if truth == FAIL else 'p'}{number:03d}")
                    _add_wait(
                        rules, endings, policy.patience, names, priority, {key: truth}, number, truth, carry=severity
                    )
                else:
                    ending = Ending(outcome, number, truth, False, severity)
                    _add(rules, endings, name, priority, [{key: truth}], ending)
        keys = dict.fromkeys(key_of(place) for _, _, place in chunk)
        passing += [{key: PASS} for key in keys if {key: PASS} not in passing]
        last = position == len(chunks) - 1
        _add(
            rules,
            endings,
            "fire" if last else "pass",
            NOTHING_YET * 1000,
            passing,
            Ending(Outcome.FIRE, None, PASS, False, NOTHING_YET),
        )
        rulesets.append(Ruleset(_text(rules), slots=tuple(texts.values())))
    return tuple(rulesets)


def _add(
    rules: dict[str, Any],
    endings: dict[str, Ending],
    name: str,
    priority: int,
    condition: list[Condition],
    ending: Ending,
) -> None:
    rules[name] = _rule(condition, priority=priority)
    endings[name] = ending


def _add_wait(
    rules: dict[str, Any],
    endings: dict[str, Ending],
    patience: int | None,
    names: tuple[str, str],
    priority: int,
    condition: Condition,
    gate: int | None,
    truth: int,
    *,
    carry: int,
) -> None:
    """Waiting, and what it becomes once it has lasted, `w`, as long as the patience; never both."""
    name, impatient = names
    within: list[Condition] = [condition] if patience is None else [condition, {"$lt": {"w": patience}}]
    _add(rules, endings, name, priority, within, Ending(Outcome.WAIT, gate, truth, False, carry))
    if patience is not None:
        beyond = [condition, {"$gte": {"w": patience}}]
        _add(rules, endings, impatient, priority, beyond, Ending(Outcome.HOLD, gate, truth, True, carry))


# Texts ----------------------------------------------------------------------------------------------------------------


def _rule(condition: list[Condition], *, priority: int | None = None) -> dict[str, Any]:
    rule: dict[str, Any] = {"all": [{"m": {"$and": condition} if len(condition) > 1 else condition[0]}]}
    if priority is not None:
        rule["pri"] = priority
    return rule


def _warm() -> dict[str, Any]:
    """A rule that is fired once per session: it initialises the session's place, which the engine otherwise leaves."""
    return {"warm": _rule([{"warm": 1}])}


def _text(rules: dict[str, Any]) -> str:
    return json.dumps(rules, ensure_ascii=False)


def _texts(letter: str, place: int, *, turn: bool = False) -> tuple[str, str, str]:
    """The text of a result in a fact, by its code in the result array."""
    fail, passed, unknown = (f',"{letter}{place}":{turned(code, turn)}' for code in (FAIL, PASS, UNKNOWN))
    return fail, passed, unknown


def _packed(items: Iterable[Any], fits: Callable[[list[Any]], bool]) -> Iterable[list[Any]]:
    chunk: list[Any] = []
    for item in items:
        if chunk and not fits([*chunk, item]):
            yield chunk
            chunk = []
        chunk.append(item)
    if chunk:
        yield chunk


def _refuse_equal_hashes(policy: str, plan: Plan) -> None:
    """The engine knows a key by a 32-bit hash alone; two of ours must not share one."""
    keys = {"sid", "id", "k", "e", "w", "warm"}
    keys |= {f"f{number}" for number in range(MAX_LEAVES_PER_RULESET)}
    keys |= {f"{letter}{place}" for letter in "agh" for place in range(plan.n_places)}
    by_hash = groupby(sorted((_hash(key), key) for key in keys), key=lambda pair: pair[0])
    for _, group in by_hash:
        if len(equal := [key for _, key in group]) > 1:
            raise NotCompilable(f"{policy}: the engine would take {' and '.join(equal)} for one key")


def _hash(key: str) -> int:
    """FNV-1a, as the engine hashes names."""
    value = 0x811C9DC5
    for byte in key.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
