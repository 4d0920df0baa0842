"""Which policy may act, when several look at one case, and why has each one its outcome?

At most one policy acts. One that would fire acts only when every competitor is decided against: `when` is false or a
gate is. Two that would fire block each other; one that could still fire once unknown evidence arrives is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from oncemore.engine.fired import Fired
from oncemore.rules.case import Status
from oncemore.rules.engine_text import FAIL
from oncemore.rules.expression import leaves
from oncemore.rules.outcome import Outcome, ReasonKind, Truth

ENFORCE, ADVISE, SHADOW, OFF = "enforce", "advise", "shadow", "off"

_EVIDENCE: Mapping[Status, ReasonKind] = {
    "stale": ReasonKind.EVIDENCE_STALE,
    "conflict": ReasonKind.EVIDENCE_CONFLICT,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy's outcome after competing.

    Attributes:
        gate: id of the deciding gate; None when no gate decided.
        rivals: the other policies, for `conflict` and `rival_undecided`.
        until: when every time-bound gate that fails now will pass, milliseconds since the epoch; None when unknown.
        level: None where levels play no part.
    """

    fired: Fired
    outcome: Outcome
    kind: ReasonKind
    gate: str | None
    rivals: tuple[str, ...] = ()
    until: int | None = None
    level: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The answer over all policies.

    Attributes:
        winner: name of the one policy that may act.
        verdicts: by policy name, sorted.
        due: the earliest `until` among those that wait; None when none names a time.
    """

    outcome: Outcome
    winner: str | None
    verdicts: Mapping[str, Verdict]
    due: int | None


def settle(
    fired: Mapping[str, Fired],
    status: Callable[[str], Status],
    levels: Mapping[str, str] | None,
    until: Mapping[str, int | None],
) -> Standing:
    """Let policies compete.

    Args:
        status: of a fact in the case, for the reason of what is unknown.
        levels: by policy; only those at `enforce` compete. None: all do.
    """
    verdicts = {
        name: Verdict(
            fired=one,
            outcome=one.outcome,
            kind=reason(one, status),
            gate=None if one.gate is None else one.gate.id,
            until=until.get(name),
            level=None if levels is None else levels.get(name, SHADOW),
        )
        for name, one in sorted(fired.items())
    }
    competing = [name for name, verdict in verdicts.items() if verdict.level in (None, ENFORCE)]
    firing = [name for name in competing if verdicts[name].outcome is Outcome.FIRE]
    winner = None
    for name in firing:
        others = tuple(rival for rival in firing if rival != name)
        undecided = tuple(rival for rival in competing if rival != name and not verdicts[rival].fired.decided_against)
        if others:
            verdicts[name] = replace(verdicts[name], outcome=Outcome.HOLD, kind=ReasonKind.CONFLICT, rivals=others)
        elif undecided:
            verdicts[name] = replace(
                verdicts[name], outcome=Outcome.WAIT, kind=ReasonKind.RIVAL_UNDECIDED, rivals=undecided
            )
        else:
            winner = name
    waiting = [v.until for v in verdicts.values() if v.outcome is Outcome.WAIT and v.until is not None]
    return Standing(_overall(winner, verdicts), winner, verdicts, min(waiting, default=None))


def _overall(winner: str | None, verdicts: Mapping[str, Verdict]) -> Outcome:
    """The least final outcome stands: a Request is closed only when every policy has closed it.

    What would fire but may not: at `advise` it is put before a person, so it holds; at `shadow` it says nothing.
    """
    if winner is not None:
        return Outcome.FIRE
    outcomes = {
        Outcome.HOLD if verdict.outcome is Outcome.FIRE else verdict.outcome
        for verdict in verdicts.values()
        if verdict.outcome is not Outcome.FIRE or verdict.level == ADVISE
    }
    for outcome in (Outcome.WAIT, Outcome.HOLD, Outcome.DENY):
        if outcome in outcomes:
            return outcome
    return Outcome.NOT_CONCERNED


def reason(fired: Fired, status: Callable[[str], Status]) -> ReasonKind:
    """Why a policy by itself has its outcome."""
    ending = fired.ending
    if ending is None:
        return ReasonKind.FAULT
    if ending.impatient:
        return ReasonKind.PATIENCE
    if ending.outcome is Outcome.FIRE:
        return ReasonKind.ALL_PASSED
    gate = fired.gate
    if gate is None:
        return ReasonKind.NOT_CONCERNED if ending.truth == FAIL else ReasonKind.WHEN_UNKNOWN
    if ending.truth == FAIL:
        return ReasonKind.FLOOR if gate.floor else ReasonKind.GATE_FAILED
    for leaf in leaves(gate.condition):
        if fired.leaf(leaf) is Truth.UNKNOWN:
            return _EVIDENCE.get(status(leaf.fact), ReasonKind.EVIDENCE_MISSING)
    return ReasonKind.EVIDENCE_MISSING
