"""How are findings and failing tests marked in a pull request? Workflow commands of GitHub, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oncemore.rules.diagnostics import Diagnostic, visible

if TYPE_CHECKING:
    from oncemore.adapters.cli.checking import Checked
    from oncemore.adapters.cli.testing import Run


def of_findings(checked: Checked) -> str:
    """A mark for each, on the characters that are meant."""
    return "\n".join(map(_finding, checked.found))


def of_tests(run: Run) -> str:
    """A mark on the first line of each case that did not pass, and for everything that kept a file from loading."""
    return "\n".join((*_cases(run), *map(_finding, run.broken)))


def _finding(one: Diagnostic) -> str:
    text = one.message + (f"\n{one.help}" if one.help else "")
    fields: dict[str, str | int] = {
        "file": one.file,
        "line": one.line,
        "col": one.column,
        "endColumn": one.end_column,
        "title": one.code,
    }
    return _command(one.severity, fields, text)


def _cases(run: Run) -> Iterator[str]:
    for policy, result in run.results:
        if result.verdict != "PASS":
            fields: dict[str, str | int] = {
                "file": result.file,
                "line": result.line,
                "title": f"{result.verdict} {policy}: {result.name}",
            }
            yield _command("error", fields, result.message)


def _command(name: str, fields: dict[str, str | int], text: str) -> str:
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    return f"::{name} {properties}::{_data(visible(text))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
