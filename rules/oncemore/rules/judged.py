"""What does a policy look like to those who ask what it can and cannot do?

Conditions as ways to pass, over the cells of the policy's own facts and its floor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oncemore.rules.actions import ACTIONS
from oncemore.rules.cells import PASS, Box, Cells, Wanted, likely, solve
from oncemore.rules.expression import Expression
from oncemore.rules.floor import floor_gates
from oncemore.rules.gates import Found
from oncemore.rules.loading import Reading
from oncemore.rules.outcome import SEVERITY, Outcome
from oncemore.rules.policy import Gate
from oncemore.rules.witness import Values, facts_text


@dataclass(frozen=True, slots=True)
class JudgedGate:
    """A gate of a file whose condition can be read.

    Attributes:
        otherwise, unknown: None when they cannot be read.
        own: it stands in the policy's file, not in a group's.
    """

    found: Found
    condition: Expression
    otherwise: Outcome | None
    unknown: Outcome | None
    own: bool

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where its condition stands."""
        return (*self.found.path, "require")


class Judged:
    """One policy file of which every condition can be read.

    Attributes:
        whole: what happens when each gate does not pass can be read as well.
    """

    def __init__(self, reading: Reading) -> None:
        assert reading.when is not None
        self.reading = reading
        self.when = reading.when
        self.gates = [_judged(reading, use.found) for use in reading.uses]
        action = reading.action
        self.floor: tuple[Gate, ...] = () if action not in ACTIONS or action is None else floor_gates(action)
        self.cells = Cells(self._conditions())
        self.whole = reading.action in ACTIONS and all(gate.otherwise is not None for gate in self.gates)

    def _conditions(self) -> list[Expression]:
        return [self.when, *(gate.condition for gate in self.gates), *(gate.condition for gate in self.floor)]

    def ways(self, condition: Expression, wanted: Wanted = PASS) -> Sequence[Box]:
        """The boxes in which a condition is as wanted."""
        return self.cells.ways(condition, wanted)

    def passing(self, besides: JudgedGate | None = None) -> list[Sequence[Box]]:
        """`when` and every gate of the policy passes, of one perhaps nothing said."""
        others = [gate.condition for gate in self.gates if gate is not besides]
        return [self.ways(condition) for condition in (self.when, *others)]

    def floored(self) -> list[Sequence[Box]]:
        """The floor passes."""
        return [self.ways(gate.condition) for gate in self.floor]

    def possible(self, conditions: Sequence[Sequence[Box]], within: Box | None = None) -> bool:
        """Whether conditions can hold at once."""
        return solve(conditions, within) is not None

    def case(
        self, conditions: Sequence[Sequence[Box]], wished: Sequence[Sequence[Box]], within: Box | None = None
    ) -> str | None:
        """A facts file on which the conditions hold, and as many wishes as can; None when there is none."""
        values = self.values(conditions, wished, within)
        return None if values is None else facts_text(values)

    def values(
        self, conditions: Sequence[Sequence[Box]], wished: Sequence[Sequence[Box]], within: Box | None = None
    ) -> Values | None:
        """The same as values."""
        box = likely(conditions, wished, within)
        return None if box is None else self.cells.pick(box)


def severity(outcome: Outcome) -> int:
    """How early an outcome decides among those of several gates; less is more severe."""
    return SEVERITY.index(outcome)


def _judged(reading: Reading, found: Found) -> JudgedGate:
    assert found.condition is not None
    entry = found.entry
    return JudgedGate(
        found,
        found.condition,
        None if entry is None else Outcome(entry.otherwise),
        None if entry is None else Outcome(entry.unknown),
        found.document is reading.document,
    )
