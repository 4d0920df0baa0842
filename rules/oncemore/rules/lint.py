"""What in a policy is legal but hardly meant?

A gate that nothing can pass, on any runtime or on one that the policy does not leave out, a gate that passes although
something could not be established, and a value that a list names twice. Findings on one gate never keep those on
another from being seen. `deciding` has those on what gates do together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oncemore.rules.actions import ACTIONS
from oncemore.rules.cells import FAIL, Box, Cells, Undecided, solve
from oncemore.rules.deciding import decisions
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.expression import Expression, Member, leaves
from oncemore.rules.fact import RUNTIMES
from oncemore.rules.gates import Found, names
from oncemore.rules.judged import FoundGate, Judged, judged_file
from oncemore.rules.reading import Reading
from oncemore.rules.source import Document, Node
from oncemore.rules.vocabulary import FACTS
from oncemore.rules.witness import Values, facts_text

File = Judged[FoundGate]


def findings(reading: Reading) -> Iterator[Diagnostic]:
    """The findings on one policy.

    What a gate does by itself is judged wherever it can be read; what gates allow together only when all of them can.
    """
    root = reading.document.root
    yield from _twice(reading.document, root.get("when") if root is not None else None, reading.when, ("when",))
    for use in reading.uses:
        path = (*use.found.path, "require")
        yield from _twice(use.found.document, use.found.node.get("require"), use.found.condition, path)
    documents = [reading.document, *(use.found.document for use in reading.uses)]
    if any(one.code == "R212" for document in documents for one in document.diagnostics):
        return  # what is too much to evaluate is too much to look through, and is said already
    if not reading.whole:
        yield from _impossible_alone(reading)
        return
    try:
        yield from _together(judged_file(reading), reading)
    except Undecided:
        yield _undecided(reading)


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


def _impossible_alone(reading: Reading) -> Iterator[Diagnostic]:
    """Conditions that contradict themselves, of a policy that cannot be read as a whole."""
    if reading.when is not None and not _can_pass(reading.when):
        yield _never_concerned(reading.document, None)
    for use in reading.uses:
        if use.found.condition is not None and not _can_pass(use.found.condition):
            yield _never(use.found, None)


def _can_pass(condition: Expression) -> bool:
    try:
        return solve([Cells([condition]).ways(condition)]) is not None
    except Undecided:
        return True


def _together(judged: File, reading: Reading) -> Iterator[Diagnostic]:
    concerned = judged.possible([judged.concerned()])
    if not concerned:
        yield _never_concerned(reading.document, judged.case([judged.ways(judged.when, FAIL)], []))
    good = []
    for gate in judged.gates:
        if judged.possible([judged.ways(gate.condition)]):
            good.append(gate)
            continue
        wished = [judged.ways(gate.condition, FAIL), *judged.passing(gate), *judged.floored()]
        yield _never(gate.found, judged.case([], wished))
    # What never passes is left out, so that the others can still be judged.
    whole = [judged.ways(gate.condition) for gate in good]
    whole += [judged.concerned()] if concerned else []
    yield from _no_proof(judged, good, whole)
    yield from _unsupplied(judged, good, whole)
    if concerned and len(good) == len(judged.gates) and all(gate.whole for gate in good) and reading.action in ACTIONS:
        yield from decisions(judged, reading.document)


def _no_proof(judged: File, gates: list[FoundGate], whole: list[Sequence[Box]]) -> Iterator[Diagnostic]:
    """Values that say that something could not be established, and on which the policy may fire all the same."""
    for gate in gates:
        for name in names(gate.condition):
            for value in FACTS[name].no_proof:
                within = judged.cells.known({name: value})
                # Another part of the condition may let it pass whatever this fact is.
                on_it = [way for way in judged.ways(gate.condition) if name in way]
                case = judged.case([on_it, *whole], judged.floored(), within)
                if case is not None:
                    message = f'{gate.found.called} passes when `{name}` is "{value}", which proves nothing'
                    help = "name the values that do prove it, such as in [...]"
                    yield _finding(gate.found, "R402", message, help, case)


def _unsupplied(judged: File, gates: list[FoundGate], whole: list[Sequence[Box]]) -> Iterator[Diagnostic]:
    """Gates that wait for ever on a runtime which the policy does not exclude."""
    for runtime in RUNTIMES:
        there = judged.cells.known({"native.runtime": runtime})
        if not judged.possible(whole, there):
            continue
        lacking = [name for name in judged.cells.values if runtime not in FACTS[name].runtimes]
        within = there | judged.cells.unknown(lacking)
        for gate in gates:
            if judged.possible([judged.ways(gate.condition)], within):
                continue
            name = next(name for name in names(gate.condition) if name in lacking)
            case = judged.case([judged.concerned()], [*judged.passing(gate), *judged.floored()], within)
            yield _finding(
                gate.found,
                "R403",
                f"{gate.found.called} can never pass on {runtime}, which does not supply `{name}`",
                f'leave {runtime} out in `when`, or begin with native.runtime == "{runtime}" || ...',
                case,
            )


def _never_concerned(document: Document, case: Values | None) -> Diagnostic:
    node = document.root.get("when") if document.root is not None else None
    assert node is not None
    message = "`when` can never be true, so that the policy concerns no case"
    help = "its comparisons contradict"
    return document.diagnostic(
        "R403", message, node.place, path=("when",), help=help, severity="warning", case=_text(case)
    )


def _never(found: Found, case: Values | None) -> Diagnostic:
    return _finding(found, "R403", f"{found.called} can never pass", "its comparisons contradict", case)


def _undecided(reading: Reading) -> Diagnostic:
    document = reading.document
    assert document.root is not None
    return document.diagnostic(
        "R412",
        "the policy has too many combinations to say what its gates do together",
        next(iter(document.root.keys.values())),
        help="split gates of many alternatives into several",
        severity="warning",
    )


def _finding(found: Found, code: str, message: str, help: str, case: Values | None) -> Diagnostic:
    place, path = found.place("require"), (*found.path, "require")
    return found.document.diagnostic(code, message, place, path=path, help=help, severity="warning", case=_text(case))


def _text(case: Values | None) -> str | None:
    return None if case is None else facts_text(case)
