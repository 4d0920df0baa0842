"""Would a policy fire if something were otherwise? What is answered has been asked of the rules engine again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oncemore.engine import phrases
from oncemore.engine.decision import decide
from oncemore.engine.errors import EngineFault
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.record_text import instant
from oncemore.rules.case import Case, Reading, Value
from oncemore.rules.durations import format_ms
from oncemore.rules.nearest import Change, Nothing, nearest
from oncemore.rules.outcome import Outcome
from oncemore.rules.vocabulary import FACTS
from oncemore.rules.witness import said

Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Supposed:
    """The nearest change of a case, tried.

    Attributes:
        at: when the policy would fire, milliseconds since the epoch; None when nothing makes it.
    """

    found: Change | Nothing
    at: int | None


def suppose(evaluator: Evaluator, policy: str, case: Case) -> Supposed:
    """The least that would have to change for a policy to fire on a case.

    Raises:
        KeyError: there is no such policy.
        EngineFault: the rules engine does not fire on what was found.
        Undecided: the question takes more steps than are tried.
    """
    found = nearest(evaluator.plans[policy].policy, case)
    if isinstance(found, Nothing):
        return Supposed(found, None)
    changed = found.applied(case)
    again = decide(evaluator, changed, only=policy)
    if again.outcome is not Outcome.FIRE:
        raise EngineFault(f"{policy} does not fire on the nearest change that was found: {again.outcome}")
    return Supposed(found, changed.now)


def as_json(supposed: Supposed) -> dict[str, Any]:
    """What was found as a JSON object: the change, or the gates that stand in the way, and a patience too short."""
    found = supposed.found
    if isinstance(found, Nothing):
        patience = None if found.patience is None else format_ms(found.patience)
        return {"change": None, "in_the_way": list(found.gates), "concerned": found.concerned, "patience": patience}
    change = {
        "facts": {fact: _written(fact, value) for fact, value in found.facts.items()},
        "wait": format_ms(found.wait),
        "at": None if supposed.at is None else instant(supposed.at),
    }
    return {"change": change, "in_the_way": [], "concerned": True, "patience": None}


def told(supposed: Supposed, case: Case, lang: Language) -> str:
    """The same as a sentence."""
    words = phrases.WORDS[lang]
    found = supposed.found
    if isinstance(found, Nothing):
        if not found.concerned:
            return words["nearest.unconcerned"]
        gates = words["comma"].join(found.gates)
        if found.patience is not None:
            return words["nearest.impatient"].format(gates=gates, patience=format_ms(found.patience))
        return words["nearest.none"].format(gates=gates)
    facts = words["comma"].join(
        words["nearest.fact"].format(fact=fact, value=said(fact, value), now=_now(case.reading(fact), fact, words))
        for fact, value in found.facts.items()
    )
    kind = ("both" if found.wait else "now") if found.facts else "wait" if found.wait else "alone"
    until = "" if supposed.at is None else instant(supposed.at)
    return words[f"nearest.{kind}"].format(facts=facts, wait=format_ms(found.wait), until=until)


def _now(reading: Reading, fact: str, words: Mapping[str, str]) -> str:
    if reading.status == "known" and reading.value is not None:
        return said(fact, reading.value)
    return words[f"status.{reading.status}"]


def _written(fact: str, value: Value) -> Value:
    return said(fact, value) if FACTS[fact].type == "duration" else value
