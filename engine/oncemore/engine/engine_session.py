"""What is the engine asked of one policy on one case?

In three stages, through the C module alone: no host, no threads, no actions. What fired is read by rule name; exactly
one rule per comparison must have fired, with a name we know.

What the engine said of one case it is not asked again for another of the same key: it could say nothing else.
"""

from __future__ import annotations

import os
from types import ModuleType

from oncemore.engine.case_key import CaseKey, key_of, waited
from oncemore.engine.errors import EngineFault
from oncemore.engine.fired import NO_RESULT, Fired, no_results
from oncemore.rules.case import Case
from oncemore.rules.engine_text import NAME, UNKNOWN, Ruleset
from oncemore.rules.ruleset import Plan

KEPT = 1024
"""Answers that are kept for each policy, about a kilobyte each; when there are more, it begins anew."""


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
        results = no_results(plan)
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
            if len(names) != plan.n_leaves or NO_RESULT in results:
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
