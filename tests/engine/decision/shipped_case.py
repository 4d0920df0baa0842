"""Which case makes the shipped continuation fire, so that tests can spoil one thing at a time?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Evidence, Reading, Status, Value
from oncemore.rules.loading import PolicySet, load_policies
from oncemore.rules.shipped import shipped_policies

NOW = 1_796_040_000_000
CONTINUE = "continue-unfinished-work"

FACTS: dict[str, Value] = {
    "request.role": "project",
    "request.audience": "private",
    "request.host": "managed",
    "request.attachments": 0,
    "request.delegated": False,
    "request.state": "open",
    "request.stop_origin": "none",
    "request.steered": False,
    "request.opted_out": False,
    "source.state": "unchanged",
    "source.sender_verified": True,
    "grant.state": "intact",
    "grant.level": "workspace_write",
    "session.state": "idle",
    "session.newer_input": "none",
    "turn.phase": "business",
    "turn.attempt": 1,
    "turn.status": "completed",
    "turn.error": "none",
    "turn.has_reply": True,
    "turn.has_deltas": True,
    "turn.ended_ago": 120_000,
    "report.state": "valid",
    "response.has_gate": False,
    "attempts.work": 0,
    "attempts.review": 0,
    "attempts.quota": 0,
    "attempts.route": 0,
    "attempts.open": False,
    "native.runtime": "codex",
    "native.read": "stable",
    "native.coverage": "complete",
    "native.run_state": "idle",
    "native.live_owner": "none",
    "native.end_evidence": "recorded",
    "native.turn_bound": True,
    "native.latest": True,
    "native.status": "completed",
    "native.error": "none",
    "native.user_only": False,
    "native.user_inputs": 1,
    "native.final_answers": 1,
    "native.effects": "settled",
    "native.background": "none",
    "native.pending": "none",
    "native.unknown_items": 0,
    "native.foreign_input": False,
    "route.state": "available",
    "delivery.notice": "verified",
}


def case(facts: Mapping[str, Value] | None = None, **spoiled: Any) -> Case:
    """The firing case with other facts; a fact given as None is missing."""
    return spoil(Case(NOW, readings({**FACTS, **(facts or {})})), spoiled)


def readings(facts: Mapping[str, Value | None]) -> dict[str, Reading]:
    """Known readings, as a journal would supply them."""
    evidence = Evidence("journal", NOW - 1_000)
    return {name: Reading("known", value, evidence) for name, value in facts.items() if value is not None}


def spoil(good: Case, spoiled: Mapping[str, Any]) -> Case:
    """Other facts, written with `__` for the dot."""
    found = dict(good.readings)
    for name, value in spoiled.items():
        found.pop(name.replace("__", "."), None)
        found |= readings({name.replace("__", "."): value})
    return replace(good, readings=found)


def with_status(good: Case, fact: str, status: Status) -> Case:
    """The same case, one fact's evidence not counting."""
    if status == "missing":
        return replace(good, readings={name: one for name, one in good.readings.items() if name != fact})
    return replace(good, readings={**good.readings, fact: replace(good.readings[fact], status=status)})


@cache
def shipped() -> PolicySet:
    """The shipped policies, loaded once."""
    return load_policies([shipped_policies()])


@cache
def evaluator() -> Evaluator:
    """The shipped policies, compiled once."""
    return Evaluator(shipped().policies)
