"""What did the engine say of one policy on one case?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from oncemore.engine.errors import EngineFault
from oncemore.rules.engine_text import UNKNOWN
from oncemore.rules.expression import Leaf
from oncemore.rules.normal_form import key
from oncemore.rules.outcome import Outcome, Truth
from oncemore.rules.outcome_rules import Ending
from oncemore.rules.policy import Gate
from oncemore.rules.ruleset import Plan

_SEEN = (
    (Truth.FAIL, Truth.PASS, Truth.UNKNOWN),
    (Truth.PASS, Truth.FAIL, Truth.UNKNOWN),
)
"""What a result is, by whether it is turned round and its code."""

NO_RESULT = 3
"""The code of a comparison of which nothing is known yet."""


@dataclass(frozen=True, slots=True)
class Fired:
    """What the engine said of one policy on one case.

    Attributes:
        results: for every place of the plan, FAIL, PASS or UNKNOWN; empty after a fault.
        names: the rules that fired, in the order of the plan; of the last stage those that decided.
        ending: what the deciding rule says; None after a fault.
        fault: what went wrong on both tries; None when nothing did.
    """

    plan: Plan
    results: bytes
    names: tuple[str, ...]
    ending: Ending | None
    fault: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The policy's outcome before it competes with others; hold after a fault."""
        return Outcome.HOLD if self.ending is None else self.ending.outcome

    @property
    def gate(self) -> Gate | None:
        """The gate that decided."""
        number = None if self.ending is None else self.ending.gate
        return None if number is None else self.plan.gates[number]

    @property
    def when(self) -> Truth:
        """Whether the policy concerns the case; unknown after a fault."""
        return self._truth(self.plan.when)

    @property
    def gates(self) -> tuple[Truth, ...]:
        """The result of every gate of the plan, the floor's last."""
        results = self.results
        if not results:
            return (Truth.UNKNOWN,) * len(self.plan.gate_places)
        return tuple([_SEEN[turn][results[at]] for at, turn in self.plan.gate_places])

    def leaf(self, leaf: Leaf) -> Truth:
        """The result of one comparison."""
        return self._truth(self.plan.places[key(leaf)])

    def _truth(self, place: tuple[int, bool]) -> Truth:
        at, turn = place
        return _SEEN[turn][self.results[at]] if self.results else Truth.UNKNOWN

    @property
    def decided_against(self) -> bool:
        """Whether the policy cannot fire on this case whatever unknown evidence says: `when` or a gate is false."""
        return self.when is Truth.FAIL or Truth.FAIL in self.gates


def no_results(plan: Plan) -> bytearray:
    """The results of a plan before anything has fired: none of the comparisons, unknown for what is made of them."""
    return bytearray(bytes([NO_RESULT]) * plan.n_leaves + bytes([UNKNOWN]) * (plan.n_places - plan.n_leaves))


def read(plan: Plan, names: Sequence[str]) -> Fired:
    """What the engine said, from the names of the rules that fired; the inverse of `Fired.names`.

    Raises:
        EngineFault: the names are not those of this plan.
    """
    return _read(plan, tuple(names))


@lru_cache(maxsize=4096)
def _read(plan: Plan, names: tuple[str, ...]) -> Fired:
    results = no_results(plan)
    ending = None
    for name in names:
        if name in plan.readings:
            place, code = plan.readings[name]
            results[place] = code
        elif name in plan.endings:
            ending = plan.endings[name]
        elif name != "keep":
            raise EngineFault(f"{plan.policy.name} has no rule {name}")
    if ending is None or NO_RESULT in results:
        raise EngineFault(f"{plan.policy.name}: the stored firings are not complete")
    return Fired(plan, bytes(results), names, ending)
