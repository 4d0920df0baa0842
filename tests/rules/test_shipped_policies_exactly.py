"""The shipped policies say exactly this: whom they concern, which gates with which outcome, what they do."""

from __future__ import annotations

import pytest

from oncemore.rules.durations import parse as milliseconds
from oncemore.rules.loading import load_policies
from oncemore.rules.outcome import Outcome
from oncemore.rules.shipped import shipped_policies

POLICIES = load_policies([shipped_policies()])

# Name: action, kind of try, material, patience, whom it concerns, groups, and own gates with their outcomes.
EXACTLY = {
    "continue-unfinished-work": (
        "continue_work",
        "work",
        None,
        "24h",
        'turn.status == "completed" && turn.phase == "business" && report.state == "valid"',
        ["same-request", "nothing-used"],
        [
            ('request.role == "project"', "deny"),
            ('grant.level in ["workspace_read", "workspace_write"]', "hold"),
            ('turn.ended_ago >= duration("60s")', "wait"),
            ('turn.ended_ago <= duration("24h")', "hold"),
            ("response.has_gate == false", "deny"),
            ('session.newer_input != "dispatched"', "deny"),
            ('native.runtime == "codex"', "deny"),
            ('native.live_owner in ["none", "ours"]', "wait"),
            ('native.end_evidence == "recorded"', "wait"),
            ("native.latest", "hold"),
            ('native.status == "completed" && native.error == "none"', "hold"),
            ("native.user_inputs == 1", "hold"),
            ("native.final_answers == 1", "hold"),
            ('native.effects != "active"', "wait"),
            ('native.effects in ["none", "settled", "active"]', "hold"),
            ('native.background == "none"', "wait"),
            ('delivery.notice in ["verified", "ambiguous"]', "wait"),
            ('delivery.notice != "ambiguous"', "hold"),
        ],
    ),
    "review-exhausted-answer": (
        "review_answer",
        "review",
        "none",
        "192h",
        'turn.status == "failed" && turn.phase == "quota" && turn.error == "usage_limit_exceeded" && request.role == "steward"',
        ["same-request", "reviewable"],
        [
            ("turn.attempt == 3 && attempts.quota == 3", "deny"),
            ("attempts.work == 0 && attempts.review == 0", "deny"),
            ("turn.has_reply == false && turn.has_deltas == false", "deny"),
            ('native.runtime == "codex"', "deny"),
            ('turn.ended_ago >= duration("60s")', "wait"),
            ('native.end_evidence == "recorded"', "wait"),
            ('native.user_only && native.status == "failed" && native.error == "usage_limit"', "hold"),
            ('native.effects == "none"', "hold"),
        ],
    ),
    "settle-cancelled-turn": (
        "settle_turn",
        None,
        None,
        None,
        'turn.status in ["starting", "running"] && native.runtime == "antigravity"',
        [],
        [
            ('request.stop_origin == "none"', "wait"),
            ('native.coverage == "complete"', "wait"),
            ("native.foreign_input == false", "wait"),
            ('native.pending == "none"', "wait"),
            ('native.run_state == "idle"', "wait"),
            ('native.last_step == "canceled"', "wait"),
            ("native.steps_ended", "wait"),
            ("native.normal_final == false", "wait"),
        ],
    ),
    "review-interrupted-answer": (
        "review_answer",
        "review",
        "visible_response",
        "24h",
        'turn.status == "failed" && turn.phase == "business" && turn.error == "runtime_error" && request.role == "steward" && native.runtime == "antigravity"',
        ["same-request", "nothing-used", "reviewable"],
        [
            ("turn.has_reply == false", "deny"),
            ('turn.ended_ago >= duration("60s")', "wait"),
            ('material.kind == "visible_response"', "deny"),
            ("material.bytes > 0 && material.bytes <= 65536", "hold"),
            ('material.segment == "closed"', "hold"),
            ('material.identity == "matched"', "hold"),
            ("material.tool_calls == 0", "hold"),
            ("native.steps <= 128", "hold"),
            ("native.normal_final == false", "hold"),
        ],
    ),
    "retry-quota": (
        "retry_business",
        "quota",
        None,
        "192h",
        'turn.status == "failed" && turn.phase in ["business", "quota"] && turn.error == "usage_limit_exceeded"',
        ["same-request"],
        [
            ("attempts.quota <= 2", "deny"),
            ("attempts.work == 0 && attempts.review == 0 && attempts.route == 0", "deny"),
            ('request.role in ["project", "steward"]', "deny"),
            ('session.newer_input != "dispatched" || request.role == "steward"', "deny"),
            ("turn.has_reply == false && turn.has_deltas == false", "hold"),
            ('native.runtime == "codex"', "deny"),
            ('native.end_evidence == "recorded"', "wait"),
            ('native.user_only && native.status == "failed" && native.error == "usage_limit"', "hold"),
            ('native.effects == "none"', "hold"),
            ('route.state == "available"', "wait"),
            ('attempts.quota != 0 || turn.ended_ago >= duration("5m")', "wait"),
            ('attempts.quota != 1 || turn.ended_ago >= duration("30m")', "wait"),
            ('attempts.quota != 2 || turn.ended_ago >= duration("2h")', "wait"),
        ],
    ),
    "retry-route": (
        "retry_business",
        "route",
        None,
        "24h",
        'turn.status == "failed" && turn.phase == "business" && turn.error in ["route_unavailable", "upstream_transport_failure"]',
        ["same-request", "nothing-used"],
        [
            ('request.role in ["project", "steward"]', "deny"),
            ('session.newer_input != "dispatched" || request.role == "steward"', "deny"),
            ("turn.has_reply == false && turn.has_deltas == false", "hold"),
            ("native.user_only", "hold"),
            ('native.effects == "none"', "hold"),
            ('native.runtime == "codex" || native.last_step != "canceled"', "deny"),
            ('route.state == "available"', "wait"),
            ('turn.ended_ago >= duration("60s")', "wait"),
        ],
    ),
    "review-interrupted-results": (
        "review_answer",
        "review",
        "visible_results",
        "24h",
        'turn.status in ["failed", "interrupted", "timed_out"] && turn.phase == "business" && request.role == "steward" && turn.error in ["runtime_error", "response_timeout", "idle_timeout", "hard_timeout"]',
        ["same-request", "nothing-used", "reviewable"],
        [
            ("turn.has_reply == false", "deny"),
            ('turn.ended_ago >= duration("60s")', "wait"),
            ('material.kind == "visible_results"', "deny"),
            ('material.segment == "closed"', "hold"),
            ('material.identity == "matched"', "hold"),
            ("native.normal_final == false", "hold"),
        ],
    ),
}


def test_these_and_no_others_are_shipped() -> None:
    assert [policy.name for policy in POLICIES.policies] == sorted(EXACTLY)


@pytest.mark.parametrize("name", sorted(EXACTLY))
def test_a_shipped_policy_says_exactly_what_it_should(name: str) -> None:
    action, attempt, material, patience, when, groups, gates = EXACTLY[name]
    policy = POLICIES.get(name)
    assert policy is not None
    assert (policy.action, policy.attempt, policy.parameters.get("material")) == (action, attempt, material)
    assert policy.patience == (None if patience is None else milliseconds(patience))
    assert policy.when_text == when
    assert list(dict.fromkeys(gate.group for gate in policy.gates if gate.group)) == groups
    assert [(gate.text, gate.otherwise.value) for gate in policy.gates if gate.group is None] == gates
    assert {gate.unknown for gate in policy.gates} == {Outcome.WAIT}
    assert all(gate.recheck for gate in policy.gates)
