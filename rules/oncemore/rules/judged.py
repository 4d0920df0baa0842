"""What does a policy look like to those who ask what it can and cannot do?

Conditions as ways to pass, over the cells of the policy's own facts and its floor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from oncemore.rules.actions import ACTIONS
from oncemore.rules.cells import FAIL, PASS, Box, Cells, Wanted, likely, solve
from oncemore.rules.expression import Expression
from oncemore.rules.floor import floor_gates
from oncemore.rules.gates import Found
from oncemore.rules.outcome import SEVERITY, Outcome, Truth
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.reading import Reading
from oncemore.rules.witness import Values


class Judgeable(Protocol):
    """What has to be known of a gate: its condition, and what follows when it does not pass."""

    @property
    def condition(self) -> Expression:
        """When it passes."""

    @property
    def otherwise(self) -> Outcome:
        """When the condition is false."""

    @property
    def unknown(self) -> Outcome:
        """When it is unknown."""


G = TypeVar("G", bound=Judgeable)


class Judged(Generic[G]):
    """A policy as conditions over cells.

    Attributes:
        more: further conditions that will be asked about, so that their literals make cells too.
    """

    def __init__(self, when: Expression, gates: Sequence[G], floor: Sequence[Gate], more: Iterable[Expression] = ()):
        self.when = when
        self.gates = gates
        self.floor = floor
        own = [*(gate.condition for gate in gates), *(gate.condition for gate in floor)]
        self.cells = Cells([when, *own, *more])

    def ways(self, condition: Expression, wanted: Wanted = PASS) -> Sequence[Box]:
        """The boxes in which a condition is as wanted."""
        return self.cells.ways(condition, wanted)

    def concerned(self) -> Sequence[Box]:
        """The policy concerns the case."""
        return self.ways(self.when)

    def passing(self, besides: G | None = None) -> list[Sequence[Box]]:
        """`when` and every gate of the policy passes, of one perhaps nothing said."""
        others = [gate.condition for gate in self.gates if gate is not besides]
        return [self.concerned(), *map(self.ways, others)]

    def floored(self) -> list[Sequence[Box]]:
        """The floor passes."""
        return [self.ways(gate.condition) for gate in self.floor]

    def possible(self, conditions: Sequence[Sequence[Box]], within: Box | None = None) -> bool:
        """Whether conditions can hold at once."""
        return solve(conditions, within) is not None

    def case(
        self,
        conditions: Sequence[Sequence[Box]],
        wished: Sequence[Sequence[Box]],
        within: Box | None = None,
        preferred: Values | None = None,
    ) -> Values | None:
        """A case on which the conditions hold, and as many wishes as can; None when there is none."""
        box = likely(conditions, wished, within)
        return None if box is None else self.cells.pick(box, preferred)

    def decided(self, at: int, result: Wanted, beside: Iterable[int] | None = None) -> list[Sequence[Box]]:
        """The cases that a gate's being false, or its being unknown, decides.

        Args:
            beside: were there only the gates at these places beside it; None for all.
        """
        places = range(len(self.gates)) if beside is None else beside
        return [self.concerned(), *self._decided(self.gates, at, result, places)]

    def decided_by_floor(self, at: int, result: Wanted) -> list[Sequence[Box]]:
        """The same of a gate of the floor, which is asked when every gate of the policy passes."""
        return [*self.passing(), *self._decided(self.floor, at, result, range(len(self.floor)))]

    def _decided(
        self, gates: Sequence[Judgeable], at: int, result: Wanted, beside: Iterable[int]
    ) -> Iterator[Sequence[Box]]:
        gate = gates[at]
        own = gate.otherwise if result == FAIL else gate.unknown
        yield self.ways(gate.condition, result)
        for place in beside:
            if place != at:
                yield self.ways(gates[place].condition, milder(gates[place], own, as_severe=place > at))


def milder(gate: Judgeable, than: Outcome, *, as_severe: bool) -> Wanted:
    """The results of a gate that leave the decision to one with another outcome.

    The most severe outcome decides, and of equal ones the first.

    Args:
        as_severe: an equally severe one leaves it too, as of a later gate.
    """
    follows = {Truth.FAIL: gate.otherwise, Truth.UNKNOWN: gate.unknown}
    return PASS | frozenset(
        truth
        for truth, outcome in follows.items()
        if SEVERITY.index(outcome) > SEVERITY.index(than) or (outcome is than and as_severe)
    )


def judged(policy: Policy, more: Iterable[Expression] = ()) -> Judged[Gate]:
    """A policy that loads, with its floor."""
    return Judged(policy.when, policy.gates, floor_gates(policy.action), more)


@dataclass(frozen=True, slots=True)
class FoundGate:
    """A gate of a file whose condition can be read.

    Attributes:
        whole: what follows when it does not pass can be read too; if not, `wait` stands for it.
    """

    found: Found
    condition: Expression
    otherwise: Outcome
    unknown: Outcome
    whole: bool


def judged_file(reading: Reading) -> Judged[FoundGate]:
    """A file of which every condition can be read."""
    assert reading.when is not None
    action = reading.action
    floor = () if action not in ACTIONS or action is None else floor_gates(action)
    return Judged(reading.when, [_gate(use.found) for use in reading.uses], floor)


def _gate(found: Found) -> FoundGate:
    assert found.condition is not None
    entry = found.entry
    if entry is None:
        return FoundGate(found, found.condition, Outcome.WAIT, Outcome.WAIT, False)
    return FoundGate(found, found.condition, Outcome(entry.otherwise), Outcome(entry.unknown), True)
