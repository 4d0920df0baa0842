"""What are the bytes of a pass's records, when they are wanted at once?

The same bytes as the canonical form of `records.render_with`, put together from what never changes of a policy and what
the case says of each fact. A record of every gate and operand is large, and making and sorting it as data takes ten
times as long as the evaluation itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from oncemore.engine.canonical import quoted, text
from oncemore.engine.competition import Verdict
from oncemore.engine.records import StoredCase, instant, operands_wanted
from oncemore.rules.leaf_rules import FactType
from oncemore.rules.outcome import Outcome
from oncemore.rules.ruleset import Plan

KEPT = 256
"""Compiled policies whose unchanging parts are kept."""


def written(stored: bytes, verdicts: Mapping[str, Verdict], facts: Mapping[str, FactType]) -> str:
    """The canonical JSON array of the records of a pass that was just made.

    Args:
        stored: what is kept of it.
        verdicts: what was settled on it, by policy name, sorted.
        facts: the types of the vocabulary.
    """
    kept = json.loads(stored)
    case = _Case(kept, facts)
    identity = hashlib.sha256(b'{"pass":' + stored + b',"policy":"')
    records = []
    for name, verdict in verdicts.items():
        own = identity.copy()
        own.update(name.encode() + b'"}')
        records.append(_record(case, verdict, own.hexdigest()))
    return f"[{','.join(records)}]"


class _Case:
    """What the case says, each piece of text made once."""

    def __init__(self, kept: Mapping[str, Any], facts: Mapping[str, FactType]) -> None:
        self.stored = StoredCase(kept["case"], facts)
        self.at = quoted(instant(self.stored.now))
        self.engine = text(kept["engine"])
        self.origin, self.stage = quoted(kept["origin"]), quoted(kept["stage"])
        self.request = text(kept["request"])
        self._readings: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def reading(self, fact: str) -> str:
        """An operand up to what is wanted of it."""
        found = self._readings.get(fact)
        if found is None:
            whole = self.stored.reading(fact)
            found = self._readings[fact] = f'{text(whole)[:-1]},"wanted":'
        return found

    def known(self, fact: str) -> str:
        """A fact with its value, or null, as a member of an object."""
        found = self._known.get(fact)
        if found is None:
            found = self._known[fact] = f"{quoted(fact)}:{text(self.stored.known(fact))}"
        return found


Operands = tuple[tuple[str, str], ...]
"""Facts, each with what is wanted of it as the end of an operand."""


class _Unchanging:
    """What every record of a compiled policy has in common."""

    def __init__(self, plan: Plan) -> None:
        policy = plan.policy
        self.gates: list[tuple[str, Operands, str, str]] = []
        for gate in plan.gates:
            before = (
                f'{{"at":{quoted(gate.at)},"expression":{quoted(gate.text)},"floor":{text(gate.floor)},'
                f'"id":{quoted(gate.id)},"operands":['
            )
            between = f'],"otherwise":{quoted(gate.otherwise.value)},"result":"'
            after = f'","unknown":{quoted(gate.unknown.value)},"why":{text(dict(gate.why))}}}'
            self.gates.append((before, _operands(gate.condition, gate.text), between, after))
        self.named = tuple(dict.fromkeys(fact for _, operands, _, _ in self.gates for fact, _ in operands))
        self.facts = sorted(plan.facts)
        self.action, self.attempt = quoted(policy.action), text(policy.attempt)
        self.parameters = text(dict(policy.parameters))
        self.policy = text({"name": policy.name, "revision": policy.revision, "digest": policy.digest})
        self.when = f'{{"at":{quoted(policy.when_at)},"expression":{quoted(policy.when_text)},"operands":['
        self.when_operands = _operands(policy.when, policy.when_text)


def _operands(condition: Any, written: str) -> Operands:
    return tuple((fact, f"{quoted(wanted)}}}") for fact, wanted in operands_wanted(condition, written))


@lru_cache(maxsize=KEPT)
def _by_identity(identity: _Identity) -> _Unchanging:
    return _Unchanging(identity.plan)


class _Identity:
    """A compiled policy as itself: to compare all of it would take longer than what is spared."""

    __slots__ = ("plan",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.plan is self.plan

    def __hash__(self) -> int:
        return id(self.plan)


def _record(case: _Case, verdict: Verdict, identity: str) -> str:
    fired = verdict.fired
    same = _by_identity(_Identity(fired.plan))
    reading = case.reading
    gates = []
    for (before, operands, between, after), truth in zip(same.gates, fired.gates, strict=True):
        middle = ",".join([reading(fact) + wanted for fact, wanted in operands])
        gates.append(f"{before}{middle}{between}{truth.value}{after}")
    when = ",".join([reading(fact) + wanted for fact, wanted in same.when_operands])
    facts = "{" + ",".join([case.known(fact) for fact in same.facts]) + "}"
    fires = verdict.outcome is Outcome.FIRE
    reason: dict[str, Any] = {"kind": verdict.kind.value, "gate": verdict.gate}
    if verdict.rivals:
        reason["rivals"] = list(verdict.rivals)
    if fired.fault is not None:
        reason["fault"] = fired.fault
    return (
        f'{{"action":{same.action if fires else "null"},"at":{case.at},'
        f'"attempt":{same.attempt if fires else "null"},"conflict":{_with_status(case, same, "conflict")},'
        f'"decision_id":"sha256:{identity}","engine":{case.engine},"facts":{facts},'
        f'"facts_digest":"sha256:{hashlib.sha256(facts.encode()).hexdigest()}","gates":[{",".join(gates)}],'
        f'"level":{text(verdict.level)},"missing":{_with_status(case, same, "missing", "reported", "clock")},'
        f'"origin":{case.origin},"outcome":"{verdict.outcome.value}",'
        f'"parameters":{same.parameters if fires else "{}"},"policy":{same.policy},"reason":{text(reason)},'
        f'"request":{case.request},"stage":{case.stage},"stale":{_with_status(case, same, "stale")},'
        f'"until":{text(None if verdict.until is None else instant(verdict.until))},'
        f'"when":{same.when}{when}],"result":"{fired.when.value}"}}}}'
    )


def _with_status(case: _Case, same: _Unchanging, *statuses: str) -> str:
    status = case.stored.status
    return text([fact for fact in same.named if status(fact) in statuses])
