"""How did the rule tests go, and how is that told to a person or a machine?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oncemore.adapters.cli import output
from oncemore.adapters.cli.choice import Choice, choose
from oncemore.adapters.cli.output import Exit

if TYPE_CHECKING:
    from oncemore.adapters.cli.measuring import Measured
    from oncemore.rules.case import Case
    from oncemore.rules.cases import TestFile
    from oncemore.rules.diagnostics import Diagnostic
    from oncemore.rules.loading import PolicySet
    from oncemore.rules.testing import CaseResult, Decide

SUFFIX = "_test.yaml"


@dataclass
class Run:
    """Everything that ran.

    Attributes:
        broken: why test files did not load.
        files: how many test files were looked at.
        measured: what follows from what was measured, where all tests pass.
        tested: test files that ran, each with the policies that it was about.
    """

    results: list[tuple[str, CaseResult]] = field(default_factory=list)
    broken: list[Diagnostic] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    files: int = 0
    measured: Exit = Exit.YES
    tested: list[tuple[TestFile, PolicySet]] = field(default_factory=list)

    @property
    def count(self) -> Mapping[str, int]:
        """Cases by verdict."""
        return Counter(result.verdict for _, result in self.results)

    @property
    def exit(self) -> Exit:
        """The worst of what happened."""
        if self.broken:
            return Exit.NOT_LOADED
        if not self.results:
            return Exit.NOTHING_RAN
        return self.measured if self.count["PASS"] == len(self.results) else Exit.NO

    @property
    def summary(self) -> str:
        """Such as `41 passed, 1 failed, 0 errors`."""
        count = self.count
        if not self.results and not self.broken:
            return "no case ran" if self.files else f"no case ran: no test is there, a file named *{SUFFIX}"
        told = f"{count['PASS']} passed, {count['FAIL']} failed, {output.many(count['ERROR'], 'error')}"
        broken = len({one.file for one in self.broken})
        return told + (f", {output.many(broken, 'file')} that did not load" if broken else "")


def refuse_others(paths: Sequence[Path]) -> None:
    """Refuse files that are no test files by their name.

    Raises:
        UsageError: with the name that a file of tests has.
    """
    for path in paths:
        if path.is_file() and not path.name.endswith(SUFFIX):
            beside = path.with_name(f"{path.stem}{SUFFIX}")
            hint = f"; did you mean {beside}?" if beside.is_file() else ""
            raise click.UsageError(f"{path} is no test file: tests are named *{SUFFIX}{hint}")


def run_tests(paths: Sequence[Path], policies: Path | None, word: str | None) -> Run:
    """Run the cases of test files and of the test files in folders.

    Raises:
        RulesInvalid, NoPolicies, PolicyRefused, EngineUnavailable: the policies cannot be used.
    """
    from oncemore.rules.cases import load_tests
    from oncemore.rules.errors import FactsInvalid
    from oncemore.rules.expectations import known_of
    from oncemore.rules.loading import load_policies
    from oncemore.rules.testing import run

    outcome = Run()
    sets: dict[Path, PolicySet] = {}
    for file in _files(paths or [choose(policies).folder]):
        outcome.files += 1
        choice = policies_of(file, policies)
        if choice.folder not in sets:
            sets[choice.folder] = load_policies([choice.folder])
            outcome.choices.append(choice)
            choice.announce()
        loaded = sets[choice.folder]
        try:
            tests = load_tests(file, known_of(loaded))
        except FactsInvalid as error:
            outcome.broken += error.diagnostics
            continue
        chosen = [one for one in tests.cases if word is None or word in f"{tests.policy} {one.name}"]
        outcome.tested.append((replace(tests, cases=tuple(chosen)), loaded))
    deciders: dict[int, Decide] = {}
    for tests, loaded in outcome.tested:
        if tests.cases and id(loaded) not in deciders:
            deciders[id(loaded)] = decider(_tested(outcome, loaded))
        if tests.cases:
            outcome.results += [(tests.policy, result) for result in run(tests, deciders[id(loaded)])]
    return outcome


def _tested(run: Run, loaded: PolicySet) -> PolicySet:
    """The policies of a set that cases are about: the others need not be compiled and tried."""
    named = {tests.policy for tests, of in run.tested if of is loaded and tests.cases}
    return replace(loaded, policies=tuple(policy for policy in loaded.policies if policy.name in named))


def report(run: Run, format_: str, measured: Measured) -> None:
    """Tell it: failures with their ladder of gates, what was measured, then the numbers."""
    if format_ in ("sarif", "junit", "markdown", "github"):
        if text := rendered(run, format_):
            output.say(text)
        output.note(run.summary)
        return
    if format_ == "json":
        output.document(
            {
                "version": 1,
                "passed": run.count["PASS"],
                "failed": run.count["FAIL"],
                "errors": run.count["ERROR"],
                "broken": [one.as_json() for one in run.broken],
                "policies": [str(choice.folder) for choice in run.choices],
                "cases": [_as_json(policy, result) for policy, result in run.results],
                **measured.as_json(),
            }
        )
        return
    for policy, result in run.results:
        if result.verdict != "PASS":
            output.say(told(policy, result))
            output.say()
    if run.broken:
        output.diagnostics(run.broken)
    measured.tell()
    output.say(run.summary)


def rendered(run: Run, form: str) -> str:
    """The same in a form for other people's programs, by the name of its module in `reports`."""
    text: str = import_module(f"oncemore.adapters.cli.reports.{form}").of_tests(run)
    return text


def _files(paths: Sequence[Path]) -> list[Path]:
    from oncemore.rules.folder import test_files

    found = [file for path in paths for file in (test_files(path) if path.is_dir() else [path])]
    return list(dict.fromkeys(found))


def policies_of(file: Path, given: Path | None) -> Choice:
    """The policies that a test file is about: those given, else those beside it, else the usual ones.

    Raises:
        NoPolicies: not even the shipped ones are there.
    """
    from oncemore.rules.folder import policy_files

    if given is None and policy_files(file.parent):
        return Choice(file.parent, "beside the tests")
    return choose(given)


def decider(policies: PolicySet) -> Decide:
    """What decides a case by one of the policies, through the real engine.

    Raises:
        PolicyRefused, EngineUnavailable: the policies cannot be used.
    """
    from oncemore.engine.decision import decide
    from oncemore.engine.smoke import publish

    evaluator = publish(policies)

    def decided(policy: str, case: Case) -> Mapping[str, Any]:
        return decide(evaluator, case, origin="posted", only=policy).records[0]

    return decided


def told(policy: str, result: CaseResult) -> str:
    """A case that did not pass: what was expected, what came, and the ladder of gates."""
    lines = [f"{result.file}:{result.line}", result.message]
    for key, wanted in result.expected.items():
        if result.verdict == "FAIL" and result.actual.get(key) != wanted:
            lines.append(f"  {key}: expected {_value(wanted)}")
            lines.append(f"  {' ' * len(key)}  actual   {_value(result.actual.get(key))}")
    lines += (f"| {line}".rstrip() for line in ladder(result, marked=True).splitlines())
    head = f"{output.tone(result.verdict, output.TONES[result.verdict])} {policy}: {result.name}"
    return "\n".join([head, *(f"  {line}" for line in lines)])


def ladder(result: CaseResult, *, marked: bool = False) -> str:
    """The gates of the decision; marked are those of which something else was expected."""
    from oncemore.engine.explanation import explain

    if result.record is None:
        return ""
    return explain(result.record, marked=_otherwise(result) if marked else ())


def _otherwise(result: CaseResult) -> set[str]:
    """The gates about which the expectation was wrong, and the one that decided where the outcome was."""
    gates: set[str] = set()
    for key in ("blocked_by", "unknown"):
        if key in result.expected:
            gates |= set(result.expected[key]) ^ set(result.actual.get(key, ()))
    if result.record is not None and not gates and result.actual.get("outcome") != result.expected.get("outcome"):
        gates.add(str(result.record["reason"]["gate"]))
    return gates


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, (list, tuple)) else str(value)


def _as_json(policy: str, result: CaseResult) -> dict[str, Any]:
    return {
        "policy": policy,
        "name": result.name,
        "file": result.file,
        "line": result.line,
        "verdict": result.verdict,
        "message": result.message or None,
        "expected": dict(result.expected),
        "actual": dict(result.actual),
        "record": None if result.verdict == "PASS" else result.record,
    }
