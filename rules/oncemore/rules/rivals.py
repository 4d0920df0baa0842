"""Can two policies ever want to act on one case?

A policy fires when its `when` and all of its gates, and the floor's, are true. Over the finitely many cells of every
fact this is decided exactly: either a case is found in which both fire, or in which one fires while nothing known
decides against the other, or there is none.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncemore.rules.cells import NOT_FAIL, PASS, Box, Cells, Wanted, solve
from oncemore.rules.floor import floor_gates
from oncemore.rules.policy import Policy
from oncemore.rules.witness import Values


class Rivals:
    """Policies whose conditions are looked at over one set of cells."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        conditions = {
            policy.name: [
                policy.when,
                *(gate.condition for gate in (*policy.gates, *floor_gates(policy.action))),
            ]
            for policy in policies
        }
        self._cells = Cells(one for each in conditions.values() for one in each)
        self._conditions = conditions

    def both_fire(self, first: str, second: str) -> Values | None:
        """A case in which both fire, what is not needed left unknown; None when there is none.

        Raises:
            Undecided: there are more combinations than are tried.
        """
        return self._picked(solve([*self._ways(first, PASS), *self._ways(second, PASS)]))

    def one_fires_undecided(self, first: str, second: str) -> Values | None:
        """A case in which `first` fires and no gate of `second` is false, what it does not need left unknown.

        Raises:
            Undecided: there are more combinations than are tried.
        """
        return self._picked(solve([*self._ways(first, PASS), *self._ways(second, NOT_FAIL)]))

    def _ways(self, policy: str, wanted: Wanted) -> list[list[Box]]:
        return [list(self._cells.ways(condition, wanted)) for condition in self._conditions[policy]]

    def _picked(self, box: Box | None) -> Values | None:
        return None if box is None else self._cells.pick(box, dict.fromkeys(box))
