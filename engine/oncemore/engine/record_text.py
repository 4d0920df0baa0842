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
from oncemore.engine.evaluation import Fired
from oncemore.engine.records import StoredCase, instant, operands_wanted
from oncemore.rules.durations import format_ms
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
        self._stored = StoredCase(kept["case"], facts)
        self.at = quoted(instant(self._stored.now))
        self.engine = text(kept["engine"])
        self.origin, self.stage = quoted(kept["origin"]), quoted(kept["stage"])
        self.request = text(kept["request"])
        self.statuses: dict[str, str] = {fact: one["status"] for fact, one in self._stored.facts.items()}
        self._readings: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._moments: dict[int, tuple[str, str]] = {}

    def reading(self, fact: str) -> str:
        """An operand up to what is wanted of it."""
        found = self._readings.get(fact)
        if found is None:
            found = self._readings[fact] = self._read(fact)
        return found

    def known(self, fact: str) -> str:
        """A fact with its value, or null, as a member of an object."""
        found = self._known.get(fact)
        if found is None:
            value = text(self._stored.value(fact)) if self.statuses.get(fact) == "known" else "null"
            found = self._known[fact] = f'"{fact}":{value}'
        return found

    def _read(self, fact: str) -> str:
        said = self._stored.facts.get(fact)
        if said is None:
            nothing = '"observed_at":null,"source":null,"status":"missing","value":null'
            return f'{{"age":null,"fact":"{fact}",{nothing},"wanted":'
        observed = said.get("observed_at")
        age, at = ("null", "null") if observed is None else self._moment(observed)
        details = f'"details":{text(said["details"])},' if "details" in said else ""
        return (
            f'{{"age":{age},{details}"fact":"{fact}","observed_at":{at},"source":{text(said.get("source"))},'
            f'"status":"{said["status"]}","value":{text(self._stored.value(fact))},"wanted":'
        )

    def _moment(self, observed: int) -> tuple[str, str]:
        """How long ago it was, and when."""
        found = self._moments.get(observed)
        if found is None:
            age = format_ms(max(self._stored.now - observed, 0))
            found = self._moments[observed] = f'"{age}"', quoted(instant(observed))
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
    for (before, operands, between, after), result in zip(same.gates, _results(fired), strict=True):
        middle = ",".join([reading(fact) + wanted for fact, wanted in operands])
        gates.append(f"{before}{middle}{between}{result}{after}")
    when = ",".join([reading(fact) + wanted for fact, wanted in same.when_operands])
    facts = "{" + ",".join([case.known(fact) for fact in same.facts]) + "}"
    fires = verdict.outcome is Outcome.FIRE
    lacking = _lacking(case, same)
    reason: dict[str, Any] = {"kind": verdict.kind.value, "gate": verdict.gate}
    if verdict.rivals:
        reason["rivals"] = list(verdict.rivals)
    if fired.fault is not None:
        reason["fault"] = fired.fault
    return (
        f'{{"action":{same.action if fires else "null"},"at":{case.at},'
        f'"attempt":{same.attempt if fires else "null"},"conflict":{text(lacking["conflict"])},'
        f'"decision_id":"sha256:{identity}","engine":{case.engine},"facts":{facts},'
        f'"facts_digest":"sha256:{hashlib.sha256(facts.encode()).hexdigest()}","gates":[{",".join(gates)}],'
        f'"level":{text(verdict.level)},"missing":{text(lacking["missing"])},'
        f'"origin":{case.origin},"outcome":"{verdict.outcome.value}",'
        f'"parameters":{same.parameters if fires else "{}"},"policy":{same.policy},"reason":{text(reason)},'
        f'"request":{case.request},"stage":{case.stage},"stale":{text(lacking["stale"])},'
        f'"until":{text(None if verdict.until is None else instant(verdict.until))},'
        f'"when":{same.when}{when}],"result":"{fired.when.value}"}}}}'
    )


def _results(fired: Fired) -> list[str]:
    """The result of each gate, in the order of the plan."""
    results, places = fired.results, fired.plan.gate_places
    return [_SAID[turn][results[at]] for at, turn in places] if results else ["unknown"] * len(places)


_SAID = (("fail", "pass", "unknown"), ("pass", "fail", "unknown"))
"""What a result is called, by whether it is turned round and its code."""

_LACKING = {"missing": "missing", "reported": "missing", "clock": "missing", "stale": "stale", "conflict": "conflict"}
"""In which list of a record a fact stands that is not known."""


def _lacking(case: _Case, same: _Unchanging) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"missing": [], "stale": [], "conflict": []}
    for fact in same.named:
        status = case.statuses.get(fact, "missing")
        if status != "known":
            found[_LACKING[status]].append(fact)
    return found
