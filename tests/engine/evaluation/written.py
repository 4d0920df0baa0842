"""How do tests write a policy in one line?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.engine.evaluation.generating import NOW, VOCABULARY, Declared

from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Evidence, Reading
from oncemore.rules.outcome import Outcome
from oncemore.rules.parsing import parse
from oncemore.rules.policy import Gate, Policy


def gate(name: str, text: str, otherwise: str = "hold", unknown: str = "wait", *, floor: bool = False) -> Gate:
    """A gate from the text of its condition."""
    return Gate(
        name, parse(text), text, Outcome(otherwise), {"en": f"{name}.", "zh": f"{name}。"}, "p.yaml:1:1",
        Outcome(unknown), floor=floor,
    )  # fmt: skip


def policy(*gates: Gate, when: str = 's.state == "open"', name: str = "written", patience: int | None = None) -> Policy:
    """A policy from its gates."""
    return Policy(
        name, 1, {"en": name}, parse(when), when, "p.yaml:1:1", gates, "continue_work", "work", patience,
        f"sha256:{name}", f"policies/{name}.yaml", {},
    )  # fmt: skip


def case(facts: Mapping[str, Any], *, now: int = NOW, waiting_since: int | None = None) -> Case:
    """A case of known facts; `s.state` is open unless it says otherwise."""
    known = {"s.state": "open", **facts}
    return Case(
        now, {name: Reading("known", value, Evidence("file", now)) for name, value in known.items()}, waiting_since
    )


def evaluator(*policies: Policy, floor: Sequence[Gate] = (), facts: Mapping[str, Declared] = VOCABULARY) -> Evaluator:
    """An evaluator over the tests' vocabulary that asks the engine each time."""
    return Evaluator(policies, lambda _: floor, facts=facts, keep=0)
