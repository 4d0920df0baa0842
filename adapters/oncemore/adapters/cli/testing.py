"""How did the rule tests go, and how is that told to a person or a machine?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

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
    from oncemore.rules.testing import CaseResult

SUFFIX = "_test.yaml"


@dataclass
class Run:
    """Everything that ran.

    Attributes:
        broken: why test files did not load.
        files: how many test files were looked at.
        tested: test files that ran, each with the policies that it was about.
    """

    results: list[tuple[str, CaseResult]] = field(default_factory=list)
    broken: list[Diagnostic] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    files: int = 0
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
        return Exit.YES if self.count["PASS"] == len(self.results) else Exit.NO

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
    from oncemore.rules.testing import run

    outcome = Run()
    from oncemore.rules.expectations import known_of

    deciders: dict[Path, tuple[Callable[[str, Case], Mapping[str, Any]], PolicySet]] = {}
    for file in _files(paths or [choose(policies).folder]):
        outcome.files += 1
        choice = _policies_of(file, policies)
        if choice.folder not in deciders:
            deciders[choice.folder] = _decider(choice)
            outcome.choices.append(choice)
            choice.announce()
        decided, loaded = deciders[choice.folder]
        try:
            tests = load_tests(file, known_of(loaded))
        except FactsInvalid as error:
            outcome.broken += error.diagnostics
            continue
        outcome.tested.append((tests, loaded))
        results = run(tests, decided)
        outcome.results += [
            (tests.policy, result) for result in results if word is None or word in f"{tests.policy} {result.name}"
        ]
    return outcome


def report(run: Run, format_: str, measured: Measured) -> None:
    """Tell it: failures with their ladder of gates, what was measured, then the numbers."""
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
            _tell(policy, result)
    if run.broken:
        output.diagnostics(run.broken)
    measured.tell()
    output.say(run.summary)


def write_junit(run: Run, file: Path) -> None:
    """The same as JUnit XML: a suite for each file, `failure` for an expectation, `error` for what had no verdict.

    Raises:
        Unwritten: the file cannot be written.
    """
    root = ElementTree.Element("testsuites")
    suites: dict[str, list[tuple[str, CaseResult]]] = {}
    for policy, result in run.results:
        suites.setdefault(result.file, []).append((policy, result))
    for name in sorted(suites.keys() | {one.file for one in run.broken}):
        cases = suites.get(name, [])
        broken = [one for one in run.broken if one.file == name]
        verdicts = Counter(result.verdict for _, result in cases)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(cases) + len(broken)),
            failures=str(verdicts["FAIL"]),
            errors=str(verdicts["ERROR"] + len(broken)),
        )
        for policy, result in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=policy, name=_xml(result.name), file=name, line=str(result.line)
            )
            if result.verdict != "PASS":
                tag, kind = ("failure", "expectation") if result.verdict == "FAIL" else ("error", "evaluation")
                ElementTree.SubElement(case, tag, type=kind, message=_xml(result.message)).text = _xml(_ladder(result))
        for one in broken:
            case = ElementTree.SubElement(
                suite, "testcase", classname=name, name=one.code, file=name, line=str(one.line)
            )
            ElementTree.SubElement(case, "error", type="load", message=_xml(one.message)).text = _xml(one.pretty())
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
    try:
        # Without O_NONBLOCK a pipe would keep us until somebody reads from it.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as opened:
            os.set_blocking(descriptor, True)
            opened.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise output.Unwritten(str(file), error) from error


def _files(paths: Sequence[Path]) -> list[Path]:
    found = [file for path in paths for file in (sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path])]
    return list(dict.fromkeys(found))


def _policies_of(file: Path, given: Path | None) -> Choice:
    from oncemore.rules.loading import policy_files

    if given is None and policy_files(file.parent):
        return Choice(file.parent, "beside the tests")
    return choose(given)


def _decider(choice: Choice) -> tuple[Callable[[str, Case], Mapping[str, Any]], PolicySet]:
    from oncemore.engine.decision import decide
    from oncemore.engine.smoke import publish
    from oncemore.rules.loading import load_policies

    loaded = load_policies([choice.folder])
    evaluator = publish(loaded)

    def decided(policy: str, case: Case) -> Mapping[str, Any]:
        return decide(evaluator, case, origin="posted", only=policy).records[0]

    return decided, loaded


def _tell(policy: str, result: CaseResult) -> None:
    output.say(f"{output.tone(result.verdict, output.TONES[result.verdict])} {policy}: {result.name}")
    output.say(f"  {result.file}:{result.line}")
    output.say(f"  {result.message}")
    for key, wanted in result.expected.items():
        if result.verdict == "FAIL" and result.actual.get(key) != wanted:
            output.say(f"    {key}: expected {_value(wanted)}")
            output.say(f"    {' ' * len(key)}  actual   {_value(result.actual.get(key))}")
    ladder = _ladder(result, marked=True)
    if ladder:
        output.say("\n".join(f"  | {line}".rstrip() for line in ladder.splitlines()))
    output.say()


def _ladder(result: CaseResult, *, marked: bool = False) -> str:
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


def _xml(text: str) -> str:
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
