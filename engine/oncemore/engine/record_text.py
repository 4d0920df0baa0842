"""How is a decision record written?

As canonical JSON at once, from parts that are the same for every case of a policy and parts that a case brings: a
record is long, most of it never changes, and a service writes many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from oncemore.engine.canonical import digest, quoted, text
from oncemore.engine.competition import Verdict
from oncemore.rules.case import Status
from oncemore.rules.durations import format_ms, parse
from oncemore.rules.expression import And, Compare, Duration, Expression, Leaf, Literal, Member, Not, Or
from oncemore.rules.leaf_rules import FactType
from oncemore.rules.outcome import Outcome
from oncemore.rules.ruleset import Plan

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_DURATION = re.compile(r"""duration\(\s*["']([0-9hms]+)["']""")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SPELLED = 8_192
"""Readings of facts whose texts are kept, about 300 bytes each: most values are few."""


class StoredCase:
    """The case as it was kept, and how people write what it says.

    Args:
        case: the part of a stored pass.
        types: the vocabulary of that day.
    """

    def __init__(self, case: Mapping[str, Any], types: Mapping[str, FactType]) -> None:
        self.now: int = case["now"]
        self.facts: Mapping[str, Mapping[str, Any]] = case["facts"]
        self.types = types
        self._known: dict[str, str] = {}
        self._readings: dict[str, str] = {}
        self._moments: dict[int | None, tuple[str, str]] = {}

    def status(self, fact: str) -> Status:
        """Whether it was known, and if not, why."""
        status: Status = self.facts[fact]["status"] if fact in self.facts else "missing"
        return status

    def known(self, fact: str) -> str:
        """The value as people write it, as JSON; `null` unless it was known."""
        found = self._known.get(fact)
        return self._read(fact)[1] if found is None else found

    def reading(self, fact: str) -> str:
        """The members of an operand that the case brings, as JSON."""
        found = self._readings.get(fact)
        return self._read(fact)[0] if found is None else found

    def _read(self, fact: str) -> tuple[str, str]:
        kept = self.facts.get(fact, _NOTHING)
        age, at = self._moment(kept.get("observed_at"))
        span = self.types[fact].type == "duration"
        before, after, known = _spelled(fact, kept["status"], kept.get("value"), kept.get("source"), span)
        details = f'"details":{text(kept["details"])},' if "details" in kept else ""
        reading = self._readings[fact] = f'{{"age":{age},{details}{before}{at}{after}'
        self._known[fact] = known
        return reading, known

    def _moment(self, observed: int | None) -> tuple[str, str]:
        """How long before the case it was, and when; many facts have the same."""
        found = self._moments.get(observed)
        if found is None:
            found = ("null", "null")
            if observed is not None:
                found = (f'"{format_ms(max(self.now - observed, 0))}"', f'"{instant(observed)}"')
            self._moments[observed] = found
        return found


_NOTHING: Mapping[str, Any] = {"status": "missing"}


@lru_cache(maxsize=SPELLED, typed=True)
def _spelled(
    fact: str, status: str, value: bool | int | str | None, source: str | None, span: bool
) -> tuple[str, str, str]:
    """A reading before the time of its evidence and after it, and its value if that counts.

    What is none of the fact's type, or was not known, may have a value too: it is shown and does not count.
    """
    shown = text(format_ms(int(value)) if span and value is not None else value)
    before = f'"fact":{quoted(fact)},"observed_at":'
    after = f',"source":{text(source)},"status":"{status}","value":{shown},"wanted":'
    return before, after, shown if status == "known" else "null"


@dataclass(frozen=True, slots=True, eq=False)
class _Condition:
    """A condition's part of records; `operands` are fact, and as JSON what is wanted of it with the closing brace."""

    before: str
    operands: tuple[tuple[str, str], ...]
    between: str
    after: str

    def written(self, case: StoredCase, result: str) -> str:
        operands = ",".join([case.reading(fact) + wanted for fact, wanted in self.operands])
        return f'{self.before}{operands}{self.between}"{result}"{self.after}'


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """What all records of a policy have in common."""

    when: _Condition
    gates: tuple[_Condition, ...]
    looked_at: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    policy: str
    firing: tuple[str, str, str]


def write(kept: Mapping[str, Any], case: StoredCase, verdict: Verdict, decision_id: str) -> str:
    """One decision's record.

    Args:
        kept: the stored pass.
        verdict: what became of the policy in it.
        decision_id: as `sha256:…`.
    """
    fired = verdict.fired
    form = _form(fired.plan)
    gates = ",".join([gate.written(case, truth.value) for gate, truth in zip(form.gates, fired.gates, strict=True)])
    action, attempt, parameters = form.firing if verdict.outcome is Outcome.FIRE else ("null", "null", "{}")
    facts = "{" + ",".join([name + case.known(fact) for fact, name in form.facts]) + "}"
    until = "null" if verdict.until is None else f'"{instant(verdict.until)}"'
    missing, stale, conflict = _lacking(case, form.looked_at)
    return (
        f'{{"action":{action},"at":"{instant(case.now)}","attempt":{attempt},"conflict":{conflict},'
        f'"decision_id":"{decision_id}","engine":{text(kept["engine"])},"facts":{facts},'
        f'"facts_digest":"{digest(facts.encode())}","gates":[{gates}],"level":{text(verdict.level)},'
        f'"missing":{missing},"origin":{text(kept["origin"])},"outcome":"{verdict.outcome.value}",'
        f'"parameters":{parameters},"policy":{form.policy},"reason":{_reason(verdict)},'
        f'"request":{text(kept["request"])},"stage":{text(kept["stage"])},"stale":{stale},"until":{until},'
        f'"when":{form.when.written(case, fired.when.value)}}}'
    )


def _reason(verdict: Verdict) -> str:
    reason: dict[str, Any] = {"kind": verdict.kind.value, "gate": verdict.gate}
    if verdict.rivals:
        reason["rivals"] = list(verdict.rivals)
    if verdict.fired.fault is not None:
        reason["fault"] = verdict.fired.fault
    return text(reason)


def _lacking(case: StoredCase, facts: tuple[str, ...]) -> tuple[str, str, str]:
    """The facts that gates looked at and that were missing, stale, in conflict; each as JSON."""
    lists: tuple[list[str], list[str], list[str]] = ([], [], [])
    for fact in facts:
        status = case.status(fact)
        if status == "stale":
            lists[1].append(fact)
        elif status == "conflict":
            lists[2].append(fact)
        elif status != "known":
            lists[0].append(fact)
    return text(lists[0]), text(lists[1]), text(lists[2])


# What does not change -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _form(plan: Plan) -> _Form:
    policy = plan.policy
    when = _condition(policy.when, policy.when_text)
    gates = [(gate, _condition(gate.condition, gate.text)) for gate in plan.gates]
    return _Form(
        when=_Condition(
            f'{{"at":{quoted(policy.when_at)},"expression":{quoted(policy.when_text)},"operands":[',
            when,
            '],"result":',
            "}",
        ),
        gates=tuple(
            _Condition(
                f'{{"at":{quoted(gate.at)},"expression":{quoted(gate.text)},"floor":{text(gate.floor)},'
                f'"id":{quoted(gate.id)},"operands":[',
                operands,
                f'],"otherwise":"{gate.otherwise.value}","result":',
                f',"unknown":"{gate.unknown.value}","why":{text(dict(gate.why))}}}',
            )
            for gate, operands in gates
        ),
        looked_at=tuple(dict.fromkeys(fact for _, operands in gates for fact, _ in operands)),
        facts=tuple((fact, f"{quoted(fact)}:") for fact in sorted(plan.facts)),
        policy=text({"name": policy.name, "revision": policy.revision, "digest": policy.digest}),
        firing=(text(policy.action), text(policy.attempt), text(dict(policy.parameters))),
    )


def _condition(condition: Expression, source: str) -> tuple[tuple[str, str], ...]:
    """Every comparison of a condition, durations as its author wrote them in `source`."""
    written = {parse(span): span for span in _DURATION.findall(source)}
    wants = [(leaf.fact, f"{quoted(_wanted(leaf, want, written))}}}") for leaf, want in _wants(condition, True)]
    return tuple(dict.fromkeys(wants))


def _wants(condition: Expression, want: bool) -> Iterator[tuple[Leaf, bool]]:
    """The comparisons, each with the value it has to have for the whole to be true."""
    if isinstance(condition, (Compare, Member)):
        yield condition, want
    elif isinstance(condition, Not):
        yield from _wants(condition.operand, not want)
    else:
        assert isinstance(condition, (And, Or))
        for operand in condition.operands:
            yield from _wants(operand, want)


def _wanted(leaf: Leaf, want: bool, written: Mapping[int, str]) -> str:
    def literal(value: Literal) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return written.get(value.ms) or format_ms(value.ms) if isinstance(value, Duration) else str(value)

    if isinstance(leaf, Member):
        return f"{'' if want else 'not '}in [{', '.join(map(literal, leaf.values))}]"
    if isinstance(leaf.value, bool):
        return f"== {literal(leaf.value is ((leaf.op == '==') is want))}"
    return f"{leaf.op if want else _NEGATED[leaf.op]} {literal(leaf.value)}"


@lru_cache(maxsize=1024)
def instant(ms: int) -> str:
    """A time as RFC 3339 in UTC with milliseconds; beyond the calendar, the bare milliseconds."""
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    except OverflowError:
        return f"{ms}ms"
