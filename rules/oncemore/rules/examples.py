"""How is each fact asked in a condition?

One example for each fact, as a gate or a `when` would ask it; what an author sees beside the fact's meaning, and what
editors offer where a condition is written. They are no part of the vocabulary: no decision depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "request.role": 'request.role in ["project", "steward"]',
        "request.audience": 'request.audience == "private"',
        "request.host": 'request.host == "managed"',
        "request.attachments": "request.attachments == 0",
        "request.delegated": "request.delegated == false",
        "request.state": 'request.state == "open"',
        "request.stop_origin": 'request.stop_origin == "none"',
        "request.steered": "request.steered == false",
        "request.opted_out": "request.opted_out == false",
        "source.state": 'source.state == "unchanged"',
        "source.sender_verified": "source.sender_verified",
        "grant.state": 'grant.state == "intact"',
        "grant.level": 'grant.level in ["workspace_read", "workspace_write"]',
        "session.state": 'session.state == "idle"',
        "session.newer_input": 'session.newer_input == "none"',
        "turn.phase": 'turn.phase == "business"',
        "turn.attempt": "turn.attempt == 1",
        "turn.status": 'turn.status in ["failed", "timed_out"]',
        "turn.error": 'turn.error in ["usage_limit_exceeded", "rate_limit_exceeded"]',
        "turn.has_reply": "turn.has_reply == false",
        "turn.has_deltas": "turn.has_deltas == false",
        "turn.ended_ago": 'turn.ended_ago >= duration("60s")',
        "report.state": 'report.state == "valid"',
        "response.has_gate": "response.has_gate == false",
        "attempts.work": "attempts.work == 0",
        "attempts.review": "attempts.review == 0",
        "attempts.quota": "attempts.quota < 3",
        "attempts.route": "attempts.route == 0",
        "attempts.open": "attempts.open == false",
        "native.runtime": 'native.runtime == "codex"',
        "native.read": 'native.read == "stable"',
        "native.coverage": 'native.coverage == "complete"',
        "native.run_state": 'native.run_state == "idle"',
        "native.live_owner": 'native.runtime != "codex" || native.live_owner in ["none", "ours"]',
        "native.end_evidence": 'native.end_evidence == "recorded"',
        "native.turn_bound": "native.turn_bound",
        "native.latest": "native.latest",
        "native.status": 'native.status in ["failed", "interrupted"]',
        "native.error": 'native.error in ["usage_limit", "rate_limit"]',
        "native.user_only": "native.user_only",
        "native.user_inputs": "native.user_inputs == 1",
        "native.final_answers": "native.final_answers == 0",
        "native.effects": 'native.effects in ["none", "settled"]',
        "native.background": 'native.background == "none"',
        "native.pending": 'native.pending == "none"',
        "native.unknown_items": "native.unknown_items == 0",
        "native.foreign_input": "native.foreign_input == false",
        "native.steps": "native.steps >= 1",
        "native.last_step": 'native.runtime == "codex" || native.last_step != "canceled"',
        "native.steps_ended": 'native.runtime == "codex" || native.steps_ended',
        "native.normal_final": "native.normal_final == false",
        "route.state": 'route.state == "available"',
        "route.restricted_profile": "route.restricted_profile",
        "material.kind": 'material.kind == "visible_response"',
        "material.segment": 'material.segment == "closed"',
        "material.identity": 'material.identity == "matched"',
        "material.tool_calls": "material.tool_calls == 0",
        "material.bytes": "material.bytes <= 20000",
        "delivery.notice": 'delivery.notice in ["none", "verified"]',
    }
)
"""A condition by the fact that it asks; each fact has one."""
