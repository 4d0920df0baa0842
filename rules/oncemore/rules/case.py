"""What is known about one case? Facts with their evidence, at one moment.

A case is a flat map of dotted fact names to readings. Whether a reading is known is judged once, against the
case's own `now`: evidence that is absent, older than its age limit or from the future is not a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Value: TypeAlias = bool | int | str
"""A fact's value. Durations are whole milliseconds as `int`; enum values are `str`."""

Status: TypeAlias = Literal["known", "missing", "stale", "conflict", "reported", "clock"]
"""Known, or why not: nothing supplied it; evidence older than its age limit; two readings disagree or the evidence
is from the future; the supplier itself said unknown; the clock cannot be trusted."""

FUTURE_TOLERANCE_MS = 5_000
"""Evidence up to this far ahead of `now` counts as now; beyond it the clocks disagree and the reading conflicts."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a value comes from.

    Attributes:
        source: who supplied it: `journal`, `codex`, `inbox`, `grants`, `posted`, `file`.
        observed_at: when it was read, milliseconds since the epoch.
        max_age: for how long it counts, milliseconds; None takes the vocabulary's default, which None there never ages.
        digest: SHA-256 of what was read, where the supplier has one.
        details: what explains the value further, shown and never gated on.
    """

    source: str
    observed_at: int
    max_age: int | None = None
    digest: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """One fact of a case: its value, or why there is none that counts.

    Attributes:
        value: set when `status` is known; kept for `stale` and `conflict` where it was given, to be shown only.
    """

    status: Status
    value: Value | None = None
    evidence: Evidence | None = None


MISSING = Reading("missing")


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that a decision may look at.

    Attributes:
        now: milliseconds since the epoch; time is a fact, nothing in evaluation reads a clock.
        waiting_since: since when the case waits, milliseconds since the epoch; None when it does not. Patience counts
            from it.
        readings: by fact name; a fact named nowhere is missing.
    """

    now: int
    readings: Mapping[str, Reading]
    waiting_since: int | None = None

    def reading(self, fact: str) -> Reading:
        """The reading of a fact; `MISSING` when nothing supplied it."""
        return self.readings.get(fact, MISSING)


def judge(now: int, value: Value | None, evidence: Evidence | None, max_age: int | None) -> Reading:
    """A reading as it counts at `now`.

    Args:
        max_age: the vocabulary's default age limit in milliseconds, used when the evidence names none.
    """
    if value is None or evidence is None:
        return Reading("missing", None, evidence)
    if evidence.observed_at > now + FUTURE_TOLERANCE_MS:
        return Reading("conflict", value, evidence)
    limit = max_age if evidence.max_age is None else evidence.max_age
    if limit is not None and now - evidence.observed_at > limit:
        return Reading("stale", value, evidence)
    return Reading("known", value, evidence)
