"""What can a policy say of a case?"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """A policy's answer, and the answer over all policies."""

    FIRE = "fire"
    WAIT = "wait"
    HOLD = "hold"
    DENY = "deny"
    NOT_CONCERNED = "not_concerned"


SEVERITY = (Outcome.DENY, Outcome.HOLD, Outcome.WAIT, Outcome.FIRE)
"""Inside one policy the most severe gate decides: the first of these that any gate gives."""

FINALITY = (Outcome.FIRE, Outcome.WAIT, Outcome.HOLD, Outcome.DENY, Outcome.NOT_CONCERNED)
"""Between policies the least final outcome stands: a Request is closed only when every policy has closed it."""


class Truth(StrEnum):
    """The three values of a condition."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNKNOWN = "unknown"


class ReasonKind(StrEnum):
    """Why an outcome is what it is; the words of a decision record."""

    GATE_FAILED = "gate_failed"
    EVIDENCE_MISSING = "evidence_missing"
    EVIDENCE_STALE = "evidence_stale"
    EVIDENCE_CONFLICT = "evidence_conflict"
    WHEN_UNKNOWN = "when_unknown"
    PATIENCE = "patience"
    CONFLICT = "conflict"
    RIVAL_UNDECIDED = "rival_undecided"
    FLOOR = "floor"
    FAULT = "fault"
    ALL_PASSED = "all_passed"
    NOT_CONCERNED = "not_concerned"
