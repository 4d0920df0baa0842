"""Does a policy decide as its tests say?

The tests know nothing of how a decision is made: whoever runs them passes a function that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oncemore.rules import times
from oncemore.rules.case import Case
from oncemore.rules.cases import TestCase, TestFile
from oncemore.rules.floor import PREFIX
from oncemore.rules.typecheck import nearest

Decide = Callable[[str, Case], Mapping[str, Any]]
"""The decision record of one policy, by name, on one case."""

Verdict = Literal["PASS", "FAIL", "ERROR"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went.

    Attributes:
        verdict: ERROR when it could not be told whether the policy decides as expected.
        message: one sentence for each difference, joined with `; `; empty on PASS.
        expected, actual: what differs or would have been compared, by key of `expect`, as JSON values.
        record: the decision record; None when there is none.
    """

    name: str
    file: str
    line: int
    verdict: Verdict
    message: str
    expected: Mapping[str, Any]
    actual: Mapping[str, Any]
    record: Mapping[str, Any] | None


def run(test_file: TestFile, decide: Decide) -> list[CaseResult]:
    """Decide every case and compare, in the order of the file."""
    return [run_case(test_file, test, decide) for test in test_file.cases]


def run_case(test_file: TestFile, test: TestCase, decide: Decide) -> CaseResult:
    """Decide one case and compare."""
    expected = {key: _shown(key, value) for key, value in test.expect.items()}

    def result(
        verdict: Verdict, message: str, actual: Mapping[str, Any], record: Mapping[str, Any] | None
    ) -> CaseResult:
        return CaseResult(test.name, test_file.file, test.line, verdict, message, expected, actual, record)

    try:
        record = decide(test_file.policy, test.case)
    except Exception as error:  # a test run goes on; the case says what happened
        return result("ERROR", f"the case could not be decided: {error}", {}, None)
    if unknown_gates := _unknown_gates(test, record):
        return result("ERROR", unknown_gates, {}, record)
    actual = {key: _actual(key, expected[key], record) for key in expected}
    differences = [
        f"{key} is {_words(actual[key])}, expected {_words(expected[key])}"
        for key in expected
        if actual[key] != expected[key]
    ]
    return result("FAIL" if differences else "PASS", "; ".join(differences), actual, record)


def _shown(key: str, value: Any) -> Any:
    """An expectation in the form of records: times as text, sets of gates sorted."""
    if key == "until" and isinstance(value, int):
        return times.format_ms(value)
    return sorted(set(value)) if isinstance(value, (list, tuple)) else value


def _actual(key: str, expected: Any, record: Mapping[str, Any]) -> Any:
    if key in ("blocked_by", "unknown"):
        wanted = "fail" if key == "blocked_by" else "unknown"
        return sorted(gate["id"] for gate in _gates(expected, record) if gate["result"] == wanted)
    if key == "action":
        action = record.get("action")
        return action.get("action", action.get("name")) if isinstance(action, Mapping) else action
    return record.get(key)


def _gates(expected: list[str], record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The gates that an expectation speaks of.

    The floor repeats much of what policies ask; its gates count where it decides, or where the author names one.
    """
    with_floor = record.get("reason", {}).get("kind") == "floor" or any(gate.startswith(PREFIX) for gate in expected)
    return [gate for gate in record.get("gates", ()) if with_floor or not gate.get("floor")]


def _unknown_gates(test: TestCase, record: Mapping[str, Any]) -> str:
    # A policy that is not concerned still lists its gates; a record without any says nothing about ids.
    known = [gate["id"] for gate in record.get("gates", ())]
    named = [*(test.expect.get("blocked_by") or ()), *(test.expect.get("unknown") or ())]
    messages = []
    for gate in named:
        if known and gate not in known:
            close = nearest(gate, known)
            messages.append(f"the policy has no gate `{gate}`" + (f"; did you mean `{close}`?" if close else ""))
    return "; ".join(messages)


def _words(value: Any) -> str:
    if value is None:
        return "none"
    return ", ".join(value) or "no gate" if isinstance(value, list) else str(value)
