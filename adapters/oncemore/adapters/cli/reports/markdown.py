"""How are findings and tests told on the page of a job or a pull request? Markdown as GitHub and GitLab read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from oncemore.adapters.cli import output
from oncemore.rules.diagnostics import Diagnostic, visible

if TYPE_CHECKING:
    from oncemore.adapters.cli.checking import Checked
    from oncemore.adapters.cli.testing import Run
    from oncemore.rules.testing import CaseResult

_CODE = re.compile(r"(`[^`\n]+`)")


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
        told = prose(one.message + (f"\n{one.help}" if one.help else "")).replace("\n", "<br>")
        yield f"| {one.severity} {one.code} | {_cell(code(f'{one.file}:{one.line}:{one.column}'))} | {_cell(told)} |"


def _case(policy: str, result: CaseResult) -> Iterator[str]:
    from oncemore.adapters.cli.testing import ladder

    yield from ("", f"### {result.verdict} {prose(policy)}: {prose(' '.join(result.name.split()))}", "")
    yield f"{code(f'{result.file}:{result.line}')}: {prose(' '.join(result.message.split()))}"
    if told := ladder(result):
        yield from ("", "<details><summary>Every gate</summary>", "", *fenced(told), "", "</details>")


def fenced(text: str) -> Iterator[str]:
    """A block in which nothing is markup, whatever it holds."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    yield from (f"{fence}text", visible(text).rstrip("\n"), fence)


def code(text: str) -> str:
    """A stretch in which nothing is markup, on one line."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{visible(text, '')}{space}{ticks}"


def prose(text: str) -> str:
    """A sentence whose only markup is its stretches of code."""
    parts = _CODE.split(visible(text, "\n"))
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>&#~!])", lambda found: f"\\{found[1]}", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
