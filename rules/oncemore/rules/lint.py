"""What in a policy is legal but hardly meant?

A gate that nothing can pass, on any runtime or on one that the policy does not leave out, a gate that passes although
something could not be established, and a value that a list names twice. Findings on one gate never keep those on
another from being seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.errors import TooComplex
from oncemore.rules.expression import Expression, Member, leaves
from oncemore.rules.gates import Found, names
from oncemore.rules.loading import Reading
from oncemore.rules.normal_form import Term, terms
from oncemore.rules.satisfying import possible, satisfiable
from oncemore.rules.source import Document, Node
from oncemore.rules.vocabulary import FACTS, RUNTIMES


@dataclass(frozen=True, slots=True)
class _Judged:
    """A gate with the ways in which it passes."""

    found: Found
    condition: Expression
    passing: list[Term]


def findings(reading: Reading) -> Iterator[Diagnostic]:
    """The findings on one policy.

    What a gate does by itself is judged wherever it can be read; what gates allow together only when all of them can.
    """
    gates, whole = [], reading.whole
    for use in reading.uses:
        condition = use.found.condition
        yield from _twice(use.found.document, use.found.node.get("require"), condition, (*use.found.path, "require"))
        passing = _passing(condition)
        if condition is None or passing is None:
            whole = False
        elif not possible(passing, {}):
            yield _finding(use.found, "R403", f"{use.found.called} can never pass", "its comparisons contradict")
        else:
            gates.append(_Judged(use.found, condition, passing))
    root = reading.document.root
    yield from _twice(reading.document, root.get("when") if root is not None else None, reading.when, ("when",))
    when = _passing(reading.when)
    if when is not None and not possible(when, {}):
        yield _never_concerned(reading.document)
        when = None
    elif when is None:
        whole = False
    if whole:
        concerned = [when] if when is not None else []
        yield from _no_proof(gates, concerned)
        yield from _unsupplied(gates, concerned)


def _twice(
    document: Document, node: Node | None, condition: Expression | None, path: tuple[str | int, ...]
) -> Iterator[Diagnostic]:
    """Values that stand in one list more than once: hardly what was meant to stand there."""
    if condition is None or node is None:
        return
    for leaf in leaves(condition):
        if not isinstance(leaf, Member):
            continue
        for number, (value, span) in enumerate(zip(leaf.values, leaf.value_spans, strict=True)):
            if value in leaf.values[:number]:
                yield document.diagnostic(
                    "R407",
                    f"the list of `{leaf.fact}` names this a second time",
                    document.inside(node, span.start, span.end),
                    path=path,
                    help="take it away, or write the value that was meant",
                    severity="warning",
                )


def _never_concerned(document: Document) -> Diagnostic:
    node = document.root.get("when") if document.root is not None else None
    assert node is not None
    message = "`when` can never be true, so that the policy concerns no case"
    help = "its comparisons contradict"
    return document.diagnostic("R403", message, node.place, path=("when",), help=help, severity="warning")


def _passing(condition: Expression | None) -> list[Term] | None:
    if condition is None:
        return None
    try:
        return terms(condition, True)
    except TooComplex:  # reported as an error
        return None


def _no_proof(gates: list[_Judged], when: list[list[Term]]) -> Iterator[Diagnostic]:
    """Values that say that something could not be established, and on which the policy may fire all the same."""
    for gate in gates:
        others = [*when, *(other.passing for other in gates if other is not gate)]
        for name in names(gate.condition):
            for value in FACTS[name].no_proof:
                on_it = [term for term in gate.passing if any(leaf.fact == name for leaf, _ in term)]
                if not any(satisfiable(term, {name: value}) for term in on_it):
                    continue
                if all(possible(other, {name: value}) for other in others):
                    message = f'{gate.found.called} passes when `{name}` is "{value}", which proves nothing'
                    yield _finding(gate.found, "R402", message, "name the values that do prove it, such as in [...]")


def _unsupplied(gates: list[_Judged], when: list[list[Term]]) -> Iterator[Diagnostic]:
    """Gates that wait for ever on a runtime which the policy does not exclude."""
    for runtime in RUNTIMES:
        fixed = {"native.runtime": runtime}
        if not all(possible(each, fixed) for each in (*when, *(gate.passing for gate in gates))):
            continue
        for gate in gates:
            supplied = [term for term in gate.passing if all(runtime in FACTS[leaf.fact].runtimes for leaf, _ in term)]
            if not possible(supplied, fixed):
                lacking = next(name for name in names(gate.condition) if runtime not in FACTS[name].runtimes)
                yield _finding(
                    gate.found,
                    "R403",
                    f"{gate.found.called} can never pass on {runtime}, which does not supply `{lacking}`",
                    f'leave {runtime} out in `when`, or begin with native.runtime == "{runtime}" || ...',
                )


def _finding(found: Found, code: str, message: str, help: str) -> Diagnostic:
    return found.document.diagnostic(
        code, message, found.place("require"), path=(*found.path, "require"), help=help, severity="warning"
    )
