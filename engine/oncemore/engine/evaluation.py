"""Which rules fire on a case?

Each policy is asked in three stages, through the C module alone: no host, no threads, no actions. What fired is read
by rule name; every result is a rule that fired, and nothing is decided here. What the engine could do wrong is either
kept from it (own keys, typed and bounded values, one session per policy, thread and process, retraction after every
fact) or noticed: exactly one rule per comparison must have fired, with a name we know. A broken invariant is a fault:
the session is dropped as it is, the case is asked once more on a fresh one, and a second fault is the result.

What the engine said of one case it is not asked again for another of the same key: it could say nothing else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from oncemore.engine import native
from oncemore.engine.canonical import MAX_SAFE
from oncemore.engine.case_key import CaseKey, key_of, waited
from oncemore.engine.errors import EngineFault
from oncemore.rules.case import Case
from oncemore.rules.engine_text import NAME, UNKNOWN, Encoder, Ruleset
from oncemore.rules.expression import Leaf
from oncemore.rules.leaf_rules import FactType, encoder
from oncemore.rules.normal_form import key
from oncemore.rules.outcome import Outcome, Truth
from oncemore.rules.outcome_rules import Ending
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.ruleset import Plan, compile_policy

ENGINE_NAME = "durable-rules"

_SEEN = (
    (Truth.FAIL, Truth.PASS, Truth.UNKNOWN),
    (Truth.PASS, Truth.FAIL, Truth.UNKNOWN),
)
"""What a result is, by whether it is turned round and its code."""

_NO_RESULT = 3

KEPT = 1024
"""Answers that are kept for each policy, about a kilobyte each; when there are more, it begins anew."""


@dataclass(frozen=True, slots=True)
class Fired:
    """What the engine said of one policy on one case.

    Attributes:
        results: for every place of the plan, FAIL, PASS or UNKNOWN; empty after a fault.
        names: the rules that fired, in the order of the plan; of the last stage those that decided.
        ending: what the deciding rule says; None after a fault.
        fault: what went wrong on both tries; None when nothing did.
    """

    plan: Plan
    results: bytes
    names: tuple[str, ...]
    ending: Ending | None
    fault: str | None = None

    @property
    def outcome(self) -> Outcome:
        """The policy's outcome before it competes with others; hold after a fault."""
        return Outcome.HOLD if self.ending is None else self.ending.outcome

    @property
    def gate(self) -> Gate | None:
        """The gate that decided."""
        number = None if self.ending is None else self.ending.gate
        return None if number is None else self.plan.gates[number]

    @property
    def when(self) -> Truth:
        """Whether the policy concerns the case; unknown after a fault."""
        return self._truth(self.plan.when)

    @property
    def gates(self) -> tuple[Truth, ...]:
        """The result of every gate of the plan, the floor's last."""
        results = self.results
        if not results:
            return (Truth.UNKNOWN,) * len(self.plan.gate_places)
        return tuple([_SEEN[turn][results[at]] for at, turn in self.plan.gate_places])

    def leaf(self, leaf: Leaf) -> Truth:
        """The result of one comparison."""
        return self._truth(self.plan.places[key(leaf)])

    def _truth(self, place: tuple[int, bool]) -> Truth:
        at, turn = place
        return _SEEN[turn][self.results[at]] if self.results else Truth.UNKNOWN

    @property
    def decided_against(self) -> bool:
        """Whether the policy cannot fire on this case whatever unknown evidence says: `when` or a gate is false."""
        return self.when is Truth.FAIL or Truth.FAIL in self.gates


class Session:
    """The engine's handles for one plan. Belongs to the thread and process that made it.

    Raises:
        EngineFault: from any method; the session must not be used again, nor closed.
    """

    def __init__(self, plan: Plan, engine: ModuleType, keep: int = KEPT) -> None:
        self.plan = plan
        self._keep = keep
        self.pid = os.getpid()
        self._engine = engine
        self._error: type[Exception] = engine.error
        self._assert = engine.assert_fact
        self._retract = engine.retract_fact
        self._start = engine.start_action_for_state
        self._next = engine.complete_and_start_action
        self._leaves = [(self._open(f"l{i}", r), r.facts) for i, r in enumerate(plan.leaf_rulesets)]
        self._gates = [(self._open(f"g{i}", r), r.slots) for i, r in enumerate(plan.gate_rulesets)]
        self._outcome = [(self._open(f"o{i}", r), r.slots) for i, r in enumerate(plan.outcome_rulesets)]
        self._key_of = key_of(plan)
        self._kept: dict[CaseKey, Fired] = {}

    def _open(self, name: str, ruleset: Ruleset) -> int:
        try:
            handle: int = self._engine.create_ruleset(name, ruleset.text)
        except self._error as error:
            raise EngineFault(f"{self.plan.policy.name}: ruleset {name} is refused: {error}") from error
        if self._ask(handle, '{"sid":"s","id":"c","warm":1}') != ["warm"]:
            raise EngineFault(f"{self.plan.policy.name}: ruleset {name} does not answer")
        return handle

    def close(self) -> None:
        """Give the engine's memory back. Only for a session without a fault, by the thread that made it."""
        for handle, _ in (*self._leaves, *self._gates, *self._outcome):
            self._engine.delete_state(handle, "s")
            self._engine.delete_ruleset(handle)

    def _ask(self, handle: int, fact: str) -> list[str]:
        """Assert one fact, collect the names of all rules that fire, take the fact back."""
        names: list[str] = []
        try:
            code, offset = self._assert(handle, fact)
            if code == 0:
                started = self._start(handle, offset)
                message = started[1] if started else None
                following = self._next
                while message is not None:
                    names.append(message[NAME])
                    message = following(handle, offset)
            elif code != 1:  # 1: nothing fired
                raise EngineFault(f"{self.plan.policy.name}: a fact is answered with code {code}")
            self._retract(handle, '{"sid":"s","id":"c"}')
        except (self._error, MemoryError) as error:
            raise EngineFault(f"{self.plan.policy.name}: {error}") from error
        return names

    def run(self, case: Case) -> Fired:
        """What the engine says of the case, asked unless it has said so of another one of its key."""
        if not self._keep:
            return self._asked(case)
        known_as = self._key_of(case)
        found = self._kept.get(known_as)
        if found is None:
            found = self._asked(case)
            if len(self._kept) >= self._keep:
                self._kept.clear()
            self._kept[known_as] = found
        return found

    def _asked(self, case: Case) -> Fired:
        """Ask all three stages."""
        plan, ask = self.plan, self._ask
        readings, lookup = plan.readings, case.readings.get
        results = bytearray(b"\x03" * plan.n_leaves + b"\x02" * (plan.n_places - plan.n_leaves))
        names: list[str] = []
        for handle, facts in self._leaves:
            parts = ['{"sid":"s","id":"c","k":1']
            for fact, encode in facts:
                reading = lookup(fact)
                if reading is not None and reading.status == "known":
                    parts.append(encode(reading.value))
            parts.append("}")
            names += ask(handle, "".join(parts))
        try:
            for name in names:
                place, code = readings[name]
                results[place] = code
            if len(names) != plan.n_leaves or _NO_RESULT in results:
                raise EngineFault(f"{plan.policy.name}: a comparison has no result, or two")
            for handle, slots in self._gates:
                parts = [texts[results[place]] for place, texts in slots]
                fired = ask(handle, '{"sid":"s","id":"c"' + "".join(parts) + "}")
                for name in fired:
                    place, code = readings[name]
                    if results[place] != code and results[place] != UNKNOWN:
                        raise EngineFault(f"{plan.policy.name}: a condition has two results")
                    results[place] = code
                names += fired
            start = f'{{"sid":"s","id":"c","w":{waited(case)}'
            ending = None
            for handle, slots in self._outcome:
                carried = "" if ending is None else f',"e":{ending.carry}'
                parts = [texts[results[place]] for place, texts in slots]
                first = ask(handle, start + carried + "".join(parts) + "}")[0]
                names.append(first)
                if first != "keep":
                    ending = plan.endings[first]
        except (KeyError, IndexError) as error:
            raise EngineFault(f"{plan.policy.name}: what fired is not what was asked: {error}") from error
        return Fired(plan, bytes(results), tuple(names), ending)


def _written(fact: FactType) -> Encoder:
    """As the engine gets it, but an integer that JSON cannot hold exactly is written as text."""
    plain = encoder("value", fact)
    if fact.type not in ("int", "duration"):
        return plain

    def exact(value: object) -> str:
        written = plain(value)
        return f',"value":"{value}"' if written and abs(int(str(value))) > MAX_SAFE else written

    return exact


def _version(engine: ModuleType) -> str:
    """The installed version, from the name of its metadata beside the module: reading metadata takes 15 ms."""
    beside = Path(engine.__file__ or "").parent.glob("durable_rules-*.dist-info")
    found = [folder.name.removesuffix(".dist-info").split("-")[1] for folder in beside]
    if len(found) == 1:
        return found[0]
    from importlib.metadata import version

    return version("durable-rules")


def read(plan: Plan, names: Sequence[str]) -> Fired:
    """What the engine said, from the names of the rules that fired; the inverse of `Fired.names`.

    Raises:
        EngineFault: the names are not those of this plan.
    """
    return _read(plan, tuple(names))


@lru_cache(maxsize=4096)
def _read(plan: Plan, names: tuple[str, ...]) -> Fired:
    results = bytearray(b"\x03" * plan.n_leaves + b"\x02" * (plan.n_places - plan.n_leaves))
    ending = None
    for name in names:
        if name in plan.readings:
            place, code = plan.readings[name]
            results[place] = code
        elif name in plan.endings:
            ending = plan.endings[name]
        elif name != "keep":
            raise EngineFault(f"{plan.policy.name} has no rule {name}")
    if ending is None or _NO_RESULT in results:
        raise EngineFault(f"{plan.policy.name}: the stored firings are not complete")
    return Fired(plan, bytes(results), names, ending)


class Evaluator:
    """A set of policies, ready to be asked from any thread and, after a fork, from any process.

    Args:
        floor: by action, the gates that stand under each policy of it; None for Oncemore's own.
        facts: the vocabulary; None for Oncemore's own.
        keep: how many answers to keep for each policy, so that the engine need not be asked again; 0 for none.

    Attributes:
        plans: by policy name, sorted.
        by_digest: the same by policy digest.
        written: by fact, how a value stands in the record; "" for what is no value of the fact's type.
        faults: evaluations that failed twice and were answered with a fault, since this process made the evaluator.
        floor_digest, vocabulary_digest: what the policies were compiled with, for the record.

    Raises:
        EngineUnavailable: durable-rules cannot be loaded.
        NotCompilable: a policy is beyond what the engine takes.
    """

    def __init__(
        self,
        policies: Iterable[Policy],
        floor: Callable[[str], Sequence[Gate]] | None = None,
        *,
        facts: Mapping[str, FactType] | None = None,
        floor_digest: str | None = None,
        vocabulary_digest: str | None = None,
        keep: int = KEPT,
    ) -> None:
        if floor is None:
            from oncemore.rules.floor import FLOOR_DIGEST, floor_gates

            floor, floor_digest = floor_gates, FLOOR_DIGEST
        if facts is None:
            from oncemore.rules.vocabulary import DIGEST, FACTS

            facts, vocabulary_digest = FACTS, DIGEST
        self._engine = native.load()
        self._keep = keep
        self.facts = facts
        self.floor_digest = floor_digest
        self.vocabulary_digest = vocabulary_digest
        self.engine_version = _version(self._engine)
        ordered = sorted(policies, key=lambda policy: policy.name)
        self.plans: Mapping[str, Plan] = {
            policy.name: compile_policy(policy, floor(policy.action), facts) for policy in ordered
        }
        self.by_digest: Mapping[str, Plan] = {plan.policy.digest: plan for plan in self.plans.values()}
        self.written: Mapping[str, Encoder] = {name: _written(fact) for name, fact in facts.items()}
        self.faults = 0
        self._local = threading.local()
        self._use = _Use()

    def __del__(self) -> None:
        """Nobody asks it any more: every thread that did gives its sessions back when it asks another one."""
        use = getattr(self, "_use", None)
        if use is not None:
            use.over()

    def evaluate(self, case: Case) -> dict[str, Fired]:
        """Every policy's answer, by name."""
        return {name: self.ask(name, case) for name in self.plans}

    def ask(self, policy: str, case: Case) -> Fired:
        """One policy's answer; never an outcome after a fault.

        Raises:
            KeyError: there is no such policy.
        """
        sessions = self._sessions()
        plan = self.plans[policy]
        try:
            session = sessions.get(policy)
            if session is None:
                session = sessions[policy] = Session(plan, self._engine, self._keep)
            return session.run(case)
        except EngineFault:
            # The old session is dropped as it is: after a fault, deleting its state can crash.
            sessions.pop(policy, None)
        try:
            session = Session(plan, self._engine, self._keep)
            fired = session.run(case)
        except EngineFault as error:
            self.faults += 1
            return Fired(plan, b"", (), None, str(error))
        sessions[policy] = session
        return fired

    def close(self) -> None:
        """Give back the memory of this thread's sessions; asking again opens new ones."""
        sessions = self._sessions()
        while sessions:
            sessions.popitem()[1].close()

    def _sessions(self) -> dict[str, Session]:
        """This thread's sessions. Those inherited over a fork belong to the parent."""
        local: Any = self._local
        pid = os.getpid()
        if getattr(local, "pid", None) != pid:
            local.pid = pid
            local.sessions = {}
            _opened.keep(self._use, local.sessions)
        _opened.give_back()
        sessions: dict[str, Session] = local.sessions
        return sessions


class _Use:
    """Whether an evaluator is still in use.

    Attributes:
        ended: how many evaluators of this process are no longer.
    """

    ended = 0

    def __init__(self) -> None:
        self.on = True

    def over(self) -> None:
        """It was dropped, by whichever thread."""
        self.on = False
        _Use.ended += 1


class _Opened(threading.local):
    """The sessions that this thread has opened, of every evaluator: only it may close them."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.seen = 0
        self.kept: list[tuple[_Use, dict[str, Session]]] = []

    def keep(self, use: _Use, sessions: dict[str, Session]) -> None:
        """An evaluator is asked by this thread for the first time."""
        if self.pid != os.getpid():
            # What was opened before a fork is the parent's.
            self.pid, self.kept = os.getpid(), []
        self.kept.append((use, sessions))

    def give_back(self) -> None:
        """Close the sessions of evaluators that are no longer in use, where some have gone since the last time."""
        if self.seen == _Use.ended or self.pid != os.getpid():
            return
        self.seen = _Use.ended
        over = [sessions for use, sessions in self.kept if not use.on]
        self.kept = [one for one in self.kept if one[0].on]
        for sessions in over:
            while sessions:
                sessions.popitem()[1].close()


_opened = _Opened()
