"""What does a policy answer, by the written rules of outcomes alone?

Written apart from the engine's rulesets and sharing no code with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.oracle import evaluate

from oncemore.rules.case import Case
from oncemore.rules.policy import Gate, Policy


@dataclass(frozen=True)
class Answer:
    """An outcome with the gate that decides it.

    Attributes:
        gate: its place among the policy's gates followed by the floor's; None when none decides.
        impatient: it is a hold only because it has waited too long.
    """

    outcome: str
    gate: int | None
    impatient: bool
    when: bool | None
    gates: tuple[bool | None, ...]


def answer(policy: Policy, floor: Sequence[Gate], case: Case, facts: Mapping[str, bool | int | str]) -> Answer:
    """The answer on a case; `facts` are its known, well-typed values."""
    when = evaluate(policy.when, facts)
    results = tuple(evaluate(gate.condition, facts) for gate in (*policy.gates, *floor))
    outcome, gate = _outcome(policy, floor, when, results)
    waited = 0 if case.waiting_since is None else case.now - case.waiting_since
    impatient = outcome == "wait" and policy.patience is not None and waited >= policy.patience
    return Answer("hold" if impatient else outcome, gate, impatient, when, results)


def _outcome(
    policy: Policy, floor: Sequence[Gate], when: bool | None, results: tuple[bool | None, ...]
) -> tuple[str, int | None]:
    if when is False:
        return "not_concerned", None
    if when is None:
        return "wait", None
    own = len(policy.gates)
    for gates, start in ((policy.gates, 0), (floor, own)):
        said = {}
        for number, gate in enumerate(gates, start):
            if results[number] is False:
                said.setdefault(str(gate.otherwise), number)
            elif results[number] is None:
                said.setdefault(str(gate.unknown), number)
        for severity in ("deny", "hold", "wait"):
            if severity in said:
                return severity, said[severity]
    return "fire", None
