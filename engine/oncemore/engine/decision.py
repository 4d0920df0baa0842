"""What is decided on a case, and what has to be kept of it?

One pass asks every policy, lets them compete, and writes down once what everything else can be rendered from: the
case with its evidence, what it was judged by, and the names of the rules that fired.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, TypeAlias

from oncemore.engine.canonical import digest, quoted, text
from oncemore.engine.competition import OFF, SHADOW, Standing, Verdict, settle
from oncemore.engine.evaluation import ENGINE_NAME, Evaluator
from oncemore.engine.fired import Fired
from oncemore.rules.case import Case, Evidence, Status, Value
from oncemore.rules.engine_text import Encoder
from oncemore.rules.leaf_rules import HIGHEST
from oncemore.rules.outcome import Outcome, Truth
from oncemore.rules.ruleset import Plan

Stage: TypeAlias = Literal["admission", "dispatch", "in_turn", "asked"]
Origin: TypeAlias = Literal["read_back", "posted"]
Record: TypeAlias = dict[str, Any]


JUDGED: Final = 8_192
"""Values with their status whose texts are kept, about 300 bytes each: most values are few."""

_LAST = 253_402_300_799_999
"""The last millisecond of the calendar, of the year 9999."""


@dataclass(frozen=True)
class Pass:
    """All decisions of one moment.

    Attributes:
        stored: the canonical bytes of what is kept, once for all policies.
        kept: of these what records are written with, as it would be read from them.
        standing: outcomes, reasons and the winner, as the executor needs them.
        plans: the compiled policies by digest, to render with.
    """

    stored: bytes
    kept: Mapping[str, Any]
    standing: Standing
    plans: Mapping[str, Plan]
    facts: Mapping[str, Any]

    @property
    def outcome(self) -> Outcome:
        """The answer over all policies."""
        return self.standing.outcome

    @property
    def fired(self) -> str | None:
        """The policy that may act."""
        return self.standing.winner

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """By policy name, sorted."""
        return self.standing.verdicts

    @property
    def due(self) -> int | None:
        """The earliest time at which a waiting policy may have more to say, milliseconds since the epoch."""
        return self.standing.due

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `stored`."""
        return digest(self.stored)

    @cached_property
    def written(self) -> list[bytes]:
        """The decision records as canonical JSON, sorted by policy."""
        from oncemore.engine.records import settled

        return settled(self.stored, self.kept, self.verdicts, self.facts)

    @cached_property
    def records(self) -> list[Record]:
        """The decision records, sorted by policy."""
        found: list[Record] = json.loads(b"[" + b",".join(self.written) + b"]")
        return found

    def json(self, end: bytes = b"") -> bytes:
        """What `decide` prints: outcome, the policy that fired, the records; canonical, and then `end`."""
        last = f'],"fired":{text(self.fired)},"outcome":"{self.outcome.value}"}}'.encode()
        # Put together at once: many policies have much to say.
        return b"".join([b'{"decisions":[', *_separated(self.written), last, end])


def _separated(parts: Iterable[bytes]) -> list[bytes]:
    """The parts of an array."""
    return [piece for part in parts for piece in (b",", part)][1:]


def decide(
    evaluator: Evaluator,
    case: Case,
    *,
    stage: Stage = "asked",
    origin: Origin = "read_back",
    request: str | None = None,
    levels: Mapping[str, str] | None = None,
    only: str | None = None,
) -> Pass:
    """Judge a case by all policies.

    Args:
        levels: by policy name; `off` is not evaluated, only `enforce` competes, a policy without level is in shadow.
            None: levels play no part and all compete.
        only: ask this policy alone, without competition.

    Raises:
        KeyError: `only` names no policy.
        ValueError: a time or a text of the case cannot be written down.
    """
    names = [name for name in evaluator.plans if levels is None or levels.get(name, SHADOW) != OFF]
    if only is not None:
        evaluator.plans[only]
        names = [name for name in names if name == only]
    fired = {name: evaluator.ask(name, case) for name in names}
    until = {name: _until(evaluator, name, one, case) for name, one in fired.items() if one.outcome is Outcome.WAIT}
    written = evaluator.written

    def status(fact: str) -> Status:
        reading = case.reading(fact)
        return "missing" if reading.status == "known" and not written[fact](reading.value) else reading.status

    standing = settle(fired, status, levels, until)
    facts, facts_text = _facts(evaluator, case)
    kept = {
        "case": {"facts": facts, "now": case.now, "waiting_since": case.waiting_since},
        "engine": {"name": ENGINE_NAME, "version": evaluator.engine_version},
        "origin": origin,
        "request": request,
        "stage": stage,
    }
    stored = _stored(evaluator, case, facts_text, kept, levels, standing)
    return Pass(stored, kept, standing, evaluator.by_digest, evaluator.facts)


def _until(evaluator: Evaluator, name: str, fired: Fired, case: Case) -> int | None:
    """When every time-bound gate that fails now passes: the engine is asked again at each threshold ahead."""
    growing: dict[str, int] = {}
    failing = set()
    ahead = set()
    gates = fired.gates
    for number, fact, limits in fired.plan.timed:
        value = case.reading(fact).value if case.reading(fact).status == "known" else None
        if gates[number] is not Truth.FAIL or type(value) is not int:
            continue
        growing[fact] = value
        failing.add(number)
        for limit in limits:
            ahead |= {int(limit) - value, int(limit) + 1 - value}
    for step in sorted(step for step in ahead if step > 0):
        if case.now + step > _LAST or any(value + step > HIGHEST for value in growing.values()):
            break
        later = {fact: replace(case.reading(fact), value=value + step) for fact, value in growing.items()}
        again = evaluator.ask(name, replace(case, readings={**case.readings, **later}))
        gates = again.gates
        if again.ending is not None and all(gates[number] is Truth.PASS for number in failing):
            return case.now + step
    return None


# What is kept ---------------------------------------------------------------------------------------------------------
# Written by hand in canonical order: a pass is stored far more often than it is looked at.


def _stored(
    evaluator: Evaluator,
    case: Case,
    facts: str,
    kept: Mapping[str, Any],
    levels: Mapping[str, str] | None,
    standing: Standing,
) -> bytes:
    verdicts = standing.verdicts
    level = text(None if levels is None else {name: verdict.level for name, verdict in verdicts.items()})
    policies = ",".join([f'"{name}":{_policy(verdict)}' for name, verdict in verdicts.items()])
    return (
        f'{{"case":{{"facts":{facts},"now":{text(case.now)},"waiting_since":{text(case.waiting_since)}}},'
        f'"engine":{{"name":"{ENGINE_NAME}","version":{quoted(evaluator.engine_version)}}},"floor":{text(evaluator.floor_digest)},"levels":{level},'
        f'"origin":"{kept["origin"]}","policies":{{{policies}}},"request":{text(kept["request"])},'
        f'"stage":"{kept["stage"]}","vocabulary":{text(evaluator.vocabulary_digest)}}}'
    ).encode()


def _policy(verdict: Verdict) -> str:
    fired = verdict.fired
    names = '["' + '","'.join(fired.names) + '"]' if fired.names else "[]"
    return (
        f'{{"digest":{quoted(fired.plan.policy.digest)},"fault":{text(fired.fault)},'
        f'"fired":{names},"until":{text(verdict.until)}}}'
    )


def _facts(evaluator: Evaluator, case: Case) -> tuple[dict[str, dict[str, Any]], str]:
    """The facts as they are kept, and the canonical text of these."""
    written = evaluator.written
    facts: dict[str, dict[str, Any]] = {}
    texts = []
    source: Evidence | None = None
    evidence: dict[str, Any] = {}
    evidence_text = ""
    for name, reading in sorted(case.readings.items()):
        encode = written.get(name)
        if encode is None:
            continue
        if reading.evidence is not source:  # most facts of a case come from one place
            source = reading.evidence
            evidence, evidence_text = ({}, "") if source is None else _evidence(source)
        # Whatever else somebody takes for a value is one of no fact.
        value = reading.value if isinstance(reading.value, (int, str)) else None
        judged, judged_text = _judged(encode, reading.status, value)
        facts[name] = evidence | judged
        texts.append(f'"{name}":{{{evidence_text}{judged_text}}}')
    return facts, "{" + ",".join(texts) + "}"


@lru_cache(maxsize=JUDGED, typed=True)
def _judged(encode: Encoder, status: Status, value: Value | None) -> tuple[dict[str, Any], str]:
    """Status and value; a value that is none of its fact's type was never there."""
    written = encode(value)
    found = '"status":"missing"' if status == "known" and not written else f'"status":"{status}"{written}'
    return json.loads(f"{{{found}}}"), found


def _evidence(evidence: Evidence) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = {}
    if evidence.details:
        found["details"] = dict(evidence.details)
    if evidence.digest is not None:
        found["digest"] = evidence.digest
    if evidence.max_age is not None:
        found["max_age"] = evidence.max_age
    found |= {"observed_at": evidence.observed_at, "source": evidence.source}
    return found, text(found)[1:-1] + ","
