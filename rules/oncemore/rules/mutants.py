"""In which single ways could a policy be wrong, and on which case would that show?

A mutant is the policy with one change: a number one unit up or down, `<` for `<=`, `&&` for `||`, a comparison turned
round, a value taken out of a list, a gate left out, another `otherwise`, no `when`. Mutants that differ from the policy
on no case at all, and those that are one another's equal, are left out: that is decided exactly, over the cells of the
facts. For each of the others there is a case on which it differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from oncemore.rules.case import Value
from oncemore.rules.cells import FAIL, PASS, UNKNOWN, Box, Cells, Wanted, truth
from oncemore.rules.expression import And, Compare, Duration, Expression, Literal, Member, Not, Or
from oncemore.rules.judged import Judged, judged, milder
from oncemore.rules.outcome import SEVERITY, Outcome, Truth
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.typecheck import MAX_INT
from oncemore.rules.unparsing import text
from oncemore.rules.vocabulary import FACTS
from oncemore.rules.witness import Values

_TURNED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_RESULTS = (PASS, FAIL, UNKNOWN)

_MOST_COMBINATIONS = 5_000
"""Combinations of cells by which changed conditions are compared with each other; beyond, equal ones are kept."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one change.

    Attributes:
        gate: the id of the gate that was changed; None for `when`.
        at: where the changed condition stands, as in `Gate.at`.
        change: what was changed, as a phrase.
        original, policy: the policy as it is, and changed.
        asked: both, over one set of cells.
        differs: what holds where, and only where, they differ in one way.
    """

    gate: str | None
    at: str
    change: str
    original: Policy
    policy: Policy
    asked: Judged[Gate]
    differs: Sequence[Sequence[Box]]

    def case(self, base: Values) -> Values:
        """A case on which they differ, with every other gate passing and the values of a base where that can be."""
        cells = self.asked.cells
        near = [[cells.known({fact: value})] for fact, value in base.items() if fact in cells.values]
        changed = next((gate for gate in self.original.gates if gate.id == self.gate), None)
        wished = [*self.asked.passing(changed), *self.asked.floored(), *near]
        found = self.asked.case(self.differs, wished, preferred=base)
        assert found is not None
        return found

    def may_differ(self, values: Mapping[str, Value]) -> bool:
        """Whether the change makes any difference to what was changed, on a case."""
        before, after = _result(self.original, self.gate, values), _result(self.policy, self.gate, values)
        return before != after


def _result(policy: Policy, gate: str | None, values: Mapping[str, Value]) -> tuple[Truth, Outcome | None]:
    """The result of `when` or a gate, with what follows when it is false; a gate that is not there passes."""
    if gate is None:
        return truth(policy.when, values), None
    for one in policy.gates:
        if one.id == gate:
            result = truth(one.condition, values)
            return result, one.otherwise if result is Truth.FAIL else None
    return Truth.PASS, None


def mutants(policy: Policy) -> Iterator[Mutant]:
    """Every mutant of a policy that differs from it on some case, each once.

    Raises:
        Undecided: a question takes more steps than are tried.
    """
    yield from _of_when(policy)
    asked = judged(policy)
    for number, gate in enumerate(policy.gates):
        yield from _of_condition(policy, number, gate)
        yield from _without(policy, number, gate, asked)
        yield from _with_other_outcome(policy, number, gate, asked)


def changes(condition: Expression) -> Iterator[tuple[str, Expression]]:
    """What could stand in a condition's place, each with what was changed."""
    if isinstance(condition, Compare):
        for leaf in _leaves(condition):
            yield f"`{text(condition)}` became `{text(leaf)}`", leaf
        return
    if isinstance(condition, Member):
        turned = Not(condition, condition.span)
        yield f"`{text(condition)}` became `{text(turned)}`", turned
        for value in condition.values if len(condition.values) > 1 else ():
            fewer = replace(condition, values=tuple(one for one in condition.values if one != value))
            yield f"`{text(condition)}` became `{text(fewer)}`", fewer
        return
    if isinstance(condition, Not):
        yield f"`{text(condition)}` became `{text(condition.operand)}`", condition.operand
        for said, inner in changes(condition.operand):
            yield said, replace(condition, operand=inner)
        return
    other = (Or if isinstance(condition, And) else And)(condition.operands, condition.span)
    yield f"`{text(condition)}` became `{text(other)}`", other
    for place, part in enumerate(condition.operands):
        for said, inner in changes(part):
            operands = (*condition.operands[:place], inner, *condition.operands[place + 1 :])
            yield said, replace(condition, operands=operands)


def _leaves(leaf: Compare) -> Iterator[Compare]:
    """A comparison turned round, with its bound in or out, and with its number one unit up and down."""
    yield replace(leaf, op=_TURNED[leaf.op], bare=False)
    if leaf.op in _STRICT:
        yield replace(leaf, op=_STRICT[leaf.op])
    for step in (-1, 1) if FACTS[leaf.fact].type in ("int", "duration") else ():
        number = _number(leaf.value) + step
        if FACTS[leaf.fact].lowest <= number <= MAX_INT:
            yield replace(leaf, value=Duration(number) if isinstance(leaf.value, Duration) else number)


def _number(value: Literal) -> int:
    return value.ms if isinstance(value, Duration) else int(value)


def _of_condition(policy: Policy, number: int, gate: Gate) -> Iterator[Mutant]:
    for said, condition in _distinct(gate.condition):
        asked = judged(policy, [condition])
        for before, after in _differing():
            differs = [asked.concerned(), asked.ways(gate.condition, before), asked.ways(condition, after)]
            if asked.possible(differs):
                changed = _with(policy, number, replace(gate, condition=condition))
                yield Mutant(gate.id, gate.at, said, policy, changed, asked, differs)
                break


def _without(policy: Policy, number: int, gate: Gate, asked: Judged[Gate]) -> Iterator[Mutant]:
    for wanted in (FAIL, UNKNOWN):
        differs = [asked.concerned(), asked.ways(gate.condition, wanted)]
        if asked.possible(differs):
            changed = _with(policy, number, None)
            yield Mutant(gate.id, gate.at, "the gate was left out", policy, changed, asked, differs)
            return


def _with_other_outcome(policy: Policy, number: int, gate: Gate, asked: Judged[Gate]) -> Iterator[Mutant]:
    for outcome in (Outcome.WAIT, Outcome.HOLD, Outcome.DENY):
        if outcome is gate.otherwise:
            continue
        # It shows only where no other gate says something as severe as the more severe of the two.
        severe = min(gate.otherwise, outcome, key=SEVERITY.index)
        others = [
            asked.ways(other.condition, milder(other, severe, as_severe=False))
            for other in policy.gates
            if other is not gate
        ]
        differs = [asked.concerned(), asked.ways(gate.condition, FAIL), *others]
        if asked.possible(differs):
            said = f"`otherwise: {gate.otherwise}` became `otherwise: {outcome}`"
            changed = _with(policy, number, replace(gate, otherwise=outcome))
            yield Mutant(gate.id, gate.at, said, policy, changed, asked, differs)


def _of_when(policy: Policy) -> Iterator[Mutant]:
    always = Or((policy.when, Not(policy.when, policy.when.span)), policy.when.span)
    for said, condition in [*_distinct(policy.when), ("`when` was left out", always)]:
        asked = judged(policy, [condition])
        for before, after in _differing():
            differs = [asked.ways(policy.when, before), asked.ways(condition, after)]
            if asked.possible(differs):
                changed = replace(policy, when=condition, digest=_digest(policy))
                yield Mutant(None, policy.when_at, said, policy, changed, asked, differs)
                break


def _differing() -> list[tuple[Wanted, Wanted]]:
    """Pairs of different results; those first that show most plainly."""
    pairs = [(before, after) for before in _RESULTS for after in _RESULTS if before != after]
    return sorted(pairs, key=lambda pair: UNKNOWN in pair)


def _distinct(condition: Expression) -> Iterator[tuple[str, Expression]]:
    """Its changes, without those that are the same as it or as an earlier one on every case."""
    found = list(changes(condition))
    cells = Cells([condition, *(changed for _, changed in found)])
    facts = list(cells.values)
    combinations = 1
    for fact in facts:
        combinations *= len(cells.values[fact])
    if combinations > _MOST_COMBINATIONS:
        yield from found
        return
    cases = [
        {fact: value for fact, value in zip(facts, values, strict=True) if value is not None}
        for values in product(*cells.values.values())
    ]
    seen = {tuple(truth(condition, case) for case in cases)}
    for said, changed in found:
        table = tuple(truth(changed, case) for case in cases)
        if table not in seen:
            seen.add(table)
            yield said, changed


def _with(policy: Policy, number: int, gate: Gate | None) -> Policy:
    gates = (*policy.gates[:number], *((gate,) if gate is not None else ()), *policy.gates[number + 1 :])
    return replace(policy, gates=gates, digest=_digest(policy))


def _digest(policy: Policy) -> str:
    return f"{policy.digest}+mutant"
