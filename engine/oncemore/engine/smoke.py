"""May a set of policies be used? It is first built and asked in another process, with a time limit.

A ruleset that the engine cannot bear ends that process, or is cut off with it, and not the one that decides.
"""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oncemore.engine import native
from oncemore.engine.errors import EngineUnavailable, OncemoreError
from oncemore.engine.evaluation import Evaluator
from oncemore.rules.case import Case, Reading, Value
from oncemore.rules.errors import RulesError
from oncemore.rules.expression import Duration, Member, leaves
from oncemore.rules.policy import Gate, Policy
from oncemore.rules.ruleset import Plan

if TYPE_CHECKING:
    from oncemore.rules.loading import PolicySet

TIME_LIMIT = 20.0
"""Seconds for a whole set; an ordinary policy takes milliseconds."""

ROUNDS = 8
"""Cases that each policy is asked beside the empty one."""

_CHILD = "from oncemore.engine.smoke import child; child()"


class PolicyRefused(OncemoreError):
    """A policy cannot be used with the engine; the text names it."""

    code: ClassVar[str] = "E103"


@dataclass(frozen=True)
class _Kind:
    """A declared fact, as far as the child has to know it."""

    type: str
    values: tuple[str, ...]
    grows: bool


def publish(policies: PolicySet, *, time_limit: float = TIME_LIMIT) -> Evaluator:
    """An evaluator of policies that were tried in another process.

    Args:
        time_limit: seconds for that process.

    Raises:
        PolicyRefused: a policy is beyond the engine, gave a fault, or the process died or ran out of time over it.
        EngineUnavailable: durable-rules cannot be loaded.
    """
    try:
        evaluator = Evaluator(policies.policies)
    except RulesError as error:
        raise PolicyRefused(str(error)) from error
    try_elsewhere(evaluator, time_limit)
    return evaluator


def try_elsewhere(evaluator: Evaluator, time_limit: float) -> None:
    """Build and ask the evaluator's policies in a child process; what passed there is not tried again from here.

    Raises:
        PolicyRefused: as `publish`.
        EngineUnavailable: as `publish`.
    """
    kinds = {name: _Kind(fact.type, fact.values, fact.grows) for name, fact in evaluator.facts.items()}
    work = pickle.dumps(([_bare(plan) for plan in evaluator.plans.values()], kinds))
    tried = hashlib.sha256(_CHILD.encode() + work).digest()
    if tried not in _passed:
        _try(work, time_limit)
        _passed.add(tried)


_passed: set[bytes] = set()
"""What passed its trial from this process, by digest."""


def _try(work: bytes, time_limit: float) -> None:
    # -P: the working folder is not ours, its modules must not be imported.
    command = [sys.executable, "-P", "-c", _CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, trouble = process.communicate(work, timeout=time_limit)
            late = False
        except subprocess.TimeoutExpired:
            process.kill()
            out, trouble = process.communicate()
            late = True
    lines = out.decode(errors="replace").split("\n")[:-1]
    begun = lines[-1].removeprefix("try ") if lines else "the first policy"
    if late:
        raise PolicyRefused(f"{begun}: the engine gave no answer within {time_limit:g} s")
    if lines and lines[-1].startswith("fault "):
        raise PolicyRefused(lines[-1].removeprefix("fault "))
    if process.returncode != 0 and not lines:
        raise EngineUnavailable(
            trouble.decode(errors="replace").strip() or f"the trial ended with {process.returncode}"
        )
    if process.returncode != 0 or lines[-1:] != ["done"]:
        raise PolicyRefused(f"{begun}: the engine ended its process, status {process.returncode}")


def child() -> None:
    """What runs in the other process: say which policy is tried, try it, say how it went."""
    work: tuple[list[tuple[Policy, tuple[Gate, ...]]], dict[str, _Kind]] = pickle.loads(sys.stdin.buffer.read())  # noqa: S301
    policies, kinds = work
    try:
        native.load()
    except EngineUnavailable as error:
        sys.exit(str(error))
    for policy, floor in policies:
        print(f"try {policy.name}", flush=True)
        evaluator = Evaluator([policy], lambda _, floor=floor: floor, facts=kinds, keep=0)  # type: ignore[misc]
        for case in _cases(evaluator.plans[policy.name], kinds):
            fault = evaluator.ask(policy.name, case).fault
            if fault is not None:
                print(f"fault {fault}", flush=True)
                return
    print("done", flush=True)


def _bare(plan: Plan) -> tuple[Policy, tuple[Gate, ...]]:
    """Policy and floor without what people read."""
    gates = tuple(replace(gate, why={}) for gate in plan.gates)
    own = tuple(gate for gate in gates if not gate.floor)
    policy = replace(plan.policy, gates=own, summary={}, texts={}, parameters={})
    return policy, tuple(gate for gate in gates if gate.floor)


def _cases(plan: Plan, kinds: dict[str, _Kind]) -> Iterator[Case]:
    """Nothing known, then every fact at and beside the values that the policy compares it with, in turn."""
    yield Case(0, {})
    near: dict[str, list[Value]] = {}
    for condition in (plan.policy.when, *(gate.condition for gate in plan.gates)):
        for leaf in leaves(condition):
            values = near.setdefault(leaf.fact, list(kinds[leaf.fact].values))
            for literal in leaf.values if isinstance(leaf, Member) else (leaf.value,):
                values += _near(literal.ms if isinstance(literal, Duration) else literal)
    for turn in range(ROUNDS):
        known = {fact: values[turn % len(values)] for fact, values in near.items() if values}
        yield Case(0, {fact: Reading("known", value) for fact, value in known.items()})


def _near(value: Value) -> list[Value]:
    if isinstance(value, bool):
        return [value, not value]
    return [value] if isinstance(value, str) else [value - 1, value, value + 1]
