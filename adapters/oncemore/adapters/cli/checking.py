"""What did a check of rule files find, and how is that told to a person or a machine?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from oncemore.adapters.cli import output
from oncemore.adapters.cli.output import Exit
from oncemore.rules.diagnostics import Diagnostic


@dataclass(frozen=True)
class Checked:
    """Everything that was found.

    Attributes:
        looked: the folders and files that were checked.
    """

    found: Sequence[Diagnostic]
    looked: Sequence[Path]

    @property
    def exit(self) -> Exit:
        """The worst of what was found."""
        if any(one.severity == "error" for one in self.found):
            return Exit.NOT_LOADED
        return Exit.NO if self.found else Exit.YES

    @property
    def where(self) -> str:
        """What was checked, in words."""
        return ", ".join(map(str, self.looked))


def check_files(looked: Sequence[Path]) -> Checked:
    """Check rule files and folders of them.

    Raises:
        NoPolicies: there is no rule file.
    """
    from oncemore.rules.check import check_paths

    return Checked(check_paths(looked), looked)


def report(checked: Checked, format_: str) -> None:
    """Tell it."""
    from oncemore.rules.diagnostics import render

    found = checked.found
    if format_ in ("github", "sarif", "junit", "markdown"):
        if text := rendered(checked, format_):
            output.say(text)
    elif format_ == "json":
        output.say(output.escaped(render(found, "json")))
        return
    elif format_ == "compact" and found:
        output.say(render(found, "compact"))
    elif found:
        output.diagnostics(found)
        return
    output.note(output.counted(found) if found else f"{checked.where}: nothing wrong")


def rendered(checked: Checked, form: str) -> str:
    """The same in a form for other people's programs, by the name of its module in `reports`."""
    text: str = import_module(f"oncemore.adapters.cli.reports.{form}").of_findings(checked)
    return text
