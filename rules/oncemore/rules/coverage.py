"""What of a policy have its tests seen: which results of every gate, and which outcomes?

Only what can happen counts: a result that no case has, and an outcome that no case gets, are left out. That is decided
exactly, over the cells of the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncemore.rules.cells import FAIL, PASS, UNKNOWN, Box
from oncemore.rules.judged import Judged, judged
from oncemore.rules.outcome import Outcome, Truth
from oncemore.rules.policy import Gate, Policy

Record = Mapping[str, Any]

_WANTED = {Truth.PASS: PASS, Truth.FAIL: FAIL, Truth.UNKNOWN: UNKNOWN}


@dataclass(frozen=True, slots=True)
class Coverage:
    """What tests have seen of one policy.

    Attributes:
        possible: what can happen: results by gate, and outcomes under an empty name.
        seen: in how many cases each of these happened.
    """

    policy: str
    possible: Mapping[str, Sequence[str]]
    seen: Mapping[tuple[str, str], int]

    @property
    def total(self) -> int:
        """How many things can happen."""
        return sum(map(len, self.possible.values()))

    @property
    def unseen(self) -> list[tuple[str, str]]:
        """Gate and result, or an empty name and an outcome, that no test has seen."""
        return [
            (gate, result) for gate, all_ in self.possible.items() for result in all_ if (gate, result) not in self.seen
        ]

    @property
    def percent(self) -> float:
        """How much of what can happen was seen."""
        return 100 * (self.total - len(self.unseen)) / self.total


def coverage(policy: Policy, records: Iterable[Record]) -> Coverage:
    """What decisions on test cases have seen of a policy.

    Raises:
        Undecided: a question takes more steps than are tried.
    """
    asked = judged(policy)
    possible: dict[str, Sequence[str]] = {"": [outcome.value for outcome in Outcome if _gives(policy, asked, outcome)]}
    for gate in policy.gates:
        ways = {truth: asked.ways(gate.condition, wanted) for truth, wanted in _WANTED.items()}
        possible[gate.id] = [truth.value for truth, way in ways.items() if asked.possible([asked.concerned(), way])]
    seen: dict[tuple[str, str], int] = {}
    for record in records:
        happened = [("", record["outcome"])]
        if record["when"]["result"] == "pass":
            happened += [(gate["id"], gate["result"]) for gate in record["gates"] if not gate["floor"]]
        for one in happened:
            seen[one] = seen.get(one, 0) + 1
    return Coverage(policy.name, possible, seen)


def _gives(policy: Policy, asked: Judged[Gate], outcome: Outcome) -> bool:
    """Whether some case gets an outcome."""
    if outcome is Outcome.FIRE:
        return asked.possible([*asked.passing(), *asked.floored()])
    if outcome is Outcome.NOT_CONCERNED:
        return asked.possible([asked.ways(policy.when, FAIL)])
    if outcome is Outcome.WAIT and asked.possible([asked.ways(policy.when, UNKNOWN)]):
        return True
    if outcome is Outcome.HOLD and policy.patience is not None and _gives(policy, asked, Outcome.WAIT):
        return True
    return any(asked.possible(question) for question in _ends(asked, outcome))


def _ends(asked: Judged[Gate], outcome: Outcome) -> Iterable[Sequence[Sequence[Box]]]:
    """When a gate, or one of the floor, ends in an outcome."""
    for gates, decided in ((asked.gates, asked.decided), (asked.floor, asked.decided_by_floor)):
        for place, gate in enumerate(gates):
            for result, follows in ((FAIL, gate.otherwise), (UNKNOWN, gate.unknown)):
                if follows is outcome:
                    yield decided(place, result)
