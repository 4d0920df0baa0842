"""What does the rules engine have to be told, so that the rules that fire decide a policy?

A policy becomes small durable-rules rulesets in three stages, each asked with one fact of our own making:

- leaves: every distinct comparison has three rules, true (`t`), false (`f`) and unknown (`u`); exactly one fires;
- gates: a condition of several comparisons has one rule per term of its normal form, true (`T`) and false (`F`);
  neither fires when it is unknown;
- outcome: one rule per gate and way of not passing, ordered by priority; the first that fires is the outcome.

Only equality, order and absence on typed values are used, under keys of our own (`f0`, `a0`, `g0`), never `$or`,
arithmetic, patterns, joins or timers. Rulesets are cut so that no fact can have more than `MAX_PENDING` conditions
waiting at once: beyond 64 the engine refuses the fact, and beyond 511 first conditions it hangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from oncemore.rules.engine_text import NotCompilable, Ruleset
from oncemore.rules.expression import leaves
from oncemore.rules.leaf_rules import MAX_LEAVES_PER_RULESET, Composed, FactType, Leaves, constants
from oncemore.rules.normal_form import Key
from oncemore.rules.outcome_rules import Ending, outcome_rulesets
from oncemore.rules.policy import Gate, Policy

MAX_GATES = 900
"""Gates of a policy with its floor; rule names and priorities count them in three digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A policy, compiled; pure data, shared by all sessions, and equal to itself alone.

    Attributes:
        gates: the policy's own in file order, then its floor's.
        n_leaves: how many places of the result array are leaves; composed conditions follow.
        places: by `normal_form.key`: place in the result array, and whether its result is turned round.
        when: place and turn of `when`.
        gate_places: place and turn of each gate.
        readings: by rule name of the first two stages: place and result.
        endings: by rule name of the third stage.
        facts: names of all facts that the policy and its floor look at.
        timed: comparisons of what grows with the clock: place of the gate, fact, what it is compared with.
    """

    policy: Policy
    gates: tuple[Gate, ...]
    n_leaves: int
    n_places: int
    places: Mapping[Key, tuple[int, bool]]
    when: tuple[int, bool]
    gate_places: tuple[tuple[int, bool], ...]
    leaf_rulesets: tuple[Ruleset, ...]
    gate_rulesets: tuple[Ruleset, ...]
    outcome_rulesets: tuple[Ruleset, ...]
    readings: Mapping[str, tuple[int, int]]
    endings: Mapping[str, Ending]
    facts: tuple[str, ...]
    timed: tuple[tuple[int, str, tuple[bool | int | str, ...]], ...]


def compile_policy(policy: Policy, floor: Sequence[Gate], facts: Mapping[str, FactType]) -> Plan:
    """The rulesets of a policy together with its floor's gates.

    Args:
        facts: the vocabulary, by name.

    Raises:
        NotCompilable: a list, a condition or the policy is too large, or a constant is no value of its fact.
    """
    gates = (*policy.gates, *floor)
    if len(gates) > MAX_GATES:
        raise NotCompilable(f"{policy.name}: {len(gates)} gates; at most {MAX_GATES} can be judged")
    named = [("when", policy.when), *((gate.id, gate.condition) for gate in gates)]
    stage = Leaves(policy.name, facts)
    for name, condition in named:
        stage.add(name, condition)
    leaf_rulesets = stage.rulesets()
    composed = Composed(stage.places, len(stage.tests))
    found = [composed.place(f"{policy.name}, {name}", condition) for name, condition in named]
    outcome, endings = outcome_rulesets(policy, gates, found[0], found[1:])
    plan = Plan(
        policy=policy,
        gates=gates,
        n_leaves=len(stage.tests),
        n_places=composed.next,
        places=stage.places,
        when=found[0],
        gate_places=tuple(found[1:]),
        leaf_rulesets=leaf_rulesets,
        gate_rulesets=composed.rulesets(),
        outcome_rulesets=outcome,
        readings=stage.readings | composed.readings,
        endings=endings,
        facts=tuple(dict.fromkeys(leaf.fact for _, condition in named for leaf in leaves(condition))),
        timed=tuple(
            (number, leaf.fact, constants(leaf))
            for number, gate in enumerate(gates)
            for leaf in leaves(gate.condition)
            if facts[leaf.fact].grows
        ),
    )
    _refuse_equal_hashes(policy.name, plan)
    return plan


def _refuse_equal_hashes(policy: str, plan: Plan) -> None:
    """The engine knows a key by a 32-bit hash alone; two of ours must not share one."""
    keys = {"sid", "id", "k", "e", "w", "warm"}
    keys |= {f"f{number}" for number in range(MAX_LEAVES_PER_RULESET)}
    keys |= {f"{letter}{place}" for letter in "agh" for place in range(plan.n_places)}
    by_hash = groupby(sorted((_hash(key), key) for key in keys), key=lambda pair: pair[0])
    for _, group in by_hash:
        if len(equal := [key for _, key in group]) > 1:
            raise NotCompilable(f"{policy}: the engine would take {' and '.join(equal)} for one key")


@cache
def _hash(key: str) -> int:
    """FNV-1a, as the engine hashes names."""
    value = 0x811C9DC5
    for byte in key.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
