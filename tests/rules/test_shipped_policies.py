"""The shipped policy, against an evaluation of its own; the engine runs the same test file elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.oracle import evaluate

from oncemore.rules import times
from oncemore.rules.case import Case
from oncemore.rules.cases import load_tests
from oncemore.rules.expression import leaves
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import SEVERITY, Outcome
from oncemore.rules.shipped import shipped_policies
from oncemore.rules.testing import CaseResult, run
from oncemore.rules.vocabulary import FACTS

POLICIES = load_policies([shipped_policies()])

SAME_REQUEST = {
    "request.opted_out == false": "deny",
    'request.audience == "private" && request.host == "managed"': "deny",
    "request.delegated == false": "deny",
    "request.attachments == 0": "deny",
    'request.state == "open" && request.stop_origin == "none"': "deny",
    "request.steered == false": "hold",
    'source.state == "unchanged" && source.sender_verified': "hold",
    'grant.state != "unavailable"': "wait",
    'grant.state in ["intact", "unavailable"]': "hold",
    'session.state != "closed"': "deny",
    'session.state == "idle"': "wait",
    'session.newer_input != "queued"': "wait",
    "attempts.open == false": "wait",
    'native.read == "stable" && native.coverage == "complete"': "wait",
    'native.run_state == "idle"': "wait",
    "native.turn_bound": "hold",
    "native.unknown_items == 0 && native.foreign_input == false": "hold",
    'native.pending == "none"': "hold",
}
NOTHING_USED = {"attempts.work == 0 && attempts.review == 0 && attempts.quota == 0 && attempts.route == 0": "deny"}
CONTINUE = {
    'request.role == "project"': "deny",
    'grant.level in ["workspace_read", "workspace_write"]': "hold",
    'turn.ended_ago >= duration("60s")': "wait",
    'turn.ended_ago <= duration("24h")': "hold",
    "response.has_gate == false": "deny",
    'session.newer_input != "dispatched"': "deny",
    'native.runtime == "codex"': "deny",
    'native.live_owner in ["none", "ours"]': "wait",
    'native.end_evidence == "recorded"': "wait",
    "native.latest": "hold",
    'native.status == "completed" && native.error == "none"': "hold",
    "native.user_inputs == 1": "hold",
    "native.final_answers == 1": "hold",
    'native.effects != "active"': "wait",
    'native.effects in ["none", "settled", "active"]': "hold",
    'native.background == "none"': "wait",
    'delivery.notice in ["verified", "ambiguous"]': "wait",
    'delivery.notice != "ambiguous"': "hold",
}


def decide(name: str, case: Case) -> Mapping[str, Any]:
    """A record with what the tests compare, by Kleene's values and the severity of outcomes alone."""
    policy = POLICIES.get(name)
    assert policy is not None
    facts = {fact: reading.value for fact, reading in case.readings.items() if reading.status == "known"}
    known = {fact: value for fact, value in facts.items() if value is not None}
    concerned = evaluate(policy.when, known)
    if concerned is not True:
        return {"outcome": "not_concerned" if concerned is False else "wait", "gates": []}
    results = [(gate, evaluate(gate.condition, known)) for gate in policy.gates]
    given = {gate.otherwise if result is False else gate.unknown for gate, result in results if result is not True}
    outcome = next((one for one in SEVERITY if one in given), Outcome.FIRE)
    until = None
    ended = known.get("turn.ended_ago")
    if isinstance(ended, int) and ended < 60_000:
        until = times.format_ms(case.now + 60_000 - ended)
    if outcome is Outcome.WAIT and policy.patience is not None and case.waiting_since is not None:
        outcome = Outcome.HOLD if case.now - case.waiting_since > policy.patience else outcome
    words = {True: "pass", False: "fail", None: "unknown"}
    return {
        "outcome": outcome.value,
        "reason": {"kind": "gate_failed"},
        "gates": [{"id": gate.id, "floor": False, "result": words[result]} for gate, result in results],
        "until": until,
        "action": policy.action if outcome is Outcome.FIRE else None,
    }


def results() -> list[CaseResult]:
    return run(load_tests(shipped_policies() / "continue-unfinished-work_test.yaml"), decide)


@pytest.mark.parametrize("result", [pytest.param(one, id=one.name) for one in results()])
def test_a_case_of_the_shipped_tests_is_decided_as_it_says(result: CaseResult) -> None:
    assert (result.verdict, result.message) == ("PASS", "")


def test_continuation_has_exactly_its_gates() -> None:
    policy = POLICIES.get("continue-unfinished-work")
    assert policy is not None
    assert {gate.text: gate.otherwise.value for gate in policy.gates} == SAME_REQUEST | NOTHING_USED | CONTINUE
    assert [gate.group for gate in policy.gates] == ["same-request"] * 18 + ["nothing-used"] + [None] * 18
    assert {gate.unknown for gate in policy.gates} == {Outcome.WAIT}
    assert policy.when_text == 'turn.status == "completed" && turn.phase == "business" && report.state == "valid"'
    assert (policy.action, policy.attempt, policy.patience) == ("continue_work", "work", 86_400_000)


def test_every_sentence_is_there_in_both_languages() -> None:
    for policy in POLICIES.policies:
        for words in (policy.summary, *(gate.why for gate in policy.gates)):
            assert words.keys() == {"en", "zh"}
            assert words["en"].isascii()
            assert not words["zh"].isascii()


def test_every_gate_has_a_case_in_which_it_fails_and_one_in_which_it_is_unknown() -> None:
    failed = {gate for one in results() for gate in one.expected.get("blocked_by", ())}
    unknown = {gate for one in results() for gate in one.expected.get("unknown", ())}
    gates = {gate.id for policy in POLICIES.policies for gate in policy.gates}
    assert failed == gates
    assert unknown == gates


def test_every_fact_that_it_gates_on_is_missing_in_some_case() -> None:
    tests = load_tests(shipped_policies() / "continue-unfinished-work_test.yaml")
    named = {leaf.fact for policy in POLICIES.policies for gate in policy.gates for leaf in leaves(gate.condition)}
    absent = {fact for test in tests.cases for fact in FACTS if test.case.reading(fact).status == "missing"}
    assert named <= absent
