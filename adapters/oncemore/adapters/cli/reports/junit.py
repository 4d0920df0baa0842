"""How do findings and tests read as JUnit XML? A suite for each file; what failed and what could not be told differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from oncemore.rules.diagnostics import Diagnostic

if TYPE_CHECKING:
    from oncemore.adapters.cli.checking import Checked
    from oncemore.adapters.cli.testing import Run
    from oncemore.rules.testing import CaseResult


def of_findings(checked: Checked) -> str:
    """A suite for each file with findings, errors as `error` and warnings as `failure`; else one case that passes."""
    found = checked.found
    root = ElementTree.Element("testsuites")
    for name in dict.fromkeys(one.file for one in found):
        mine = [one for one in found if one.file == name]
        suite = _suite(root, name, len(mine), Counter(one.severity for one in mine))
        for one in mine:
            _finding(suite, one, "check")
    if not found:
        for name in map(str, checked.looked):
            ElementTree.SubElement(_suite(root, name, 1, Counter()), "testcase", classname=name, name="nothing wrong")
    return _text(root)


def of_tests(run: Run) -> str:
    """A suite for each file: `failure` for an expectation, `error` for what had no verdict or did not load."""
    root = ElementTree.Element("testsuites")
    suites: dict[str, list[tuple[str, CaseResult]]] = {}
    for policy, result in run.results:
        suites.setdefault(result.file, []).append((policy, result))
    for name in sorted(suites.keys() | {one.file for one in run.broken}):
        cases = suites.get(name, [])
        broken = [one for one in run.broken if one.file == name]
        verdicts = Counter(result.verdict for _, result in cases)
        counts = Counter(error=verdicts["ERROR"] + len(broken), warning=verdicts["FAIL"])
        suite = _suite(root, name, len(cases) + len(broken), counts)
        for policy, result in cases:
            _case(suite, policy, result)
        for one in broken:
            _finding(suite, one, "load")
    return _text(root)


def _suite(root: ElementTree.Element, name: str, tests: int, counts: Counter[str]) -> ElementTree.Element:
    return ElementTree.SubElement(
        root,
        "testsuite",
        name=_xml(name),
        tests=str(tests),
        failures=str(counts["warning"]),
        errors=str(counts["error"]),
    )


def _case(suite: ElementTree.Element, policy: str, result: CaseResult) -> None:
    from oncemore.adapters.cli.testing import ladder

    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=policy,
        name=_xml(result.name),
        file=_xml(result.file),
        line=str(result.line),
    )
    if result.verdict != "PASS":
        tag, kind = ("failure", "expectation") if result.verdict == "FAIL" else ("error", "evaluation")
        ElementTree.SubElement(case, tag, type=kind, message=_xml(result.message)).text = _xml(ladder(result))


def _finding(suite: ElementTree.Element, one: Diagnostic, kind: str) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_xml(one.file), name=one.code, file=_xml(one.file), line=str(one.line)
    )
    tag = "error" if one.severity == "error" else "failure"
    ElementTree.SubElement(case, tag, type=kind, message=_xml(one.message)).text = _xml(one.pretty())


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
