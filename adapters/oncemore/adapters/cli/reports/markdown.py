"""How are findings and tests told on the page of a job or a pull request? Markdown as GitHub and GitLab read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from oncemore.adapters.cli import output
from oncemore.rules.diagnostics import Diagnostic
from oncemore.rules.markdown import cell, code, fenced, prose

if TYPE_CHECKING:
    from oncemore.adapters.cli.checking import Checked
    from oncemore.adapters.cli.testing import Run
    from oncemore.rules.testing import CaseResult


def of_findings(checked: Checked) -> str:
    """How many there are, and a row for each."""
    if not checked.found:
        return f"## Rules: nothing wrong\n\nChecked: {', '.join(code(str(path)) for path in checked.looked)}."
    return "\n".join([f"## Rules: {output.counted(checked.found)}", "", *_table(checked.found)])


def of_tests(run: Run) -> str:
    """The numbers by policy, then each case that did not pass with its ladder of gates."""
    lines = [f"## Rule tests: {run.summary}", ""]
    policies = dict.fromkeys(policy for policy, _ in run.results)
    if policies:
        lines += ["| policy | passed | failed | errors |", "|---|---|---|---|"]
    for policy in policies:
        verdicts = [result.verdict for name, result in run.results if name == policy]
        numbers = " | ".join(str(verdicts.count(verdict)) for verdict in ("PASS", "FAIL", "ERROR"))
        lines.append(f"| {prose(policy)} | {numbers} |")
    for policy, result in run.results:
        if result.verdict != "PASS":
            lines += _case(policy, result)
    if run.broken:
        lines += ["", "### Files that did not load", "", *_table(run.broken)]
    return "\n".join(lines)


def _table(found: Iterable[Diagnostic]) -> Iterator[str]:
    yield from ("| | where | what |", "|---|---|---|")
    for one in found:
        told = prose(one.message + (f"\n{one.help}" if one.help else ""))
        yield f"| {one.severity} {one.code} | {cell(code(f'{one.file}:{one.line}:{one.column}'))} | {cell(told)} |"


def _case(policy: str, result: CaseResult) -> Iterator[str]:
    from oncemore.adapters.cli.testing import ladder

    yield from ("", f"### {result.verdict} {prose(policy)}: {prose(' '.join(result.name.split()))}", "")
    yield f"{code(f'{result.file}:{result.line}')}: {prose(' '.join(result.message.split()))}"
    if told := ladder(result):
        yield from ("", "<details><summary>Every gate</summary>", "", *fenced(told), "", "</details>")
