"""Which gates of a policy ever decide anything, and can the policy fire at all?

Asked of a policy of which everything can be read and every gate can pass by itself. Decided exactly over the cells of
its facts, the unknown ones included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oncemore.rules.cells import FAIL, PASS, UNKNOWN, Box, Wanted, solve
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.expression import Expression
from oncemore.rules.gates import names
from oncemore.rules.judged import Judged, JudgedGate, severity
from oncemore.rules.outcome import Outcome, Truth


def decisions(judged: Judged) -> Iterator[Diagnostic]:
    """The findings: R409, R410 and R411."""
    if not judged.possible([*judged.passing(), *judged.floored()]):
        yield _never_fires(judged)
        return
    for number, gate in enumerate(judged.gates):
        yield from _about(judged, number, gate)


def _about(judged: Judged, number: int, gate: JudgedGate) -> Iterator[Diagnostic]:
    concerned = judged.ways(judged.when)
    failing, unknown = judged.ways(gate.condition, FAIL), judged.ways(gate.condition, UNKNOWN)
    if not judged.possible([concerned, failing]):
        waits = judged.possible([concerned, unknown])
        told = "it only asks that its facts are known" if waits else "whatever the case is"
        help = "say what it is to refuse, or take it away"
        case = judged.case([concerned, judged.ways(gate.condition)], [*judged.passing(), *judged.floored()])
        yield _finding(gate, "R410", f"{gate.found.called} is never false: {told}", help, case)
        return
    beside = [place for place in range(len(judged.gates)) if place != number]
    if any(_decides(judged, number, result, beside) for result in (FAIL, UNKNOWN)):
        return
    deciders = _deciders(judged, number, beside)
    told = " or ".join(other.found.called for other in deciders)
    case = judged.case([concerned, failing], _others(judged, {number, *map(judged.gates.index, deciders)}))
    yield _finding(
        gate,
        "R411",
        f"{gate.found.called} never decides: wherever it does not pass, {told} does not either, and decides before it",
        "take it away, or let it decide with a more severe `otherwise`",
        case,
    )


def _decides(judged: Judged, number: int, result: Wanted, beside: Sequence[int]) -> bool:
    """Whether a gate's result decides some case, were there only the gates at some places beside it.

    A gate decides when no earlier one is as severe, and no later one more.
    """
    gate = judged.gates[number]
    own = _outcome(gate, result)
    weaker = [
        judged.ways(judged.gates[place].condition, _weaker(judged.gates[place], own, as_severe=place > number))
        for place in beside
    ]
    return judged.possible([judged.ways(judged.when), judged.ways(gate.condition, result), *weaker])


def _weaker(gate: JudgedGate, than: Outcome, *, as_severe: bool) -> Wanted:
    """The results of a gate that leave the decision to one of that outcome."""

    def leaves_it(result: Truth) -> bool:
        own, other = severity(_outcome(gate, frozenset({result}))), severity(than)
        return own > other or (as_severe and own == other)

    return PASS | frozenset(result for result in (Truth.FAIL, Truth.UNKNOWN) if leaves_it(result))


def _outcome(gate: JudgedGate, result: Wanted) -> Outcome:
    outcome = gate.otherwise if result == FAIL else gate.unknown
    assert outcome is not None
    return outcome


def _deciders(judged: Judged, number: int, beside: Sequence[int]) -> Sequence[JudgedGate]:
    """Few gates of which one always decides instead: the others are left out one by one."""
    kept = list(beside)
    for place in beside:
        fewer = [one for one in kept if one != place]
        if not any(_decides(judged, number, result, fewer) for result in (FAIL, UNKNOWN)):
            kept = fewer
    return [judged.gates[place] for place in kept]


def _others(judged: Judged, besides: set[int]) -> list[Sequence[Box]]:
    gates = [gate for place, gate in enumerate(judged.gates) if place not in besides]
    return [*(judged.ways(gate.condition) for gate in gates), *judged.floored()]


def _never_fires(judged: Judged) -> Diagnostic:
    document = judged.reading.document
    assert document.root is not None
    named: list[tuple[str, Expression]] = [("`when`", judged.when)]
    named += [(gate.found.called, gate.condition) for gate in judged.gates]
    named += [(f"`{gate.id}`", gate.condition) for gate in judged.floor]
    kept = list(named)
    for one in named:
        fewer = [other for other in kept if other is not one]
        if solve([judged.ways(condition) for _, condition in fewer]) is None:
            kept = fewer
    told = ", ".join(name for name, _ in kept[:-1]) + f" and {kept[-1][0]}"
    facts = dict.fromkeys(fact for _, condition in kept for fact in names(condition))
    concerned = [judged.ways(judged.when)]
    case = judged.case(concerned, [*judged.passing(), *judged.floored()])
    return document.diagnostic(
        "R409",
        f"the policy can never fire: {told} are never true together",
        document.root.keys["policy"],
        path=("policy",),
        help=f"they ask different things of {', '.join(f'`{fact}`' for fact in facts)}",
        severity="warning",
        case=case,
    )


def _finding(gate: JudgedGate, code: str, message: str, help: str, case: str | None) -> Diagnostic:
    found = gate.found
    place = found.place("require")
    return found.document.diagnostic(code, message, place, path=gate.path, help=help, severity="warning", case=case)
