"""What does a stored pass say, policy by policy?

Decision records are rendered from the stored bytes and the policies' texts alone; nothing is evaluated. Rendering at
once or years later gives the same bytes, because it is the same function of the same input.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from oncemore.engine.canonical import canonical, digest
from oncemore.engine.competition import Verdict, settle
from oncemore.engine.errors import OncemoreError
from oncemore.engine.evaluation import Fired, read
from oncemore.rules.case import Status
from oncemore.rules.durations import format_ms, parse
from oncemore.rules.expression import And, Compare, Duration, Expression, Leaf, Literal, Member, Not, Or
from oncemore.rules.leaf_rules import FactType
from oncemore.rules.outcome import Outcome
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.ruleset import Plan

Record = dict[str, Any]

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_DURATION = re.compile(r"""duration\(\s*["']([0-9hms]+)["']""")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NotRenderable(OncemoreError):
    """A stored pass cannot be shown: a text that it was judged by is gone, or is another one."""

    code: ClassVar[str] = "E104"


def render(stored: bytes, texts_by_digest: Mapping[str, Mapping[str, str]]) -> list[Record]:
    """The decision records of a stored pass, sorted by policy.

    Args:
        texts_by_digest: the kept texts of each policy, by file name, by the policy's digest; and those of the floor
            and the vocabulary of that day, as `judged_by` gives them, where they are no longer today's.

    Raises:
        NotRenderable: a text is missing, is another one, or does not load.
    """
    from oncemore.rules.floor import FLOOR_FILE, floor_gates
    from oncemore.rules.loading import digest_of, policy_from_texts
    from oncemore.rules.ruleset import compile_policy
    from oncemore.rules.vocabulary import facts_from_text

    kept = json.loads(stored)
    there = {**judged_by(), **texts_by_digest}
    for name in ("floor", "vocabulary"):
        if kept[name] not in there:
            raise NotRenderable(f"the {name} that it was judged by, {kept[name]}, is not kept")
    floor, vocabulary = there[kept["floor"]][FLOOR_FILE], there[kept["vocabulary"]][VOCABULARY_FILE]
    if digest_of({FLOOR_FILE: floor}) != kept["floor"] or _sha256(vocabulary) != kept["vocabulary"]:
        raise NotRenderable("the floor or vocabulary kept beside it is another one")
    facts = facts_from_text(vocabulary)
    plans = {}
    for entry in kept["policies"].values():
        texts = texts_by_digest.get(entry["digest"])
        if texts is None:
            raise NotRenderable(f"the text of policy {entry['digest']} is not kept")
        policy = policy_from_texts(next(file for file in texts if "/groups/" not in file), texts)
        if policy.digest != entry["digest"]:
            raise NotRenderable(f"the text kept for policy {entry['digest']} is another one")
        plans[policy.digest] = compile_policy(policy, floor_gates(policy.action, floor), facts)
    return render_with(stored, plans, facts)


VOCABULARY_FILE = "vocabulary.json"


def judged_by() -> dict[str, dict[str, str]]:
    """Today's floor and vocabulary by their digests, to be kept beside the policies' texts."""
    from oncemore.rules.floor import FLOOR_DIGEST, FLOOR_FILE, FLOOR_TEXT
    from oncemore.rules.vocabulary import DIGEST, TEXT

    return {FLOOR_DIGEST: {FLOOR_FILE: FLOOR_TEXT}, DIGEST: {VOCABULARY_FILE: TEXT}}


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def render_with(stored: bytes, plans: Mapping[str, Plan], facts: Mapping[str, FactType]) -> list[Record]:
    """As `render`, with policies that are compiled already, by digest."""
    kept = json.loads(stored)
    case = StoredCase(kept["case"], facts)
    policies = kept["policies"]
    fired = {name: _fired(plans, entry) for name, entry in policies.items()}
    until = {name: entry["until"] for name, entry in policies.items()}
    standing = settle(fired, case.status, kept["levels"], until)
    identity = hashlib.sha256(b'{"pass":' + stored + b',"policy":"')
    records = []
    for name, verdict in standing.verdicts.items():
        own = identity.copy()
        own.update(name.encode() + b'"}')
        records.append({"decision_id": f"sha256:{own.hexdigest()}", **_record(kept, case, verdict)})
    return records


def _fired(plans: Mapping[str, Plan], entry: Mapping[str, Any]) -> Fired:
    plan = plans.get(entry["digest"])
    if plan is None:
        raise NotRenderable(f"policy {entry['digest']} is not at hand")
    if entry["fault"] is not None:
        return Fired(plan, b"", (), None, entry["fault"])
    return read(plan, entry["fired"])


class StoredCase:
    """The case as it was kept, and how people write what it says."""

    def __init__(self, case: Mapping[str, Any], types: Mapping[str, FactType]) -> None:
        self.now: int = case["now"]
        self.facts: Mapping[str, Mapping[str, Any]] = case["facts"]
        self.types = types

    def status(self, fact: str) -> Status:
        """Whether the fact is known, or why not."""
        status: Status = self.facts[fact]["status"] if fact in self.facts else "missing"
        return status

    def value(self, fact: str) -> bool | int | str | None:
        """As people write it; None when there is none, or none that counts and nothing to show instead."""
        value: bool | int | str | None = self.facts.get(fact, {}).get("value")
        return format_ms(int(value)) if value is not None and self.types[fact].type == "duration" else value

    def known(self, fact: str) -> bool | int | str | None:
        """The value, when it counts."""
        return self.value(fact) if self.status(fact) == "known" else None

    def reading(self, fact: str) -> Record:
        """What an operand says of a fact, beside what is wanted of it."""
        found = self.facts.get(fact, {})
        observed = found.get("observed_at")
        return {
            "fact": fact,
            "value": self.value(fact),
            "status": self.status(fact),
            "source": found.get("source"),
            "observed_at": None if observed is None else instant(observed),
            "age": None if observed is None else format_ms(max(self.now - observed, 0)),
            **({"details": found["details"]} if "details" in found else {}),
        }

    def operands(self, condition: Expression, text: str) -> list[Record]:
        """Every comparison of a condition, durations as its author wrote them in `text`."""
        return [self.reading(fact) | {"wanted": wanted} for fact, wanted in operands_wanted(condition, text)]


def operands_wanted(condition: Expression, text: str) -> list[tuple[str, str]]:
    """The facts that a condition compares, each with what is wanted of it, once; durations as they stand in `text`."""
    written = {parse(span): span for span in _DURATION.findall(text)}
    wanted = ((leaf.fact, _wanted(leaf, want, written)) for leaf, want in _wants(condition, True))
    return list(dict.fromkeys(wanted))


def _record(kept: Mapping[str, Any], case: StoredCase, verdict: Verdict) -> Record:
    fired, policy = verdict.fired, verdict.fired.plan.policy
    gates = [_gate(case, gate, truth.value) for gate, truth in zip(fired.plan.gates, fired.gates, strict=True)]
    fires = verdict.outcome is Outcome.FIRE
    facts = {fact: case.known(fact) for fact in fired.plan.facts}
    reason: Record = {"kind": verdict.kind.value, "gate": verdict.gate}
    if verdict.rivals:
        reason["rivals"] = list(verdict.rivals)
    if fired.fault is not None:
        reason["fault"] = fired.fault
    return {
        "at": instant(case.now),
        "stage": kept["stage"],
        "origin": kept["origin"],
        "request": kept["request"],
        "policy": {"name": policy.name, "revision": policy.revision, "digest": policy.digest},
        "level": verdict.level,
        "outcome": verdict.outcome.value,
        "reason": reason,
        "when": _when(case, policy, fired),
        "gates": gates,
        "until": None if verdict.until is None else instant(verdict.until),
        "missing": _with_status(gates, "missing", "reported", "clock"),
        "stale": _with_status(gates, "stale"),
        "conflict": _with_status(gates, "conflict"),
        "action": policy.action if fires else None,
        "attempt": policy.attempt if fires else None,
        "parameters": dict(policy.parameters) if fires else {},
        "facts_digest": digest(canonical(facts)),
        "facts": facts,
        "engine": kept["engine"],
    }


def _when(case: StoredCase, policy: Policy, fired: Fired) -> Record:
    return {
        "result": fired.when.value,
        "expression": policy.when_text,
        "at": policy.when_at,
        "operands": case.operands(policy.when, policy.when_text),
    }


def _gate(case: StoredCase, gate: Gate, result: str) -> Record:
    return {
        "id": gate.id,
        "floor": gate.floor,
        "result": result,
        "otherwise": gate.otherwise.value,
        "unknown": gate.unknown.value,
        "expression": gate.text,
        "at": gate.at,
        "operands": case.operands(gate.condition, gate.text),
        "why": dict(gate.why),
    }


def _with_status(gates: list[Record], *statuses: str) -> list[str]:
    found = (o["fact"] for gate in gates for o in gate["operands"] if o["status"] in statuses)
    return list(dict.fromkeys(found))


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


def instant(ms: int) -> str:
    """A time as RFC 3339 in UTC with milliseconds; beyond the calendar, the bare milliseconds."""
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    except OverflowError:
        return f"{ms}ms"
