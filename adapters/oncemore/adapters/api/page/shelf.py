"""What do the pages of the policies show: their texts and levels, how well they are tested, and what they decided?"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from peewee import fn

from oncemore.adapters import given_levels
from oncemore.engine.allowance_tables import LevelChange
from oncemore.engine.decision import decide
from oncemore.engine.evaluation import Evaluator
from oncemore.engine.tables import Decision
from oncemore.rules.case import Case
from oncemore.rules.cases import load_tests
from oncemore.rules.cells import Undecided
from oncemore.rules.coverage import Coverage, coverage
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.expectations import known_of
from oncemore.rules.loading import PolicySet
from oncemore.rules.testing import run

ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a policy's name looks like."""

LATELY_MS: Final = 7 * 24 * 3_600_000

MOST: Final = 20
"""Most decisions of one policy, and most changes of levels, on one page."""

SUFFIX: Final = "_test.yaml"


class Tested:
    """How well the policies in force are tested; counted once for each set of policies."""

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._digest = ""
        self._found: Mapping[str, Coverage] = {}

    def of(self, policies: PolicySet) -> Mapping[str, Coverage]:
        """By policy: what its tests have seen. One without tests, or whose tests do not load, is not there."""
        with self._counting:
            if self._digest != policies.digest:
                self._found = _counted(policies)
                self._digest = policies.digest
            return self._found


def _counted(policies: PolicySet) -> Mapping[str, Coverage]:
    """Run the tests that lie beside the policies through the engine."""
    records: dict[str, list[Mapping[str, Any]]] = {}
    evaluator = Evaluator(policies.policies)

    def decided(policy: str, case: Case) -> Mapping[str, Any]:
        return decide(evaluator, case, origin="posted", only=policy).records[0]

    try:
        for file in sorted(Path(policies.directory).glob(f"*{SUFFIX}")):
            try:
                tests = load_tests(file, known_of(policies))
            except FactsInvalid:
                continue
            if policies.get(tests.policy) is not None:
                kept = records.setdefault(tests.policy, [])
                kept += [result.record for result in run(tests, decided) if result.record]
    finally:
        evaluator.close()
    found: dict[str, Coverage] = {}
    for name, seen in records.items():
        policy = policies.get(name)
        assert policy is not None
        try:
            found[name] = coverage(policy, seen)
        except Undecided:
            continue
    return found


def shelf(policies: PolicySet, tested: Tested, now: int) -> dict[str, Any]:
    """Everything that the list of policies tells."""
    coverages = tested.of(policies)
    counts = _counts(now)
    return {
        "policies": [
            {
                "policy": one,
                "level": given_levels.told(one.name, now)["level"],
                "coverage": coverages.get(one.name),
                "counts": counts.get(one.name, {}),
            }
            for one in policies.policies
        ],
        "set": policies.digest,
    }


def volume(name: str, policies: PolicySet, tested: Tested, now: int) -> dict[str, Any] | None:
    """Everything that the page of one policy tells; None when there is no such policy."""
    policy = policies.get(name)
    if policy is None:
        return None
    decisions = (
        Decision.select()
        .where(Decision.policy == name, Decision.outcome != "not_concerned")
        .order_by(Decision.at.desc(), Decision.id)
        .limit(MOST)
    )
    return {
        "policy": policy,
        "level": given_levels.told(name, now),
        "coverage": tested.of(policies).get(name),
        "counts": _counts(now).get(name, {}),
        "decisions": [
            {
                "decision": str(one.id).removeprefix("sha256:"),
                "request": one.request,
                "outcome": one.outcome,
                "level": one.level,
                "gate": one.reason_gate,
                "at": one.at,
            }
            for one in decisions
        ],
        "changes": list(
            LevelChange.select().where(LevelChange.policy == name).order_by(LevelChange.id.desc()).limit(MOST).dicts()
        ),
    }


def _counts(now: int) -> dict[str, dict[str, int]]:
    """By policy, how often it came to which outcome lately."""
    rows = (
        Decision.select(Decision.policy, Decision.outcome, fn.COUNT(Decision.id))
        .where(Decision.at > now - LATELY_MS, Decision.outcome != "not_concerned")
        .group_by(Decision.policy, Decision.outcome)
        .tuples()
    )
    found: dict[str, dict[str, int]] = {}
    counted: Any = rows
    for policy, outcome, count in counted:
        found.setdefault(policy, {})[outcome] = count
    return found
