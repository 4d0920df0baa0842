"""How is a decision record written?

As canonical JSON at once, from parts that are the same for every case of a policy and parts that a case brings: a
record is long, most of it never changes, and a service writes many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

from oncemore.engine.canonical import canonical, digest, quoted, text
from oncemore.engine.competition import Verdict
from oncemore.engine.fired import Fired
from oncemore.rules.case import Status
from oncemore.rules.durations import format_ms, parse
from oncemore.rules.expression import And, Compare, Duration, Expression, Leaf, Literal, Member, Not, Or
from oncemore.rules.leaf_rules import FactType
from oncemore.rules.outcome import Outcome, ReasonKind
from oncemore.rules.ruleset import Plan

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_DURATION = re.compile(r"""duration\(\s*["']([0-9hms]+)["']""")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SPELLED = 8_192
"""Readings of facts whose texts are kept, about 300 bytes each: most values are few."""

FORMS: Final = 512
"""Policies with certain results whose records are kept without what a case brings, 4 to 20 kilobytes each."""


class StoredCase:
    """The case as it was kept, and how people write what it says.

    Args:
        case: the part of a stored pass.
        types: the vocabulary of that day.

    Attributes:
        readings: by fact, the members of an operand that the case brings, as JSON; once it is spelled.
        known: by fact, the value as people write it, as JSON; `null` unless it was known; once it is spelled.
        certain: the facts that were known.
    """

    def __init__(self, case: Mapping[str, Any], types: Mapping[str, FactType]) -> None:
        self.now: int = case["now"]
        self.facts: Mapping[str, Mapping[str, Any]] = case["facts"]
        self.types = types
        self.readings: dict[str, bytes] = {}
        self.known: dict[str, bytes] = {}
        self.certain = {fact for fact, kept in self.facts.items() if kept["status"] == "known"}
        self._moments: dict[int | None, tuple[str, str]] = {}

    def status(self, fact: str) -> Status:
        """Whether it was known, and if not, why."""
        status: Status = self.facts[fact]["status"] if fact in self.facts else "missing"
        return status

    def spell(self, facts: frozenset[str]) -> None:
        """Write down what the case says of these, where that has not been done."""
        for fact in facts - self.readings.keys():
            kept = self.facts.get(fact, _NOTHING)
            observed = kept.get("observed_at")
            age, at = self._moments.get(observed) or self._moment(observed)
            span = self.types[fact].type == "duration"
            before, after, known = _spelled(fact, kept["status"], kept.get("value"), kept.get("source"), span)
            details = f'"details":{text(kept["details"])},' if "details" in kept else ""
            self.readings[fact] = f'{{"age":{age},{details}{before}{at}{after}'.encode()
            self.known[fact] = known

    def _moment(self, observed: int | None) -> tuple[str, str]:
        """How long before the case it was, and when; many facts have the same."""
        found = ("null", "null")
        if observed is not None:
            found = (f'"{format_ms(max(self.now - observed, 0))}"', f'"{instant(observed)}"')
        self._moments[observed] = found
        return found


_NOTHING: Mapping[str, Any] = {"status": "missing"}


@lru_cache(maxsize=SPELLED, typed=True)
def _spelled(
    fact: str, status: str, value: bool | int | str | None, source: str | None, span: bool
) -> tuple[str, str, bytes]:
    """A reading before the time of its evidence and after it, and its value if that counts.

    What is none of the fact's type, or was not known, may have a value too: it is shown and does not count.
    """
    shown = text(format_ms(int(value)) if span and value is not None else value)
    before = f'"fact":{quoted(fact)},"observed_at":'
    after = f',"source":{text(source)},"status":"{status}","value":{shown},"wanted":'
    return before, after, shown.encode() if status == "known" else b"null"


@dataclass(frozen=True, slots=True)
class Frame:
    """What the records of a pass have in common, each as JSON."""

    at: bytes
    engine: bytes
    origin: bytes
    request: bytes
    stage: bytes


def frame(kept: Mapping[str, Any]) -> Frame:
    """The frame of a stored pass."""
    return Frame(
        instant(kept["case"]["now"]).encode(),
        _engine(*kept["engine"].items()),
        canonical(kept["origin"]),
        canonical(kept["request"]),
        canonical(kept["stage"]),
    )


@lru_cache(maxsize=16)
def _engine(*named: tuple[str, str]) -> bytes:
    return canonical(dict(named))


def write(frame: Frame, case: StoredCase, verdict: Verdict, decision_id: str) -> bytes:
    """One decision's record.

    Args:
        verdict: what became of the policy in the pass.
        decision_id: as `sha256:…`.
    """
    fired = verdict.fired
    form = _form(
        fired.plan,
        fired.results,
        fired.fault,
        verdict.outcome,
        verdict.kind,
        verdict.gate,
        verdict.rivals,
        verdict.level,
    )
    parts = form.parts
    case.spell(parts.spelled)
    facts = parts.facts % parts.known(case.known)
    lacking = _NONE if case.certain >= parts.looked_at else _lacking(case, parts.in_order)
    missing, stale, conflict = lacking
    return form.record % (
        frame.at,
        conflict,
        decision_id.encode(),
        frame.engine,
        facts,
        digest(facts).encode(),
        *parts.gates(case.readings),
        missing,
        frame.origin,
        frame.request,
        frame.stage,
        stale,
        b"null" if verdict.until is None else f'"{instant(verdict.until)}"'.encode(),
        *parts.when(case.readings),
    )


_NONE: Final = (b"[]", b"[]", b"[]")


def _lacking(case: StoredCase, facts: tuple[str, ...]) -> tuple[bytes, bytes, bytes]:
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
    return canonical(lists[0]), canonical(lists[1]), canonical(lists[2])


# What does not change -------------------------------------------------------------------------------------------------
# Texts with a gap, `%s`, wherever a case brings something.

_Pick: TypeAlias = Callable[[Mapping[str, bytes]], tuple[bytes, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """What all records of a policy have in common.

    Attributes:
        conditions: `when` and every gate, each before its result and after it.
        when, gates: pick what fills the gaps of those.
        facts, known: the facts, with a gap for each value, and what picks these.
        spelled: all of them.
        looked_at, in_order: by gates.
    """

    conditions: tuple[tuple[str, str], ...]
    when: _Pick
    gates: _Pick
    facts: bytes
    known: _Pick
    spelled: frozenset[str]
    looked_at: frozenset[str]
    in_order: tuple[str, ...]
    policy: str
    firing: tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """A record of a policy with certain results, and what fills its gaps."""

    record: bytes
    parts: _Parts


@lru_cache(maxsize=FORMS)
def _form(
    plan: Plan,
    results: bytes,
    fault: str | None,
    outcome: Outcome,
    kind: ReasonKind,
    gate: str | None,
    rivals: tuple[str, ...],
    level: str | None,
) -> _Form:
    parts = _parts(plan)
    fired = Fired(plan, results, (), None, fault)
    when, *gates = [
        f'{before}"{truth.value}"{after}'
        for (before, after), truth in zip(parts.conditions, (fired.when, *fired.gates), strict=True)
    ]
    action, attempt, parameters = parts.firing if outcome is Outcome.FIRE else ("null", "null", "{}")
    reason = _gapless(_reason(kind, gate, rivals, fault))
    record = (
        f'{{"action":{action},"at":"%s","attempt":{attempt},"conflict":%s,"decision_id":"%s","engine":%s,"facts":%s,'
        f'"facts_digest":"%s","gates":[{",".join(gates)}],"level":{text(level)},"missing":%s,"origin":%s,'
        f'"outcome":"{outcome.value}","parameters":{parameters},"policy":{parts.policy},"reason":{reason},'
        f'"request":%s,"stage":%s,"stale":%s,"until":%s,"when":{when}}}'
    )
    return _Form(record.encode(), parts)


def _reason(kind: ReasonKind, gate: str | None, rivals: tuple[str, ...], fault: str | None) -> str:
    reason: dict[str, Any] = {"kind": kind.value, "gate": gate}
    if rivals:
        reason["rivals"] = list(rivals)
    if fault is not None:
        reason["fault"] = fault
    return text(reason)


@lru_cache(maxsize=256)
def _parts(plan: Plan) -> _Parts:
    policy = plan.policy
    when = _condition(policy.when, policy.when_text)
    gates = [(gate, _condition(gate.condition, gate.text)) for gate in plan.gates]
    conditions = [
        (
            _gapless(f'{{"at":{quoted(policy.when_at)},"expression":{quoted(policy.when_text)},"operands":[')
            + _operands(when)
            + '],"result":',
            "}",
        )
    ]
    for gate, operands in gates:
        before = (
            f'{{"at":{quoted(gate.at)},"expression":{quoted(gate.text)},"floor":{text(gate.floor)},'
            f'"id":{quoted(gate.id)},"operands":['
        )
        between = f'],"otherwise":"{gate.otherwise.value}","result":'
        after = f',"unknown":"{gate.unknown.value}","why":{text(dict(gate.why))}}}'
        conditions.append((_gapless(before) + _operands(operands) + between, _gapless(after)))
    in_order = tuple(dict.fromkeys(fact for _, operands in gates for fact, _ in operands))
    facts = sorted(plan.facts)
    return _Parts(
        conditions=tuple(conditions),
        when=_pick([fact for fact, _ in when]),
        gates=_pick([fact for _, operands in gates for fact, _ in operands]),
        facts=("{" + ",".join([_gapless(quoted(fact)) + ":%s" for fact in facts]) + "}").encode(),
        known=_pick(facts),
        spelled=frozenset(facts),
        looked_at=frozenset(in_order),
        in_order=in_order,
        policy=_gapless(text({"name": policy.name, "revision": policy.revision, "digest": policy.digest})),
        firing=(text(policy.action), text(policy.attempt), _gapless(text(dict(policy.parameters)))),
    )


def _operands(wants: tuple[tuple[str, str], ...]) -> str:
    return ",".join(["%s" + _gapless(wanted) for _, wanted in wants])


def _gapless(said: str) -> str:
    """A text as it is, between gaps."""
    return said.replace("%", "%%")


def _pick(facts: Sequence[str]) -> _Pick:
    """What gives the texts of these facts, in this order."""
    if len(facts) > 1:
        return itemgetter(*facts)
    return lambda texts: tuple([texts[fact] for fact in facts])


def _condition(condition: Expression, source: str) -> tuple[tuple[str, str], ...]:
    """Every comparison of a condition, durations as its author wrote them in `source`: its fact, and as JSON what is
    wanted of it, with the closing brace."""
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
