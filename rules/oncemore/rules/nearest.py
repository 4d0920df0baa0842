"""What is the least that would have to change for a policy to fire?

Only what a person can bring about counts, and waiting; everything else stays as it is, and what is unknown and cannot
be brought about stays unknown. The fewest changes come first, and of equally many the shortest wait. Decided exactly,
over the cells of the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from oncemore.rules.case import Case, Evidence, Reading, Value
from oncemore.rules.cells import Box, solve
from oncemore.rules.judged import Judged, judged
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.vocabulary import FACTS

SOURCE = "supposed"
"""Who supplied the facts of a case that was only thought of, in their evidence."""


@dataclass(frozen=True, slots=True)
class Change:
    """What makes a policy fire.

    Attributes:
        facts: new values by fact; empty when waiting is enough.
        wait: for how long, milliseconds; 0 for not at all.
    """

    facts: Mapping[str, Value]
    wait: int

    def applied(self, case: Case) -> Case:
        """The case as it would be: later, everything that is known read anew."""
        now = case.now + self.wait
        evidence = Evidence(SOURCE, now)
        readings = {
            fact: Reading("known", _later(fact, reading.value, self.wait), evidence)
            if reading.status == "known"
            else reading
            for fact, reading in case.readings.items()
        }
        readings |= {fact: Reading("known", value, evidence) for fact, value in self.facts.items()}
        return Case(now, readings, case.waiting_since)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing that a person can change makes it fire, and no waiting.

    Attributes:
        gates: ids of gates that stand in the way whatever is changed; if no one alone does, those that do not pass.
        concerned: the policy is concerned at all; if it is not, nothing is looked for.
        patience: the policy's, milliseconds, when it is all that keeps waiting from helping; else None.
    """

    gates: Sequence[str]
    concerned: bool
    patience: int | None = None


def nearest(policy: Policy, case: Case) -> Change | Nothing:
    """The least change of a case on which a policy and its floor pass; an empty one when they do.

    Raises:
        Undecided: the question takes more steps than are tried.
    """
    asked = judged(policy)
    cells = asked.cells
    known = {
        fact: reading.value
        for fact, reading in case.readings.items()
        if reading.status == "known" and reading.value is not None and fact in FACTS
    }
    values = {fact: known.get(fact) for fact in cells.values}
    free = [fact for fact in values if FACTS[fact].changeable]
    fixed = {fact: value for fact, value in values.items() if fact not in free}
    if not asked.possible([asked.concerned()], cells.known(fixed)):
        return Nothing((), concerned=False)
    ahead = list(_waits(asked, values))
    waits = [wait for wait in ahead if not wait or _patient(policy, case, wait)]
    conditions = [*asked.passing(), *asked.floored()]

    def helps(wait: int) -> bool:
        return asked.possible(conditions, cells.known(_at(fixed, wait)))

    if not any(map(helps, waits)):
        later = any(helps(wait) for wait in ahead if wait not in waits)
        patience = policy.patience if later else None
        return Nothing(_in_the_way(asked, fixed, values, waits), concerned=True, patience=patience)
    for count in range(len(free) + 1):
        for wait in waits:
            for changed in combinations(free, count):
                within = cells.known(_at({fact: values[fact] for fact in values if fact not in changed}, wait))
                box = solve(conditions, within)
                if box is not None:
                    return Change(_chosen(asked, box, changed, values), wait)
    raise AssertionError("with everything free there was a way")


def _chosen(
    asked: Judged[Gate], box: Box, changed: Sequence[str], values: Mapping[str, Value | None]
) -> dict[str, Value]:
    picked = asked.cells.pick(box, values)
    return {fact: value for fact in changed if (value := picked.get(fact)) is not None and value != values[fact]}


def _waits(asked: Judged[Gate], values: Mapping[str, Value | None]) -> Iterator[int]:
    """None, and the waits after which a fact that grows lies in another cell."""
    growing = {fact: value for fact, value in values.items() if FACTS[fact].grows and isinstance(value, int)}
    ahead = {
        start - value
        for fact, value in growing.items()
        for start in asked.cells.values[fact]
        if isinstance(start, int) and start > value
    }
    yield 0
    yield from sorted(ahead)


def _patient(policy: Policy, case: Case, wait: int) -> bool:
    """Whether the policy still waits then."""
    since = case.waiting_since
    return policy.patience is None or since is None or case.now + wait < since + policy.patience


def _at(values: Mapping[str, Value | None], wait: int) -> dict[str, Value | None]:
    return {fact: _later(fact, value, wait) for fact, value in values.items()}


def _later(fact: str, value: Value | None, wait: int) -> Value | None:
    return value + wait if FACTS[fact].grows and isinstance(value, int) else value


def _in_the_way(
    asked: Judged[Gate], fixed: Mapping[str, Value | None], values: Mapping[str, Value | None], waits: Sequence[int]
) -> Sequence[str]:
    boxes = [asked.cells.known(_at(fixed, wait)) for wait in waits]

    def blocking(gates: Sequence[Gate], boxes: Sequence[Box]) -> list[str]:
        return [
            gate.id for gate in gates if not any(asked.possible([asked.ways(gate.condition)], box) for box in boxes)
        ]

    # The floor repeats much of what policies ask; it is named where no gate of the policy's own is.
    now = [asked.cells.known(values)]
    return next(
        filter(None, (blocking(gates, these) for these in (boxes, now) for gates in (asked.gates, asked.floor))), ()
    )
