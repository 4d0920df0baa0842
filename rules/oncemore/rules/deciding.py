"""Which gates of a policy ever decide anything, and can the policy fire at all?

Asked of a policy of which everything can be read and every gate can pass by itself. Decided exactly over the cells of
its facts, the unknown ones included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oncemore.rules.cells import FAIL, UNKNOWN, Box, solve
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.expression import Expression
from oncemore.rules.gates import names
from oncemore.rules.judged import FoundGate, Judged
from oncemore.rules.source import Document
from oncemore.rules.witness import Values, facts_text

File = Judged[FoundGate]


def decisions(judged: File, document: Document) -> Iterator[Diagnostic]:
    """The findings R409, R410 and R411; `document` is the policy's own."""
    if not judged.possible([*judged.passing(), *judged.floored()]):
        yield _never_fires(judged, document)
        return
    for number, gate in enumerate(judged.gates):
        if not judged.possible([judged.concerned(), judged.ways(gate.condition, FAIL)]):
            yield _never_false(judged, gate)
        elif not _decides(judged, number, range(len(judged.gates))):
            yield _never_decides(judged, number)


def _never_false(judged: File, gate: FoundGate) -> Diagnostic:
    waits = judged.possible([judged.concerned(), judged.ways(gate.condition, UNKNOWN)])
    told = "it only asks that its facts are known" if waits else "whatever the case is"
    case = judged.case([judged.concerned(), judged.ways(gate.condition)], [*judged.passing(), *judged.floored()])
    message = f"{gate.found.called} is never false: {told}"
    return _finding(gate, "R410", message, "say what it is to refuse, or take it away", case)


def _never_decides(judged: File, number: int) -> Diagnostic:
    gate = judged.gates[number]
    deciders = _deciders(judged, number)
    told = " or ".join(judged.gates[place].found.called for place in deciders)
    others = [gate for place, gate in enumerate(judged.gates) if place not in (number, *deciders)]
    wished = [*(judged.ways(gate.condition) for gate in others), *judged.floored()]
    case = judged.case([judged.concerned(), judged.ways(gate.condition, FAIL)], wished)
    return _finding(
        gate,
        "R411",
        f"{gate.found.called} never decides: wherever it does not pass, {told} does not either, and decides before it",
        "take it away, or let it decide with a more severe `otherwise`",
        case,
    )


def _decides(judged: File, number: int, beside: Sequence[int]) -> bool:
    return any(judged.possible(judged.decided(number, result, beside)) for result in (FAIL, UNKNOWN))


def _deciders(judged: File, number: int) -> Sequence[int]:
    """Places of few gates of which one always decides instead: the others are left out one by one."""
    kept = [place for place in range(len(judged.gates)) if place != number]
    for place in list(kept):
        fewer = [one for one in kept if one != place]
        if not _decides(judged, number, fewer):
            kept = fewer
    return kept


def _never_fires(judged: File, document: Document) -> Diagnostic:
    assert document.root is not None
    named: list[tuple[str, Expression]] = [("`when`", judged.when)]
    named += [(gate.found.called, gate.condition) for gate in judged.gates]
    named += [(f"`{gate.id}`", gate.condition) for gate in judged.floor]
    kept = _contradicting(judged, named)
    told = ", ".join(name for name, _ in kept[:-1]) + f" and {kept[-1][0]}"
    facts = dict.fromkeys(fact for _, condition in kept for fact in names(condition))
    case = judged.case([judged.concerned()], [*judged.passing(), *judged.floored()])
    return document.diagnostic(
        "R409",
        f"the policy can never fire: {told} are never true together",
        document.root.keys["policy"],
        path=("policy",),
        help=f"they ask different things of {', '.join(f'`{fact}`' for fact in facts)}",
        severity="warning",
        case=None if case is None else facts_text(case),
    )


def _contradicting(judged: File, named: list[tuple[str, Expression]]) -> list[tuple[str, Expression]]:
    """Few of these conditions that cannot be true together: the others are left out one by one."""
    kept = list(named)
    for one in named:
        fewer: list[Sequence[Box]] = [judged.ways(other[1]) for other in kept if other is not one]
        if solve(fewer) is None:
            kept.remove(one)
    return kept


def _finding(gate: FoundGate, code: str, message: str, help: str, case: Values | None) -> Diagnostic:
    found = gate.found
    return found.document.diagnostic(
        code,
        message,
        found.place("require"),
        path=(*found.path, "require"),
        help=help,
        severity="warning",
        case=None if case is None else facts_text(case),
    )
