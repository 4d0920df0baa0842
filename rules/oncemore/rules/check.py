"""What is wrong with rule files, and what is legal but hardly meant?

Errors keep files from loading. Findings are warnings: a gate that passes although something could not be
established, a gate that nothing can pass, a group that nobody takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from oncemore.rules.cases import read_tests
from oncemore.rules.diagnostics import Diagnostic, in_order
from oncemore.rules.errors import FactsInvalid
from oncemore.rules.gates import Found, names
from oncemore.rules.levels import read_levels
from oncemore.rules.loading import Loaded, read_policies
from oncemore.rules.normal_form import Term, terms
from oncemore.rules.policy import Policy
from oncemore.rules.satisfying import possible, satisfiable
from oncemore.rules.source import Document, read
from oncemore.rules.typecheck import nearest
from oncemore.rules.vocabulary import FACTS, RUNTIMES


def check_paths(paths: Sequence[Path]) -> list[Diagnostic]:
    """Everything there is to say about rule files, in order.

    Of a folder its policies, groups, levels and tests are looked at; of a file that file and the groups it takes.

    Raises:
        NoPolicies: there is no rule file.
    """
    tests = [path for path in paths if path.name.endswith("_test.yaml")]
    levels = [path for path in paths if path.name.startswith("levels") and path.suffix == ".yaml"]
    rules = [path for path in paths if path not in tests and path not in levels]
    folders = [path for path in rules if path.is_dir()]
    tests += [file for folder in folders for file in sorted(folder.glob("*_test.yaml"))]
    levels += [file for folder in folders for file in sorted(folder.glob("levels*.yaml"))]
    found: list[Diagnostic] = []
    if rules or not (tests or levels):
        loaded = read_policies(rules)
        found += loaded.diagnostics
        found += (one for policy in loaded.policies for one in _policy_findings(loaded, policy))
        found += _unused_groups(loaded, folders)
        found += (one for path in levels for one in _levels(read(path), loaded if folders else None))
    else:
        found += (one for path in levels for one in _levels(read(path), None))
    found += (one for path in tests for one in _tests(read(path)))
    return in_order(found)


def _policy_findings(loaded: Loaded, policy: Policy) -> Iterator[Diagnostic]:
    gates = [(use.found, terms(use.found.condition, True)) for use in loaded.gates[policy.name]]
    when = terms(policy.when, True)
    passing = [when, *(gate_terms for _, gate_terms in gates)]
    for found, gate_terms in gates:
        if not possible(gate_terms, {}):
            yield _finding(found, "R403", f"gate `{found.entry.id}` can never pass", "its comparisons contradict")
            continue
        others = [each for each in passing if each is not gate_terms]
        yield from _no_proof(found, gate_terms, others)
    yield from _unsupplied(gates, passing)


def _no_proof(found: Found, gate_terms: list[Term], others: list[list[Term]]) -> Iterator[Diagnostic]:
    """Values that say that something could not be established, and on which the policy may fire all the same."""
    for name in names(found.condition):
        for value in FACTS[name].no_proof:
            on_it = [term for term in gate_terms if any(leaf.fact == name for leaf, _ in term)]
            if not any(satisfiable(term, {name: value}) for term in on_it):
                continue
            if all(possible(other, {name: value}) for other in others):
                message = f'gate `{found.entry.id}` passes when `{name}` is "{value}", which proves nothing'
                yield _finding(found, "R402", message, "name the values that do prove it, such as in [...]")


def _unsupplied(gates: list[tuple[Found, list[Term]]], passing: list[list[Term]]) -> Iterator[Diagnostic]:
    """Gates that wait for ever on a runtime which the policy does not exclude."""
    for runtime in RUNTIMES:
        fixed = {"native.runtime": runtime}
        if not all(possible(each, fixed) for each in passing):
            continue
        for found, gate_terms in gates:
            supplied = [term for term in gate_terms if all(runtime in FACTS[leaf.fact].runtimes for leaf, _ in term)]
            if gate_terms and not possible(supplied, fixed):
                lacking = next(name for name in names(found.condition) if runtime not in FACTS[name].runtimes)
                yield _finding(
                    found,
                    "R403",
                    f"gate `{found.entry.id}` can never pass on {runtime}, which does not supply `{lacking}`",
                    f'leave {runtime} out in `when`, or begin with native.runtime == "{runtime}" || ...',
                )


def _unused_groups(loaded: Loaded, folders: Sequence[Path]) -> Iterator[Diagnostic]:
    for group in loaded.groups:
        root = group.document.root
        whole = Path(group.document.file).parent.parent in folders
        if whole and not group.used and root is not None and "group" in root.keys:
            yield group.document.diagnostic(
                "R404",
                f"no policy takes the group `{Path(group.name).stem}`",
                root.keys["group"],
                help="take it with `- use:`, or delete the file",
                severity="warning",
            )


def _levels(document: Document, loaded: Loaded | None) -> Iterator[Diagnostic]:
    levels, diagnostics = read_levels(document)
    yield from diagnostics
    if loaded is None or loaded.errors or document.root is None:
        return
    known = [policy.name for policy in loaded.policies]
    for name in levels:
        if name not in known:
            close = nearest(name, known)
            yield document.diagnostic(
                "R405",
                f"there is no policy `{name}`",
                document.root.keys[name],
                path=(name,),
                help=f"did you mean `{close}`?" if close else None,
                severity="warning",
            )


def _tests(document: Document) -> Sequence[Diagnostic]:
    try:
        read_tests(document)
    except FactsInvalid as error:
        return error.diagnostics
    return ()


def _finding(found: Found, code: str, message: str, help: str) -> Diagnostic:
    return found.document.diagnostic(
        code, message, found.place("require"), path=(*found.path, "require"), help=help, severity="warning"
    )
