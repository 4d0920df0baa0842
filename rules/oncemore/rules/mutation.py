"""Would the tests of a policy notice if it were wrong?

Every mutant is put before the tests of its policy. One that no test notices survives; it is shown with a test that
notices it, which has been run on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from oncemore.rules import source
from oncemore.rules.case import Case, Value
from oncemore.rules.cases import TestCase, TestFile, read_tests
from oncemore.rules.mutants import Mutant, mutants
from oncemore.rules.policy import Policy
from oncemore.rules.testing import Decide, run_case
from oncemore.rules.witness import Values, facts_text, said
from oncemore.rules.writing import expectations, test_case

Deciding = Callable[[Policy], AbstractContextManager[Decide]]
"""How a policy, as it is or changed, is asked; what that takes is given back at the end."""


Test = tuple[TestFile, TestCase, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutant.

    Attributes:
        killed_by: the name of a test that fails on it; None when it survives.
        test: for a survivor an entry for the test file that passes on the policy and fails on the mutant; one that was
            given for an earlier survivor, where it notices this one too.
    """

    mutant: Mutant
    killed_by: str | None
    test: str = ""


def verdicts(policy: Policy, files: Sequence[TestFile], deciding: Deciding) -> Iterator[Verdict]:
    """What becomes of each mutant of a policy.

    Args:
        files: its tests, all of which pass.

    Raises:
        Undecided: a question takes more steps than are tried.
    """
    tests = [(file, test, _known(test.case)) for file in files for test in file.cases]
    names = {test.name for _, test, _ in tests}
    base: Values = files[0].base if files else {}
    suggested: dict[str, str] = {}
    more: list[Test] = []
    with deciding(policy) as original:
        for mutant in mutants(policy):
            with deciding(mutant.policy) as decide:
                killer = _killer(mutant, tests, decide)
                if killer is not None:
                    yield Verdict(mutant, killer)
                    continue
                known = _killer(mutant, more, decide)
                if known is None:
                    text, test = _written(mutant, base, names, original, decide)
                    more.append(test)
                    known = test[1].name
                    suggested[known] = text
                yield Verdict(mutant, None, suggested[known])


def _killer(mutant: Mutant, tests: Sequence[Test], decide: Decide) -> str | None:
    """The name of a test that fails on a mutant; tests to which the change makes no difference are not asked."""
    for file, test, values in tests:
        if mutant.may_differ(values) and run_case(file, test, decide).verdict != "PASS":
            return test.name
    return None


def _written(mutant: Mutant, base: Values, names: set[str], original: Decide, decide: Decide) -> tuple[str, Test]:
    """A test that tells a mutant from its policy, tried on both."""
    case = mutant.case(base)
    policy = mutant.original.name
    stated = {**{fact: value for fact, value in base.items() if value is not None}, **case}
    [alone] = _read(policy, stated, test_case("it", {}, {}, {"outcome": "fire"})).cases
    record = original(policy, alone.case)
    name = _name(case, base, str(record["outcome"]), names)
    text = test_case(name, case, base, expectations(record))
    file = _read(policy, base, text)
    [test] = file.cases
    assert run_case(file, test, original).verdict == "PASS", text
    assert run_case(file, test, decide).verdict != "PASS", text
    names.add(name)
    return text, (file, test, _known(test.case))


def _read(policy: str, base: Values, case: str) -> TestFile:
    stated = facts_text(base).removeprefix("facts: ")
    return read_tests(source.load(f"policy: {policy}\nbase: {stated}\ncases:\n{case}", "a test"))


def _name(case: Values, base: Values, outcome: str, names: set[str]) -> str:
    """A name that says what the case is; the author gives it one that says why."""
    told = []
    for fact, value in case.items():
        if value is None and fact in base:
            told.append(f"{fact} is not there")
        elif value is not None and base.get(fact) != value:
            told.append(f"{fact} is {said(fact, value)}")
    plain = f"{outcome} when {' and '.join(told)}" if told else f"{outcome} on the base"
    name, number = plain, 2
    while name in names:
        name, number = f"{plain} ({number})", number + 1
    return name


def _known(case: Case) -> Mapping[str, Value]:
    return {
        fact: reading.value
        for fact, reading in case.readings.items()
        if reading.status == "known" and reading.value is not None
    }
