"""Which rules fire on a case?

Each policy is asked on a session of its own; what fired is the result, and nothing is decided here. What the engine
could do wrong is either kept from it (own keys, typed and bounded values, one session per policy, thread and process,
retraction after every fact) or noticed. A broken invariant is a fault: the session is dropped as it is, the case is
asked once more on a fresh one, and a second fault is the result.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from oncemore.engine import native
from oncemore.engine.canonical import MAX_SAFE
from oncemore.engine.engine_session import KEPT, Session
from oncemore.engine.errors import EngineFault
from oncemore.engine.fired import Fired
from oncemore.engine.opened_sessions import Use, opened
from oncemore.rules.case import Case
from oncemore.rules.engine_text import Encoder
from oncemore.rules.leaf_rules import FactType, encoder
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.ruleset import Plan, compile_policy

ENGINE_NAME = "durable-rules"


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
        self._use = Use()

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
            opened.keep(self._use, local.sessions)
        opened.give_back()
        sessions: dict[str, Session] = local.sessions
        return sessions
